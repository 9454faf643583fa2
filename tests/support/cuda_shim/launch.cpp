#include "tests/support/cuda_shim/launch.h"

#include "tests/support/sanitized.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace cuda_shim {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kStack = std::size_t{64} << 10;

/// How stacks are changed after a thread's first turn. Contexts ask the system for the mask of signals each time, which
/// takes two thirds of the time of a block with many exchanges; but sanitizers follow contexts, not jumps. glibc's
/// check of jumps knows one stack: this file is compiled without it.
constexpr bool kJumps = !bubblescope::test::kSanitized;

/// Who has accessed a byte since the launch began.
struct Access {
    unsigned block = 0;
    unsigned interval = 0; ///< number of barriers of the block before it
    unsigned thread = 0;
};

struct Touched {
    std::optional<Access> write;
    std::optional<Access> read;
    std::optional<Access> other_read; ///< by another thread of the same interval, or of another block
};

/// The number of bytes of memory whose accesses are kept together.
constexpr std::uintptr_t kLine = 64;
using TouchedLine = std::array<Touched, kLine>;

struct Fiber {
    enum class State { Ready, AtBarrier, AtExchange, Done };
    ucontext_t context{};
    jmp_buf place{};
    bool begun = false;
    char* stack = nullptr;
    State state = State::Ready;
    unsigned exchanges = 0; ///< so far
};

/// The value that a thread passes to the others of its warp.
using Given = std::array<unsigned, 6>;

struct Warp {
    std::array<std::array<Given, kWarp>, 2> values{}; ///< of even and odd exchanges
};

class Machine {
public:
    Options options;
    std::set<std::string> faults;
    Shape shape;

    void launch(unsigned blocks, unsigned threads, const std::function<void(unsigned, unsigned)>& enter,
                const std::function<void()>& run);
    void awaitBlock() { leave(Fiber::State::AtBarrier); }
    /// The values that the threads of the warp have passed, by thread.
    const std::array<Given, kWarp>& exchange(const Given& value);
    [[nodiscard]] unsigned lane() const { return place_.thread % kWarp; }
    void pass() {
        if (running_ != nullptr) leave(Fiber::State::Ready);
    }
    void touch(const void* at, std::size_t bytes, bool writes);
    std::uint64_t time = 0;

private:
    void runBlock(const std::vector<unsigned>& turns);
    void resume(unsigned thread);
    void leave(Fiber::State state);
    [[nodiscard]] bool releaseBlock();
    [[nodiscard]] bool releaseWarps();
    [[nodiscard]] std::vector<unsigned> order(unsigned count);
    [[nodiscard]] bool isGlobal(std::uintptr_t at) const;
    [[nodiscard]] Touched& touchedAt(std::uintptr_t byte);
    [[nodiscard]] bool conflict(const Access& one, const Access& two, bool global) const;
    static void enterFiber();

    std::mt19937 random_;
    std::vector<std::unique_ptr<char[]>> stacks_; ///< of the launch with the most threads so far
    std::vector<Fiber> fibers_;
    std::vector<Warp> warps_;
    ucontext_t scheduler_{};
    jmp_buf scheduler_place_{};
    Fiber* running_ = nullptr;
    Access place_;
    const std::function<void(unsigned, unsigned)>* enter_ = nullptr;
    const std::function<void()>* run_ = nullptr;
    std::unordered_map<std::uintptr_t, TouchedLine> touched_; ///< by the number of the line
    std::uintptr_t latest_line_ = 0;
    TouchedLine* latest_ = nullptr; ///< null before the launch's first access
};

thread_local Machine machine;

std::vector<unsigned> Machine::order(unsigned count) {
    std::vector<unsigned> turns(count);
    std::iota(turns.begin(), turns.end(), 0U);
    if (options.turns == Turns::Descending) std::ranges::reverse(turns);
    if (options.turns == Turns::Shuffled) std::ranges::shuffle(turns, random_);
    return turns;
}

