#include "tests/support/emulated_device.h"

#include "tests/support/run_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {

namespace test {

struct EmulatedDevice::EmulatedEvent : Accelerator::EventState {
    std::int64_t recorded = 0; ///< how often
    std::vector<TimeNs> times; ///< of the records that were reached
    bool destroyed = false;
    bool timed = false;

    [[nodiscard]] bool reached(std::int64_t record) const { return static_cast<std::int64_t>(times.size()) >= record; }
    [[nodiscard]] TimeNs timeOf(std::int64_t record) const { return times.at(static_cast<std::size_t>(record - 1)); }
};

struct EmulatedDevice::EmulatedStream : Accelerator::StreamState {
    struct Task {
        std::function<void(EmulatedStream&)> work;
        TimeNs issued{0};
        EmulatedEvent* awaited = nullptr;
        std::int64_t record = 0; ///< of the awaited event; 0 = before its first, which asks for nothing
        Over over{};             ///< ends later than it begins, if not null
        std::optional<DeviceObserver::Work> seen{}; ///< what observers see of it
        std::uint64_t number = 0;                   ///< in the order of submission
    };
    std::deque<Task> tasks;
    std::size_t created = 0; ///< number of streams before it
    void add(Task task, std::uint64_t& submitted) {
        task.number = submitted++;
        tasks.push_back(std::move(task));
    }
    TimeNs time{0};
    TimeNs host{0}; ///< when the host has launched all of this
    bool destroyed = false;
    Priority priority = Priority::Usual;
    std::thread::id maker;              ///< the thread that made it
    std::optional<std::uint64_t> batch; ///< its key, while one is open
    std::thread::id gatherer;           ///< the thread that began it
    std::vector<Task> gathered;
    std::string calls;       ///< of the batch
    std::uint64_t parts = 0; ///< of the batch, so far
    BatchCalls arguments;    ///< of the part
    RecurringBatches<bool> known{64};
    std::optional<CudnnAttention::Queue> cudnn;
};

namespace {

constexpr std::align_val_t kAlignment{512};

/// One batch's rows x columns, unpacked column after column.
template <class T>
void unpack(const GemmMatrix& matrix, std::int64_t batch, std::int64_t rows, std::int64_t columns,
            std::vector<float>& to) {
    const T* const data = static_cast<const T*>(matrix.data) + batch * matrix.stride;
    to.clear();
    for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t row = 0; row < rows; ++row)
            to.push_back(
                load(matrix.transposed ? data[row * matrix.leading + column] : data[column * matrix.leading + row]));
    }
}

/// Each sum is made in the order of its terms.
template <class In, class Out>
void product(const Gemm& gemm) {
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> sums(static_cast<std::size_t>(gemm.rows));
    for (std::int64_t batch = 0; batch < gemm.batch; ++batch) {
        unpack<In>(gemm.a, batch, gemm.rows, gemm.inner, a);
        unpack<In>(gemm.b, batch, gemm.inner, gemm.columns, b);
        for (std::int64_t column = 0; column < gemm.columns; ++column) {
            std::ranges::fill(sums, 0.0F);
            for (std::int64_t i = 0; i < gemm.inner; ++i) {
                const float factor = b[static_cast<std::size_t>(column * gemm.inner + i)];
                const float* const terms = a.data() + i * gemm.rows;
                for (std::size_t row = 0; row < sums.size(); ++row)
                    sums[row] += terms[row] * factor;
            }
            for (std::int64_t row = 0; row < gemm.rows; ++row) {
                float sum = sums[static_cast<std::size_t>(row)];
                const std::int64_t at = batch * gemm.result.stride + column * gemm.result.leading + row;
                sum *= gemm.scale;
                if (gemm.added != nullptr) sum += load(static_cast<const Out*>(gemm.added)[at]);
                if (gemm.bias != nullptr) sum += load(static_cast<const Out*>(gemm.bias)[row]);
                store(static_cast<Out*>(gemm.result.data)[at], sum);
            }
        }
    }
}

