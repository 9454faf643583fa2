#include "runtime/backend/cpu/cpu_backend.h"

#include "runtime/accelerator/kernels/forms.h"
#include "runtime/backend/cpu/product.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>
#include <utility>
// The iterations of the following loop are independent.
#if defined(__GNUC__) && !defined(__clang__)
#define BUBBLESCOPE_INDEPENDENT _Pragma("GCC ivdep")
#else
#define BUBBLESCOPE_INDEPENDENT
#endif

namespace bubblescope::runtime::cpu {
namespace {

// The forms of runtime/accelerator/kernels/forms.h as loops. The compiler may assume that a kernel's elements are
// independent, and sums are split into kSums interleaved parts, so that both are vectorised.

constexpr std::size_t kSums = 8;

template <class Kernel>
void run(const Kernel& kernel, EachForm /*form*/) {
    const std::int64_t count = kernel.count();
    BUBBLESCOPE_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i)
        kernel(i);
}

template <class Kernel>
void run(const Kernel& kernel, GridForm /*form*/) {
    const std::int64_t rows = kernel.rows();
    const std::int64_t columns = kernel.columns();
    for (std::int64_t row = 0; row < rows; ++row) {
        BUBBLESCOPE_INDEPENDENT
        for (std::int64_t column = 0; column < columns; ++column)
            kernel(row, column);
    }
}

/// The sum of a row's terms: term i belongs to part i % kSums, and the parts are added pairwise.
template <int kPass, class Kernel>
typename Kernel::Part sumOf(const Kernel& kernel, std::int64_t row, const typename Kernel::State& state) {
    constexpr auto kStep = static_cast<std::int64_t>(kSums);
    const std::int64_t terms = kernel.terms(row);
    std::array<typename Kernel::Part, kSums> sums;
    sums.fill(Kernel::zero(kPass));
    std::int64_t i = 0;
    for (; i + kStep <= terms; i += kStep) {
        for (std::size_t part = 0; part < kSums; ++part) {
            sums[part] =
                Kernel::combine(kPass, sums[part], kernel.term(kPass, row, i + static_cast<std::int64_t>(part), state));
        }
    }
    for (std::size_t part = 0; i < terms; ++i, ++part)
        sums[part] = Kernel::combine(kPass, sums[part], kernel.term(kPass, row, i, state));
    for (std::size_t distance = kSums / 2; distance > 0; distance /= 2) {
        for (std::size_t part = 0; part < distance; ++part)
            sums[part] = Kernel::combine(kPass, sums[part], sums[part + distance]);
    }
    return sums[0];
}

template <class Kernel, int... kPasses>
void runRow(const Kernel& kernel, std::int64_t row, std::integer_sequence<int, kPasses...> /*passes*/) {
    typename Kernel::State state{};
    (kernel.total(kPasses, sumOf<kPasses>(kernel, row, state), state), ...);
    const std::int64_t columns = kernel.columns();
    BUBBLESCOPE_INDEPENDENT
    for (std::int64_t column = 0; column < columns; ++column)
        kernel.write(row, column, state);
    kernel.finish(row, state);
}

template <class Kernel>
void run(const Kernel& kernel, RowForm /*form*/) {
    const std::int64_t rows = kernel.rows();
    for (std::int64_t row = 0; row < rows; ++row)
        runRow(kernel, row, std::make_integer_sequence<int, Kernel::kPasses>());
}

/// Processes some columns at a time, row after row.
template <class Kernel>
void run(const Kernel& kernel, ColumnForm /*form*/) {
    constexpr std::int64_t kAtOnce = 64;
    const std::int64_t rows = kernel.rows();
    for (std::int64_t first = 0; first < kernel.columns(); first += kAtOnce) {
        const std::int64_t count = kernel.columns() - first < kAtOnce ? kernel.columns() - first : kAtOnce;
        std::array<typename Kernel::Part, kAtOnce> sums;
        sums.fill(Kernel::zero());
        for (std::int64_t row = 0; row < rows; ++row) {
            BUBBLESCOPE_INDEPENDENT
            for (std::int64_t i = 0; i < count; ++i) {
                auto& sum = sums[static_cast<std::size_t>(i)];
                sum = Kernel::combine(sum, kernel.part(row, first + i));
            }
        }
        for (std::int64_t i = 0; i < count; ++i)
            kernel.finish(first + i, sums[static_cast<std::size_t>(i)]);
    }
}

/// Processes row after row. Terms of an entry are summed before the sum is added to the entry's previous content, as on
/// a GPU.
template <class Kernel>
void run(const Kernel& kernel, TableForm /*form*/) {
    const std::int64_t columns = kernel.columns();
    const std::int64_t rows = kernel.rows();
    if (kernel.before != nullptr) {
        if (kernel.before != kernel.grad) std::copy_n(kernel.before, kernel.entries() * columns, kernel.grad);
        const auto isFirst = [&](std::int64_t row) {
            for (std::int64_t before = 0; before < row; ++before) {
                if (kernel.entryOf(before) == kernel.entryOf(row)) return false;
            }
            return true;
        };
        for (std::int64_t row = 0; row < rows; ++row) {
            if (!isFirst(row)) continue;
            for (std::int64_t column = 0; column < columns; ++column) {
                float sum = 0.0F;
                for (std::int64_t same = row; same < rows; ++same)
                    sum += kernel.entryOf(same) == kernel.entryOf(row) ? kernel.value(same, column) : 0.0F;
                kernel.grad[kernel.place(kernel.entryOf(row), column)] += sum;
            }
        }
        return;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t entry = 0; entry < kernel.entries(); ++entry)
            kernel.grad[kernel.place(entry, column)] = 0.0F;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t entry = kernel.entryOf(row);
        BUBBLESCOPE_INDEPENDENT
        for (std::int64_t column = 0; column < columns; ++column)
            kernel.grad[kernel.place(entry, column)] += kernel.value(row, column);
    }
}

} // namespace
} // namespace bubblescope::runtime::cpu