void Machine::launch(unsigned blocks, unsigned threads, const std::function<void(unsigned, unsigned)>& enter,
                     const std::function<void()>& run) {
    if (blocks == 0 || threads == 0 || threads > 1024) throw std::logic_error("a launch of a shape that no GPU takes");
    shape = {blocks, threads};
    random_.seed(options.seed);
    touched_.clear();
    latest_ = nullptr;
    enter_ = &enter;
    run_ = &run;
    while (stacks_.size() < threads)
        stacks_.push_back(std::make_unique_for_overwrite<char[]>(kStack));
    fibers_.resize(threads);
    for (unsigned thread = 0; thread < threads; ++thread)
        fibers_[thread].stack = stacks_[thread].get();
    warps_.assign((threads + kWarp - 1) / kWarp, {});
    const std::vector<unsigned> turns = order(blocks);
    for (const unsigned block : turns) {
        place_ = {block, 0, 0};
        runBlock(order(threads));
    }
}

void Machine::enterFiber() {
    (*machine.run_)();
    machine.running_->state = Fiber::State::Done;
    if (kJumps) _longjmp(machine.scheduler_place_, 1);
}

void Machine::runBlock(const std::vector<unsigned>& turns) {
    for (Fiber& fiber : fibers_) {
        fiber.state = Fiber::State::Ready;
        fiber.exchanges = 0;
        fiber.begun = false;
        ::getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = kStack;
        fiber.context.uc_link = &scheduler_;
        ::makecontext(&fiber.context, &Machine::enterFiber, 0);
    }
    for (;;) {
        bool went_on = false;
        for (const unsigned thread : turns) {
            if (fibers_[thread].state != Fiber::State::Ready) continue;
            resume(thread);
            went_on = true;
        }
        if (releaseWarps() || releaseBlock()) continue;
        if (std::ranges::all_of(fibers_, [](const Fiber& fiber) { return fiber.state == Fiber::State::Done; })) return;
        if (went_on) continue;
        // A GPU would stand still, or go on with anything.
        faults.insert("a barrier or an exchange was not reached by all threads");
        return;
    }
}

void Machine::resume(unsigned thread) {
    (*enter_)(place_.block, thread);
    place_.thread = thread;
    running_ = &fibers_[thread];
    if (!kJumps) {
        ::swapcontext(&scheduler_, &running_->context);
    } else if (_setjmp(scheduler_place_) == 0) {
        if (running_->begun) _longjmp(running_->place, 1);
        running_->begun = true;
        ::setcontext(&running_->context);
    }
    running_ = nullptr;
}

void Machine::leave(Fiber::State state) {
    Fiber& fiber = *running_;
    fiber.state = state;
    if (!kJumps) {
        ::swapcontext(&fiber.context, &scheduler_);
    } else if (_setjmp(fiber.place) == 0) {
        _longjmp(scheduler_place_, 1);
    }
}

bool Machine::releaseBlock() {
    if (!std::ranges::all_of(fibers_, [](const Fiber& fiber) { return fiber.state == Fiber::State::AtBarrier; }))
        return false;
    for (Fiber& fiber : fibers_)
        fiber.state = Fiber::State::Ready;
    ++place_.interval;
    return true;
}

bool Machine::releaseWarps() {
    bool released = false;
    for (std::size_t first = 0; first < fibers_.size(); first += kWarp) {
        const std::span<Fiber> warp(fibers_.data() + first, std::min<std::size_t>(kWarp, fibers_.size() - first));
        const bool all = warp.size() == kWarp && std::ranges::all_of(warp, [&](const Fiber& fiber) {
                             return fiber.state == Fiber::State::AtExchange && fiber.exchanges == warp[0].exchanges;
                         });
        if (!all) continue;
        for (Fiber& fiber : warp)
            fiber.state = Fiber::State::Ready;
        released = true;
    }
    return released;
}

const std::array<Given, kWarp>& Machine::exchange(const Given& value) {
    Fiber& fiber = *running_;
    const unsigned thread = place_.thread;
    // Two sets take turns: a thread that is ahead by one exchange must not overwrite what others have yet to read.
    auto& values = warps_[thread / kWarp].values[fiber.exchanges++ % 2];
    values[thread % kWarp] = value;
    leave(Fiber::State::AtExchange);
    return values;
}

bool Machine::isGlobal(std::uintptr_t at) const {
    return std::ranges::any_of(options.memory, [&](const GlobalMemory& memory) {
        const auto begin = reinterpret_cast<std::uintptr_t>(memory.begin);
        return at >= begin && at < begin + memory.bytes;
    });
}