void multiplyOnHost(const Gemm& gemm) {
    const bool in_float = gemm.in == Storage::Float;
    const bool out_float = gemm.out == Storage::Float;
    if (in_float && out_float) return product<float, float>(gemm);
    if (in_float) throw std::logic_error("a product of floats that is rounded");
    if (out_float) return product<Bf16, float>(gemm);
    product<Bf16, Bf16>(gemm);
}

} // namespace

EmulatedDevice::EmulatedDevice(unsigned seed) : random_(seed) {}

EmulatedDevice::~EmulatedDevice() {
    for (const auto& [memory, bytes] : memory_)
        ::operator delete(memory, kAlignment);
}

void* EmulatedDevice::allocate(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::int64_t held = bytes;
    for (const auto& [memory, size] : memory_)
        held += size;
    if (held > capacity) throw std::runtime_error("out of memory");
    void* const memory = ::operator new(static_cast<std::size_t>(bytes), kAlignment);
    std::memset(memory, 0xFF, static_cast<std::size_t>(bytes));
    memory_.emplace(memory, bytes);
    ++allocations_;
    return memory;
}

void EmulatedDevice::release(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    memory_.erase(memory);
    ::operator delete(memory, kAlignment);
}

Accelerator::Stream EmulatedDevice::makeStream(Priority priority) {
    const std::lock_guard lock(mutex_);
    EmulatedStream& stream = *streams_.emplace_back(std::make_unique<EmulatedStream>());
    stream.priority = priority;
    stream.maker = std::this_thread::get_id();
    stream.created = streams_.size() - 1;
    return &stream;
}

void EmulatedDevice::destroy(Stream stream) noexcept {
    {
        const std::lock_guard lock(mutex_);
        own(stream)->destroyed = true;
        own(stream)->tasks.clear();
    }
    own(stream)->cudnn.reset(); // releases memory of the device
}

Accelerator::Event EmulatedDevice::makeEvent(bool timed) {
    const std::lock_guard lock(mutex_);
    EmulatedEvent& event = *events_.emplace_back(std::make_unique<EmulatedEvent>());
    event.timed = timed;
    return &event;
}

void EmulatedDevice::destroy(Event event) noexcept {
    const std::lock_guard lock(mutex_);
    own(event)->destroyed = true;
}

EmulatedDevice::EmulatedStream* EmulatedDevice::own(Stream stream) {
    return static_cast<EmulatedStream*>(stream);
}

EmulatedDevice::EmulatedEvent* EmulatedDevice::own(Event event) {
    return static_cast<EmulatedEvent*>(event);
}

void EmulatedDevice::submit(Stream on, std::function<void(EmulatedStream&)> work, Event event) {
    const std::lock_guard lock(mutex_);
    EmulatedStream* const stream = own(on);
    EmulatedEvent* const awaited = own(event);
    if (stream->destroyed) throw std::logic_error("work for a stream that is gone");
    refuseStrangers(*stream);
    launchBatch(*stream);
    stream->add({std::move(work), now_, awaited, awaited == nullptr ? 0 : awaited->recorded}, submitted_);
    changed_.notify_all();
}

template <class Arguments>
void EmulatedDevice::submitKernel(Stream on, const char* name, const Arguments& arguments,
                                  std::function<void()> compute) {
    submitCall(
        on, {DeviceObserver::Kind::Kernel, name}, !kVaries<Arguments>,
        [compute = std::move(compute), this](EmulatedStream& at) {
            compute();
            at.time += kernel_time;
        },
        [&](BatchCalls& calls) { calls.add(arguments, [] {}); });
}

TimeNs EmulatedDevice::launched(EmulatedStream& stream) const {
    stream.host = std::max(stream.host, now_) + launch_time;
    return stream.host;
}

void EmulatedDevice::submitCall(Stream on, DeviceObserver::Work what, bool in_batch,
                                std::function<void(EmulatedStream&)> work,
                                const std::function<void(BatchCalls&)>& note) {
    const std::lock_guard lock(mutex_);
    EmulatedStream& stream = *own(on);
    refuseStrangers(stream);
    if (stream.destroyed) throw std::logic_error("work for a stream that is gone");
    const bool gathers = in_batch && stream.batch.has_value();
    if (gathers) {
        stream.calls += std::string(what.name) + ' ';
        note(stream.arguments);
    }
    what.stream = on;
    what.priority = stream.priority;
    what.in_graph = gathers && graphs;
    if (observer && !what.in_graph) what.call = observer->called(what.kind, false);
    EmulatedStream::Task task{std::move(work), what.in_graph ? now_ : launched(stream)};
    task.seen = what;
    if (gathers) return stream.gathered.push_back(std::move(task));
    launchBatch(stream);
    stream.add(std::move(task), submitted_);
    changed_.notify_all();
}

