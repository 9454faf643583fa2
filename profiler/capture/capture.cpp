#include "profiler/capture/capture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>

namespace bubblescope::profiler {
namespace {

constexpr TimeNs kGpuFlushEvery{std::chrono::milliseconds(100)}; ///< interval for partly filled buffers
constexpr TimeNs kLastKernels{std::chrono::seconds(1)};          ///< in which the device completes what was launched
constexpr TimeNs kShortest{std::chrono::milliseconds(1)};
constexpr TimeNs kTryAgain{std::chrono::seconds(1)};           ///< delay after a failed write
constexpr TimeNs kExit{std::chrono::milliseconds(900)};        ///< longest delay of the job's exit
constexpr TimeNs kExitOfCupti{std::chrono::milliseconds(400)}; ///< part of kExit that CUPTI may use
constexpr std::size_t kMostQueued = std::size_t{1} << 16;
constexpr std::size_t kWordsAtOnce = 1024; ///< words read between two checks of the amount that waits to be flushed
constexpr std::string_view kLogName = "capture.log";

Capture* the_capture = nullptr;

/// Blocks signals in the recording thread, because they are meant for the job. Otherwise a write beyond the file size
/// limit would end the job with a signal.
class NoSignals {
public:
    NoSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;
    ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    /// Discards pending signals caused by our own writes before they reach the job.
    static void dropOwn() {
        sigset_t ours;
        ::sigemptyset(&ours);
        ::sigaddset(&ours, SIGXFSZ);
        const timespec now{};
        while (::sigtimedwait(&ours, nullptr, &now) > 0) {
        }
    }

private:
    sigset_t before_{};
};

/// The C++ runtime ends a process that has no memory to throw an exception, unless the runtime could reserve memory
/// when it was loaded.
bool canThrow() noexcept {
    constexpr std::size_t kSetAside = std::size_t{1} << 17; // bytes, more than the runtime reserves
    void* volatile const memory = std::malloc(kSetAside);   // volatile, because compilers remove memory that is only
                                                            // freed
    std::free(memory);
    return memory != nullptr;
}

} // namespace

Capture* Capture::ofThisProcess() noexcept {
    static const bool made = [] {
        if (!canThrow()) return false;
        try {
            std::vector<std::string> problems;
            CaptureOptions options = captureOptionsFrom(ownVariable, problems);
            if (options.dir.empty()) return false;
            the_capture = new Capture(std::move(options), std::move(problems));
            // These locks are held only briefly, never during file operations, CUPTI calls or the loading of a library.
            ::pthread_atfork(
                [] {
                    the_capture->recorder_.beforeFork();
                    the_capture->names_.beforeFork();
                    the_capture->communicators_.beforeFork();
                    the_capture->queue_mutex_.lock();
                },
                [] {
                    the_capture->queue_mutex_.unlock();
                    the_capture->communicators_.afterFork();
                    the_capture->names_.afterFork();
                    the_capture->recorder_.afterForkInParent();
                },
                [] {
                    the_capture->queue_mutex_.unlock();
                    the_capture->communicators_.afterFork();
                    the_capture->names_.afterFork();
                    the_capture->recorder_.afterForkInChild();
                });
            std::atexit([] { the_capture->stop(); });
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }();
    return made ? the_capture : nullptr;
}

Capture::Capture(CaptureOptions options, std::vector<std::string> problems)
    : options_(std::move(options)),
      recorder_([this](bool forked) { return beginProcess(forked); }, [this] { wake(); }) {
    queue_.messages = std::move(problems);
    // Connect early, because the process may later have used up its descriptors.
    link_.connect(options_.watcher);
    if (link_.isOpen()) recorder_.begin();
    if (!queue_.messages.empty()) {
        recorder_.begin();
        wake();
    }
}

/// Called with the first record of a process. A child must not use its parent's thread, trace, memory and CUPTI
/// session.
EventMemory* Capture::beginProcess(bool forked) noexcept {
    try {
        if (forked) {
            [[maybe_unused]] const auto* const trace = writer_.release();
            [[maybe_unused]] const auto* const reader = reader_.release();
            gpu_ = nullptr;
            thread_ = ThreadState::None;
            stopping_ = false;
            over_ = false;
            stuck_at_ = TimeNs{0};
            queue_.events.clear();
            queue_.messages.clear();
        }
        const auto bytes = static_cast<std::size_t>(options_.buffer);
        std::unique_ptr<EventMemory> memory = link_.sharedMemory(bytes);
        // With private memory, the remaining records of a killed process are lost without a count.
        if (memory == nullptr) memory = EventMemory::create(bytes);
        if (memory == nullptr) return nullptr;
        memory->closeDescriptor();
        event_memory::Header& header = memory->header();
        const TimeNs began = readSystemClock(CLOCK_MONOTONIC);
        describeProcess(header, began);
        names_.shareIn(header.names, header.names_bytes);
        makeWriter(*memory, began);
        return memory.release(); // kept as long as the process exists
    } catch (const std::exception&) {
        return nullptr;
    }
}

void Capture::describeProcess(event_memory::Header& header, TimeNs began) const {
    const std::string text = processText({identify(ownVariable), thisProcess(), captureOptionsText(options_), began});
    if (text.size() > header.identity.size()) return;
    std::copy(text.begin(), text.end(), header.identity.begin());
    header.identity_bytes.store(text.size(), std::memory_order_release);
}

void Capture::makeWriter(EventMemory& memory, TimeNs began) {
    CaptureFileInfo info;
    info.began = began;
    info.dir = options_.dir;
    info.identity = identify(ownVariable);
    info.process = thisProcess();
    writer_ = std::make_unique<CaptureWriter>(
        options_, std::move(info), names_, communicators_, [this](bool runtime, std::uint32_t number) {
            cupti::Collector* const gpu = gpu_.load();
            return gpu == nullptr ? std::string{} : gpu->api().callName(runtime, number);
        });
    reader_ = std::make_unique<EventReader>(memory, EventReader::From::Begin);
    writer_->keepCheckpoints(memory, *reader_);
    writer_->addReading(readAllClocks(recorder_.clock()));
}

/// Writes a message into capture.log, for users who want to know why there is no trace.
void Capture::log(const std::string& message) const {
    std::error_code ignored;
    std::filesystem::create_directories(options_.dir, ignored);
    const std::filesystem::path log = options_.dir / kLogName;
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (file < 0) return;
    const ProcessInfo process = thisProcess();
    const std::string line =
        process.host + " " + process.program + " " + std::to_string(process.pid) + ": " + message + "\n";
    [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
    ::close(file);
}

void Capture::state(std::string_view name, std::string_view value) noexcept {
    try {
        recorder_.begin();
        {
            const std::lock_guard lock(queue_mutex_);
            if (queue_.states.size() < kMostQueued) queue_.states.emplace_back(name, value);
        }
        wake();
    } catch (const std::exception&) {
        // The job continues, identified by its launcher's variables instead.
    }
}

void Capture::event(StatedEvent event) noexcept {
    try {
        EventMemory* const memory = recorder_.begin();
        if (memory == nullptr) return;
        memory->header().stated.fetch_add(1, std::memory_order_relaxed);
        {
            const std::lock_guard lock(queue_mutex_);
            if (queue_.events.size() < kMostQueued) queue_.events.push_back(std::move(event));
        }
        wake();
    } catch (const std::exception&) {
        // Out of memory: the job continues without a recording.
    }
}

void Capture::stepValues(std::int64_t step, const StepValues& values) noexcept {
    try {
        const TimeNs now = readClocks().monotonic;
        StatedEvent stated{{}, std::string(CaptureFile::kCategory), std::string(perfetto::kCaptureStepValues), now, now,
                           {}};
        stated.args.push_back({"step", step});
        if (values.loss) stated.args.push_back({"loss", *values.loss});
        for (const auto& [name, member] : kStepCounts)
            if (values.*member) stated.args.push_back({std::string(name), *(values.*member)});
        event(std::move(stated));
    } catch (const std::exception&) {
        // Out of memory: the job continues without a recording.
    }
}

void Capture::message(std::string_view text) noexcept {
    try {
        recorder_.begin();
        {
            const std::lock_guard lock(queue_mutex_);
            if (queue_.messages.size() < kMostQueued) queue_.messages.emplace_back(text);
        }
        wake();
    } catch (const std::exception&) {
        // There is no place to report the error.
    }
}

/// Starts the writing thread if it is not running.
void Capture::wake() noexcept {
    ThreadState none = ThreadState::None;
    if (stopping_ || !thread_.compare_exchange_strong(none, ThreadState::Runs)) return;
    try {
        const NoSignals inherited;
        std::thread([this] { loop(); }).detach();
    } catch (const std::exception&) {
        thread_ = ThreadState::None; // the next thread that records tries again, and stop() writes the rest
    }
}

void Capture::startCuda() noexcept {
    try {
        if (!options_.cuda || cupti_taken_.exchange(true)) return;
        EventMemory* const memory = recorder_.begin();
        std::string why_not;
        auto api = cupti::loadCupti(why_not);
        if (api == nullptr) return message("kernels are not recorded: " + why_not);
        auto gpu = std::make_unique<cupti::Collector>(std::move(api));
        const bool started = gpu->start(options_.mode == CaptureOptions::Mode::Pipeline ? cupti::Scope::Launches
                                                                                        : cupti::Scope::Everything,
                                        why_not, options_.memory);
        if (!why_not.empty()) message(why_not);
        if (!started) return;
        if (memory != nullptr) memory->header().on_devices = 1;
        gpu_ = gpu.release();
        // CUPTI registered its destructors for the exit when it was loaded, so functions registered now run before
        // them.
        std::atexit([] { the_capture->askToStopGpu(); });
        wake();
    } catch (const std::exception&) {
        // The job continues without a recording.
    }
}

void Capture::releaseCupti(std::string_view tool) noexcept {
    try {
        if (!options_.cuda || cupti_released_.exchange(true)) return;
        cupti_taken_ = true;
        cupti::Collector* const gpu = gpu_.load();
        const bool was_on = gpu != nullptr && gpu->isOn();
        const std::string what = std::string(tool) + " uses CUPTI: ";
        message(what + (was_on ? "kernels are recorded up to here" : "kernels are not recorded") +
                "; ranges and NCCL's operations are recorded to the end");
        if (was_on) stopGpu();
    } catch (const std::exception&) {
        // The tool will find CUPTI in use, and report that.
    }
}

void Capture::loop() noexcept {
    for (;;) {
        const std::uint32_t seen = wakeup_.number();
        const bool last = stopping_;
        if (stop_gpu_.exchange(false)) stopGpu();
        const TimeNs pause = cycle(last);
        done_.raise();
        if (last) break;
        if (!stopping_ && !stop_gpu_) wakeup_.wait(seen, pause);
    }
    thread_ = ThreadState::Ended;
    done_.raise();
}

void Capture::flushGpu(TimeNs now) {
    cupti::Collector* const gpu = gpu_.load();
    if (gpu == nullptr || now < gpu_flushed_ + kGpuFlushEvery) return;
    gpu_flushed_ = now;
    gpu->flush();
}

/// Switches CUPTI on and off if kernels are recorded only in some steps, and off when nothing more will be recorded.
void Capture::switchKernels(CaptureWriter& writer, TimeNs now) {
    KernelSteps* const steps = writer.kernelSteps();
    cupti::Collector* const gpu = gpu_.load();
    if (gpu == nullptr) return;
    if (writer.isOver(now - kLastKernels)) return gpu->record(false);
    if (steps == nullptr) return;
    if (cupti_released_) return steps->setOn(false, now);
    if (!gpu->isOn()) return; // the process ends
    const bool wanted = steps->wanted();
    gpu->record(wanted);
    if (wanted != steps->isOn()) steps->setOn(wanted, readSystemClock(CLOCK_MONOTONIC));
}

void Capture::stopGpu() noexcept {
    if (cupti::Collector* const gpu = gpu_.load()) gpu->stop();
}

void Capture::takeQueue(CaptureWriter& writer) {
    Queue queue;
    {
        const std::lock_guard lock(queue_mutex_);
        std::swap(queue, queue_);
    }
    for (const std::string& message : queue.messages) {
        writer.addMessage(message);
        log(message);
    }
    for (const auto& [name, value] : queue.states)
        writer.addStatement(name, value);
    for (const StatedEvent& event : queue.events)
        writer.take(event);
    recorder_.memory()->header().stated_written.fetch_add(queue.events.size(), std::memory_order_relaxed);
}

/// Returns true if everything could be written.
bool Capture::write(CaptureWriter& writer, TimeNs now, Flush what) {
    if (what == Flush::Usual && stuck_at_ != TimeNs{0} && now < stuck_at_ + kTryAgain) return false;
    const Status written = what == Flush::Last ? writer.finish(now) : writer.flush(now);
    stuck_at_ = written.ok() ? TimeNs{0} : now;
    if (written.ok()) {
        reader_->release();
        return true;
    }
    std::string why = written.error().text();
    if (why != told_) {
        event_memory::Header& header = recorder_.memory()->header();
        const std::size_t size = std::min(why.size(), header.message.size());
        std::copy_n(why.data(), size, header.message.data());
        header.message_bytes = static_cast<std::uint32_t>(size);
        const std::string message = "the recording is kept in memory: " + why;
        writer.addMessage(message);
        log(message);
        told_ = std::move(why);
    }
    return false;
}

void Capture::lookAtRunQueue(CaptureWriter& writer, const EventMemory& memory, TimeNs now) {
    const event_memory::Header& header = memory.header();
    std::vector<std::uint32_t> threads;
    const std::size_t used = std::min<std::size_t>(header.slots_used.load(), event_memory::kThreads);
    for (std::size_t slot = 0; slot < used; ++slot) {
        if (header.threads[slot].state.load() != event_memory::SlotState::Free)
            threads.push_back(header.threads[slot].tid);
    }
    writer.addWaitForCore({looked_at_, now}, run_queue_.waitedSince(threads));
    looked_at_ = now;
}

/// Takes all records, and writes whenever enough of them are waiting. Returns true if all could be written.
bool Capture::drain(CaptureWriter& writer, TimeNs now, bool last) {
    bool more = true;
    // Takes at most one buffer's worth, because new records may arrive without end.
    const std::int64_t rounds = options_.buffer / static_cast<std::int64_t>(kWordsAtOnce * sizeof(std::uint64_t)) + 1;
    for (std::int64_t round = 0; more && round < rounds; ++round) {
        if (writer.isFilled() && !write(writer, now, last ? Flush::Retry : Flush::Usual)) return false;
        more =
            reader_->read(kWordsAtOnce, [&writer](std::uint32_t tid, std::span<const std::uint64_t> words, bool gap) {
                const std::size_t count = host_record::wordsOf(words[0]);
                if (count > words.size()) return std::size_t{0};
                if (const auto record = decodeHostRecord(words.first(count))) writer.take(tid, *record, gap);
                return count;
            });
    }
    return true;
}

TimeNs Capture::cycle(bool last) {
    try {
        EventMemory* const memory = recorder_.memory();
        if (memory == nullptr || writer_ == nullptr || over_) return options_.flush;
        const TimeNs now = readSystemClock(CLOCK_MONOTONIC);
        if (last) {
            recorder_.setOn(false);
            stopGpu();
        } else {
            flushGpu(now);
        }
        CaptureWriter& writer = *writer_;
        cupti::Collector* const gpu = gpu_.load();
        if (gpu != nullptr && activities_.empty()) gpu->collect(activities_, writer.counts());
        const ClockReading reading = readAllClocks(recorder_.clock());
        writer.addReading(reading);
        const bool all = drain(writer, reading.monotonic, last);
        writer.counts().lost_in_rings =
            static_cast<std::int64_t>(memory->header().lost_begins.load(std::memory_order_relaxed));
        if (all) {
            writer.take(activities_);
            activities_.clear();
            takeQueue(writer);
            lookAtRunQueue(writer, *memory, reading.monotonic);
            if (!last) switchKernels(writer, reading.monotonic);
        }
        const bool written = all && write(writer, reading.monotonic, last ? Flush::Last : Flush::Usual);
        if (last && written) memory->header().ended = 1;
        if (last && !memory->isShared()) stateAccount(writer, *memory, written);
        if (writer.isOver(reading.monotonic)) recorder_.setOn(false);
        // Many records may have arrived during the write.
        constexpr double kFull = 0.05;
        if (written && memory->fullness() > kFull) return kShortest;
        return options_.flush;
    } catch (const std::exception&) {
        over_ = true; // out of memory: stop recording rather than disturb the job
        recorder_.setOn(false);
        return options_.flush;
    }
}

/// For a process whose memory `record` cannot map.
void Capture::stateAccount(CaptureWriter& writer, EventMemory& memory, bool written) {
    const event_memory::Header& header = memory.header();
    const CaptureWriter::Stated stated = writer.stated();
    const auto account = std::make_unique<WatcherLink::Account>();
    account->recorded = header.recordedAnything() ? 1 : 0;
    account->ended = written ? 1 : 0;
    account->files = stated.files;
    account->counts = stated.counts;
    if (!written) {
        std::int64_t rest = 0; // number of records not taken because earlier records could not be written
        const auto count = [&rest](std::uint32_t, std::span<const std::uint64_t> words, bool) {
            rest += host_record::begins(words[0]) ? 1 : 0;
            return host_record::wordsOf(words[0]);
        };
        while (reader_->read(kWordsAtOnce, count)) {
        }
        account->counts.not_written +=
            perfetto::hostEvents(writer.counts()) - perfetto::hostEvents(stated.counts) + writer.openRanges() + rest;
    }
    account->message_bytes = header.message_bytes.load();
    account->message = header.message;
    account->identity_bytes = header.identity_bytes.load();
    account->identity = header.identity;
    link_.state(*account);
}

/// If CUPTI hangs, it must not block the job's exit.
void Capture::askToStopGpu() noexcept {
    if (recorder_.memory() == nullptr || thread_ != ThreadState::Runs) return; // a forked child has no session
    const TimeNs until = readSystemClock(CLOCK_MONOTONIC) + kExitOfCupti;
    const cupti::Collector* const gpu = gpu_.load();
    stop_gpu_ = true;
    wakeup_.raise();
    while (gpu != nullptr && (gpu->isOn() || stop_gpu_)) {
        const std::uint32_t seen = done_.number();
        const TimeNs left = until - readSystemClock(CLOCK_MONOTONIC);
        if (left <= TimeNs{0}) return;
        if (gpu->isOn() || stop_gpu_) done_.wait(seen, std::min(left, kShortest));
    }
}

/// Runs at exit. If a disk hangs, it must not block the job's exit: `record` then writes the remaining records, or
/// counts them.
void Capture::stop() noexcept {
    if (recorder_.memory() == nullptr) return; // nothing was recorded here
    stopping_ = true;
    if (thread_ == ThreadState::None) {
        ThreadState none = ThreadState::None;
        if (!thread_.compare_exchange_strong(none, ThreadState::Runs)) return;
        const NoSignals of_files;
        [[maybe_unused]] const TimeNs pause = cycle(true);
        NoSignals::dropOwn();
        return;
    }
    const TimeNs until = readSystemClock(CLOCK_MONOTONIC) + (gpu_.load() == nullptr ? kExit : kExit - kExitOfCupti);
    wakeup_.raise();
    while (thread_ != ThreadState::Ended) {
        const std::uint32_t seen = done_.number();
        const TimeNs left = until - readSystemClock(CLOCK_MONOTONIC);
        if (left <= TimeNs{0}) return;
        if (thread_ != ThreadState::Ended) done_.wait(seen, left);
    }
}

} // namespace bubblescope::profiler