Touched& Machine::touchedAt(std::uintptr_t byte) {
    const std::uintptr_t line = byte / kLine;
    if (latest_ == nullptr || line != latest_line_) {
        latest_ = &touched_[line];
        latest_line_ = line;
    }
    return (*latest_)[byte % kLine];
}

bool Machine::conflict(const Access& one, const Access& two, bool global) const {
    if (one.block != two.block) return global; // nothing orders blocks; other memory is each one's own
    return one.interval == two.interval && one.thread != two.thread;
}

void Machine::touch(const void* at, std::size_t bytes, bool writes) {
    if (running_ == nullptr) return;
    const auto first = reinterpret_cast<std::uintptr_t>(at);
    const auto stack = reinterpret_cast<std::uintptr_t>(running_->stack);
    if (first >= stack && first < stack + kStack) return;
    const bool global = isGlobal(first);
    for (std::uintptr_t byte = first; byte < first + bytes; ++byte) {
        Touched& so_far = touchedAt(byte);
        const auto clashes = [&](const std::optional<Access>& other) {
            return other && conflict(*other, place_, global);
        };
        if (clashes(so_far.write) || (writes && (clashes(so_far.read) || clashes(so_far.other_read)))) {
            faults.insert(std::string("two threads used the same ") + (global ? "global" : "shared") +
                          " memory with no barrier in between, one of them to write");
        }
        if (writes) {
            so_far.write = place_;
        } else if (!so_far.read || !conflict(*so_far.read, place_, global)) {
            so_far.read = place_;
        } else {
            so_far.other_read = place_;
        }
    }
}

} // namespace

void use(Options options) {
    machine.options = std::move(options);
}

std::vector<std::string> takeFaults() {
    const std::set<std::string> faults = std::exchange(machine.faults, {});
    return {faults.begin(), faults.end()};
}

Shape lastShape() {
    return machine.shape;
}

void launch(unsigned blocks, unsigned threads, const std::function<void(unsigned, unsigned)>& enter,
            const std::function<void()>& run) {
    machine.launch(blocks, threads, enter, run);
}

void awaitBlock() {
    machine.awaitBlock();
}

namespace {

void refusePartOfWarp(unsigned mask) {
    if (mask != 0xFFFFFFFFU) throw std::logic_error("an exchange in a part of a warp");
}

} // namespace

unsigned exchangeInWarp(unsigned mask, unsigned value, int distance) {
    refusePartOfWarp(mask);
    return machine.exchange({value})[machine.lane() ^ static_cast<unsigned>(distance)][0];
}

unsigned voteInWarp(unsigned mask, bool vote) {
    refusePartOfWarp(mask);
    unsigned votes = 0;
    const auto& given = machine.exchange({vote ? 1U : 0U});
    for (unsigned lane = 0; lane < kWarp; ++lane)
        votes |= given[lane][0] << lane;
    return votes;
}

namespace {

/// A number of 16 bits, the upper half of a float, in the half of a word that its index says.
float halfOf(unsigned word, unsigned index) {
    return std::bit_cast<float>(index % 2 == 0 ? word << 16U : word & 0xFFFF0000U);
}

} // namespace

void addProductInWarp(float (&sum)[4], const unsigned (&left)[4], unsigned right, unsigned right_below) {
    const auto given = machine.exchange({left[0], left[1], left[2], left[3], right, right_below});
    const unsigned lane = machine.lane();
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane / 4;
        const unsigned column = lane % 4 * 2 + i % 2;
        for (unsigned inner = 0; inner < 16; ++inner) {
            const unsigned high = inner / 8;
            const unsigned pair = inner % 8 / 2;
            sum[i] += halfOf(given[row * 4 + pair][2 * high + i / 2], inner) *
                      halfOf(given[column * 4 + pair][4 + high], inner);
        }
    }
}

void pass() {
    machine.pass();
}

std::uint64_t globalTimer() {
    constexpr std::uint64_t kTick = 32; // as of recent GPUs
    return machine.time += kTick;
}

void touched(const void* at, std::size_t bytes, bool writes) {
    machine.touch(at, bytes, writes);
}

} // namespace cuda_shim