void EmulatedDevice::refuseStrangers(const EmulatedStream& stream) {
    if (stream.batch && stream.gatherer != std::this_thread::get_id())
        breakDown("a thread used a stream whose work another one gathers");
}

void EmulatedDevice::breakDown(const char* why) {
    if (broken_.empty()) broken_ = why;
    changed_.notify_all();
    throw std::logic_error(broken_);
}

std::string EmulatedDevice::broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
}

void EmulatedDevice::load(const EmulatedStream& stream, const std::string& code) {
    if (!loads_lazily || !loaded_.emplace(stream.maker, code).second) return;
    for (const auto& other : streams_) {
        if (other->maker != stream.maker || other->tasks.empty()) continue;
        const EmulatedStream::Task& task = other->tasks.front();
        if (task.over && !task.over(other->time))
            breakDown("code was to be loaded while a transfer waits for its peer");
    }
}

void EmulatedDevice::launchBatch(EmulatedStream& stream) {
    if (graphs && !stream.gathered.empty()) {
        const std::uint32_t call = observer ? observer->called(DeviceObserver::Kind::Kernel, true) : 0;
        const TimeNs issued = launched(stream);
        for (EmulatedStream::Task& task : stream.gathered) {
            task.issued = issued;
            if (task.seen) task.seen->call = call;
        }
    }
    for (EmulatedStream::Task& task : stream.gathered)
        stream.add(std::move(task), submitted_);
    stream.gathered.clear();
    if (stream.arguments.empty()) return;
    const std::uint64_t key = mixBits(*stream.batch) + stream.parts++;
    if (stream.known.find(key, stream.arguments.arguments()) == nullptr) {
        stream.known.add(key, stream.arguments.arguments()) = true;
        ++captured_batches_;
    }
    stream.arguments.clear();
}

void EmulatedDevice::beginBatch(std::uint64_t key, Stream on) {
    const std::lock_guard lock(mutex_);
    if (own(on)->batch) throw std::logic_error("a batch within a batch");
    own(on)->batch = key;
    own(on)->gatherer = std::this_thread::get_id();
    own(on)->calls.clear();
    own(on)->parts = 0;
}

void EmulatedDevice::endBatch(Stream on) {
    const std::lock_guard lock(mutex_);
    EmulatedStream* const stream = own(on);
    if (!stream->batch) throw std::logic_error("a batch ends that has not begun");
    launchBatch(*stream);
    shapes_[{stream, *stream->batch}].insert(stream->calls);
    stream->batch.reset();
    ++batches_;
    changed_.notify_all();
}

void EmulatedDevice::submitUntil(Over over, Stream on) {
    const std::lock_guard lock(mutex_);
    own(on)->add({[](EmulatedStream&) {}, now_, nullptr, 0, std::move(over)}, submitted_);
    changed_.notify_all();
}

void EmulatedDevice::wake() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

void EmulatedDevice::record(Event event, Stream on) {
    const std::lock_guard lock(mutex_);
    EmulatedEvent* const mark = own(event);
    EmulatedStream* const stream = own(on);
    if (stream->destroyed) throw std::logic_error("work for a stream that is gone");
    refuseStrangers(*stream);
    launchBatch(*stream);
    stream->add({[mark](EmulatedStream& at) { mark->times.push_back(at.time); }, now_}, submitted_);
    ++mark->recorded;
    changed_.notify_all();
}

void EmulatedDevice::wait(Stream stream, Event event) {
    submit(
        stream, [](EmulatedStream&) {}, event);
}