namespace bubblescope::runtime {

namespace {

constexpr std::align_val_t kAlignment{64};

std::uint64_t nowNs() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

/// The time at which the event was recorded.
struct CpuEvent : Accelerator::EventState {
    std::uint64_t at = 0;
};

class CpuDevice final : public Accelerator {
public:
    [[nodiscard]] bool sharesHostMemory() const override { return true; }
    void bindThread() override {}

    [[nodiscard]] void* allocate(std::int64_t bytes) override {
        return ::operator new(static_cast<std::size_t>(bytes), kAlignment);
    }
    void release(void* memory) noexcept override { ::operator delete(memory, kAlignment); }

    [[nodiscard]] Stream makeStream(Priority /*priority*/) override { return new StreamState; }
    void destroy(Stream stream) noexcept override { delete stream; }
    void finish(Stream /*stream*/) override {}

    [[nodiscard]] Event makeEvent(bool /*timed*/) override { return new CpuEvent; }
    void destroy(Event event) noexcept override { delete static_cast<CpuEvent*>(event); }
    void record(Event event, Stream /*stream*/) override { static_cast<CpuEvent*>(event)->at = nowNs(); }
    void wait(Stream /*stream*/, Event /*event*/) override {}
    void finish(Event /*event*/) override {}
    [[nodiscard]] bool reached(Event /*event*/) override { return true; }
    [[nodiscard]] TimeNs elapsed(Event from, Event to) override {
        return TimeNs{static_cast<std::int64_t>(static_cast<CpuEvent*>(to)->at - static_cast<CpuEvent*>(from)->at)};
    }

    void copy(void* to, const void* from, std::int64_t bytes, Stream /*stream*/) override {
        if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
    }
    void zero(void* memory, std::int64_t bytes, Stream /*stream*/) override {
        if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));
    }
    void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) override {
        copy(to, host, bytes, stream);
    }
    void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) override {
        copy(host, from, bytes, stream);
    }

    void stamp(std::uint64_t* at, Stream /*stream*/) override { *at = nowNs(); }
    void holdUntil(const std::uint64_t* since, TimeNs length, Stream /*stream*/) override {
        const TimeNs end = TimeNs{static_cast<std::int64_t>(*since)} + length;
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(end));
    }

    void beginBatch(std::uint64_t /*key*/, Stream /*stream*/) override {}
    void endBatch(Stream /*stream*/) override {}

    void multiply(const Gemm& gemm, Stream /*stream*/) override { cpu::multiply(gemm); }
#define BUBBLESCOPE_LAUNCH(Kernel)                                  \
    void launch(const Kernel& kernel, Stream /*stream*/) override { \
        cpu::run(kernel, Kernel::Form{});                           \
    }
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH
};

} // namespace

const std::shared_ptr<Accelerator>& cpuDevice() {
    static const std::shared_ptr<Accelerator> device = std::make_shared<CpuDevice>();
    return device;
}

} // namespace bubblescope::runtime