void EmulatedDevice::workUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
    ++host_waits_;
    bool told = true; // others who wait, of what was done here
    const auto tell = [&] {
        if (!std::exchange(told, true)) changed_.notify_all();
    };
    while (!done()) {
        if (!broken_.empty()) throw std::logic_error(broken_);
        if (workOnce()) {
            told = false;
            continue;
        }
        if (!fed_by_others) throw std::logic_error("all streams wait for each other");
        tell();
        changed_.wait(lock);
    }
    if (!broken_.empty()) throw std::logic_error(broken_);
    tell();
}

bool EmulatedDevice::isBehindOthers(const EmulatedStream& stream) const {
    return queues > 0 && std::ranges::any_of(streams_, [&](const auto& other) {
               return other->created % queues == stream.created % queues && !other->tasks.empty() &&
                      other->tasks.front().number < stream.tasks.front().number;
           });
}

bool EmulatedDevice::workOnce() {
    std::vector<EmulatedStream*> able;
    for (const auto& stream : streams_) {
        if (stream->tasks.empty()) continue;
        const EmulatedStream::Task& task = stream->tasks.front();
        if (task.awaited != nullptr && !task.awaited->reached(task.record)) continue;
        if (isBehindOthers(*stream)) continue;
        if (task.over && !task.over(stream->time)) continue;
        able.push_back(stream.get());
    }
    if (able.empty()) return false;
    EmulatedStream& stream = *able[random_() % able.size()];
    const EmulatedStream::Task task = std::move(stream.tasks.front());
    stream.tasks.pop_front();
    stream.time = std::max(stream.time, task.issued);
    if (task.awaited != nullptr && task.record > 0)
        stream.time = std::max(stream.time, task.awaited->timeOf(task.record));
    if (queues > 0) {
        TimeNs& started = queue_starts_[stream.created % queues];
        started = stream.time = std::max(stream.time, started);
    }
    const TimeNs begin = stream.time;
    task.work(stream);
    if (observer && task.seen) {
        DeviceObserver::Work seen = *task.seen;
        seen.begin = begin;
        seen.end = stream.time;
        observer->ran(seen);
    }
    return true;
}

void EmulatedDevice::finish(Stream stream) {
    std::unique_lock lock(mutex_);
    refuseStrangers(*own(stream));
    launchBatch(*own(stream));
    workUntil(lock, [&] { return own(stream)->tasks.empty(); });
}

void EmulatedDevice::finish(Event event) {
    std::unique_lock lock(mutex_);
    workUntil(lock, [&] { return own(event)->reached(own(event)->recorded); });
    // Who waits for an event while there is no other work is about to begin a step.
    if (std::ranges::any_of(streams_, [](const auto& stream) { return !stream->tasks.empty(); })) return;
    for (const auto& stream : streams_)
        now_ = std::max(now_, stream->time);
    if (observer) observer->idleAt(now_);
}

bool EmulatedDevice::reached(Event event) {
    const std::lock_guard lock(mutex_);
    return own(event)->reached(own(event)->recorded);
}

TimeNs EmulatedDevice::elapsed(Event from, Event to) {
    const std::lock_guard lock(mutex_);
    for (const EmulatedEvent* const event : {own(from), own(to)}) {
        if (!event->timed) throw std::logic_error("the time of an event without timing");
        if (event->recorded == 0 || !event->reached(event->recorded))
            throw std::logic_error("the time of an event that has not been reached");
    }
    return own(to)->timeOf(own(to)->recorded) - own(from)->timeOf(own(from)->recorded);
}

void EmulatedDevice::copy(void* to, const void* from, std::int64_t bytes, Stream stream) {
    submitCall(
        stream, {DeviceObserver::Kind::Copy, "copy", bytes}, true,
        [=, this](EmulatedStream& at) {
            std::memmove(to, from, static_cast<std::size_t>(bytes));
            at.time += copy_time;
        },
        [&](BatchCalls& calls) {
            calls.add(std::array{to, const_cast<void*>(from)}, [] {});
        });
}

void EmulatedDevice::zero(void* memory, std::int64_t bytes, Stream stream) {
    submitCall(
        stream, {DeviceObserver::Kind::Set, "zero", bytes}, true,
        [=](EmulatedStream&) { std::memset(memory, 0, static_cast<std::size_t>(bytes)); },
        [&](BatchCalls& calls) { calls.add(std::array{memory}, [] {}); });
}

void EmulatedDevice::copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) {
    finish(stream);
    std::memcpy(to, host, static_cast<std::size_t>(bytes));
}

void EmulatedDevice::copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) {
    finish(stream);
    std::memcpy(host, from, static_cast<std::size_t>(bytes));
}

void EmulatedDevice::stamp(std::uint64_t* at, Stream stream) {
    submitCall(stream, {DeviceObserver::Kind::Kernel, "stamp"}, false,
               [at](EmulatedStream& state) { *at = static_cast<std::uint64_t>(state.time.count()); });
}

void EmulatedDevice::holdUntil(const std::uint64_t* since, TimeNs length, Stream stream) {
    submitCall(stream, {DeviceObserver::Kind::Kernel, "hold"}, false, [=](EmulatedStream& state) {
        state.time = std::max(state.time, TimeNs{static_cast<std::int64_t>(*since)} + length);
    });
}

void EmulatedDevice::multiply(const Gemm& gemm, Stream stream) {
    if (loads_lazily) {
        const std::lock_guard lock(mutex_);
        load(*own(stream), std::to_string(gemm.rows) + 'x' + std::to_string(gemm.columns) + 'x' +
                               std::to_string(gemm.inner) + 'x' + std::to_string(gemm.batch));
    }
    submitKernel(stream, "product", gemm, [gemm] { multiplyOnHost(gemm); });
}

CudnnAttention::Queue* EmulatedDevice::cudnnFor(const AttentionSizes& sizes, Stream stream) {
    if (!cudnn || !CudnnAttention::takes(sizes)) return nullptr;
    std::optional<CudnnAttention::Queue>& queue = own(stream)->cudnn;
    if (!queue) queue.emplace(*cudnn, *this, stream);
    return &*queue;
}

void EmulatedDevice::attend(const FusedAttention& attention, Stream stream) {
    if (CudnnAttention::Queue* const queue = cudnnFor(attention.sizes, stream))
        return submitKernel(stream, "attention by cuDNN", attention, cudnn->attend(attention, *queue));
    submitKernel(stream, "attention", attention, [attention, this] { runAttention(attention, memory_); });
}

void EmulatedDevice::attendBackward(const FusedAttentionGradient& attention, Stream stream) {
    if (CudnnAttention::Queue* const queue = cudnnFor(attention.sizes, stream))
        return submitKernel(stream, "gradients by cuDNN", attention, cudnn->attendBackward(attention, *queue));
    submitKernel(stream, "queries gradient", attention, [attention, this] { runQueriesGradient(attention, memory_); });
    submitKernel(stream, "keys gradient", attention, [attention, this] { runKeysGradient(attention, memory_); });
}

#define BUBBLESCOPE_LAUNCH(Kernel)                                                             \
    void EmulatedDevice::launch(const Kernel& kernel, Stream stream) {                         \
        submitKernel(stream, #Kernel, kernel, [kernel, this] { runKernel(kernel, memory_); }); \
    }
BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

int EmulatedDevice::streams() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count(streams_, false, [](const auto& stream) { return stream->destroyed; }));
}

int EmulatedDevice::streams(Priority priority) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count_if(
        streams_, [&](const auto& stream) { return !stream->destroyed && stream->priority == priority; }));
}

int EmulatedDevice::events() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count(events_, false, [](const auto& event) { return event->destroyed; }));
}

std::int64_t EmulatedDevice::allocated() const {
    const std::lock_guard lock(mutex_);
    std::int64_t sum = 0;
    for (const auto& [memory, bytes] : memory_)
        sum += bytes;
    return sum;
}

std::int64_t EmulatedDevice::allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
}

std::int64_t EmulatedDevice::batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
}

std::int64_t EmulatedDevice::capturedBatches() const {
    const std::lock_guard lock(mutex_);
    return captured_batches_;
}

std::vector<std::size_t> EmulatedDevice::batchShapes() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> counts;
    for (const auto& [place, shapes] : shapes_)
        counts.push_back(shapes.size());
    return counts;
}

std::int64_t EmulatedDevice::hostWaits() const {
    const std::lock_guard lock(mutex_);
    return host_waits_;
}

} // namespace test
} // namespace bubblescope::runtime
