#include "profiler/capture/capture.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

namespace bubblescope::profiler {
namespace {

constexpr TimeNs kGpuFlushEvery{std::chrono::milliseconds(100)}; ///< CUPTI does not deliver buffers that are not full
constexpr TimeNs kShortest{std::chrono::milliseconds(1)};
constexpr std::string_view kLogName = "capture.log";

Capture* the_capture = nullptr;

/// Blocks signals in the recording thread: they are meant for the job.
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

private:
    sigset_t before_{};
};

} // namespace

Capture* Capture::ofThisProcess() noexcept {
    static const bool made = [] {
        try {
            std::vector<std::string> problems;
            CaptureOptions options = captureOptionsFrom(ownVariable, problems);
            if (options.dir.empty()) return false;
            the_capture = new Capture(std::move(options), std::move(problems));
            ::pthread_atfork(
                [] {
                    the_capture->cycle_mutex_.lock();
                    the_capture->events_mutex_.lock();
                    the_capture->thread_mutex_.lock();
                    the_capture->names_.beforeFork();
                    the_capture->communicators_.beforeFork();
                    the_capture->recorder_.beforeFork();
                },
                [] {
                    the_capture->recorder_.afterForkInParent();
                    the_capture->communicators_.afterFork();
                    the_capture->names_.afterFork();
                    the_capture->thread_mutex_.unlock();
                    the_capture->events_mutex_.unlock();
                    the_capture->cycle_mutex_.unlock();
                },
                [] { the_capture->inForkedChild(); });
            std::atexit([] { the_capture->stop(); });
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }();
    return made ? the_capture : nullptr;
}

Capture::Capture(CaptureOptions options, std::vector<std::string> problems)
    : options_(std::move(options)), problems_(std::move(problems)), recorder_(options_.ring_slots, [this] { wake(); }) {
    makeWriter();
}

void Capture::makeWriter() {
    CaptureFileInfo info;
    info.dir = options_.dir;
    info.identity = identify(ownVariable);
    info.process = thisProcess();
    writer_ = std::make_unique<CaptureWriter>(
        options_, std::move(info), names_, communicators_, [this](bool runtime, std::uint32_t number) {
            return gpu_ == nullptr ? std::string{} : gpu_->api().callName(runtime, number);
        });
    writer_->addReading(readAllClocks(recorder_.clock()));
    for (const std::string& problem : problems_)
        addMessage(problem);
}

/// Writes a message into the trace, and into capture.log for a reader who wonders why there is no trace. Requires
/// cycle_mutex_.
void Capture::addMessage(const std::string& message) {
    writer_->addMessage(message);
    std::error_code ignored;
    std::filesystem::create_directories(options_.dir, ignored);
    const std::filesystem::path log = options_.dir / kLogName;
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) return;
    const ProcessInfo process = thisProcess();
    const std::string line =
        process.host + " " + process.program + " " + std::to_string(process.pid) + ": " + message + "\n";
    [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
    ::close(file);
}

void Capture::state(std::string_view name, std::string_view value) noexcept {
    try {
        {
            const std::lock_guard lock(cycle_mutex_);
            if (writer_ == nullptr) return; // a forked child without memory
            writer_->addStatement(name, value);
        }
        wake();
    } catch (const std::exception&) {
        // The job continues; its place is then taken from its launcher.
    }
}

void Capture::event(StatedEvent event) noexcept {
    try {
        const std::lock_guard lock(events_mutex_);
        events_.push_back(std::move(event));
    } catch (const std::exception&) {
        // Out of memory: the job continues without it.
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
        // Out of memory: the job continues without it.
    }
}

void Capture::message(std::string_view text) noexcept {
    try {
        const std::lock_guard lock(cycle_mutex_);
        if (writer_ != nullptr) addMessage(std::string(text));
    } catch (const std::exception&) {
        // Nobody learns of it.
    }
}

void Capture::wake() {
    const std::lock_guard lock(thread_mutex_);
    if (thread_ != nullptr || stopping_) return;
    const NoSignals none;
    thread_ = std::make_unique<std::thread>([this] { loop(); });
}

void Capture::startCuda() noexcept {
    try {
        if (!options_.cuda) return;
        std::string why_not;
        {
            const std::lock_guard lock(cycle_mutex_);
            if (gpu_ != nullptr || cupti_released_) return;
            auto api = cupti::loadCupti(why_not);
            if (api == nullptr) return addMessage("kernels are not recorded: " + why_not);
            auto gpu = std::make_unique<cupti::Collector>(std::move(api));
            const bool started = gpu->start(options_.mode == CaptureOptions::Mode::Pipeline ? cupti::Scope::Launches
                                                                                            : cupti::Scope::Everything,
                                            why_not);
            if (!why_not.empty()) addMessage(why_not);
            if (!started) return;
            gpu_ = std::move(gpu);
        }
        // CUPTI registered its destructors for the exit when it was loaded: what is registered now runs before them.
        std::atexit([] { the_capture->stopGpu(); });
        wake();
    } catch (const std::exception&) {
        // The job continues without a recording.
    }
}

void Capture::releaseCupti(std::string_view tool) noexcept {
    try {
        bool was_on = false;
        {
            const std::lock_guard lock(cycle_mutex_);
            if (!options_.cuda || std::exchange(cupti_released_, true)) return;
            was_on = gpu_ != nullptr && gpu_->isOn();
            const std::string what = std::string(tool) + " takes CUPTI: ";
            addMessage(what + (was_on ? "kernels are recorded until here" : "kernels are not recorded") +
                       "; ranges and NCCL's operations are recorded to the end");
        }
        if (was_on) stopGpu();
    } catch (const std::exception&) {
        // The tool finds CUPTI in use, and says so.
    }
}

void Capture::loop() {
    TimeNs pause = options_.flush;
    std::unique_lock lock(thread_mutex_);
    while (!stopping_) {
        wake_.wait_for(lock, pause, [this] { return stopping_; });
        if (stopping_) return; // the thread that stops the recording writes the rest
        lock.unlock();
        pause = cycle(false);
        lock.lock();
    }
}

/// Must be called without locks: CUPTI takes its own.
void Capture::flushGpu() {
    cupti::Collector* gpu = nullptr;
    {
        const std::lock_guard lock(cycle_mutex_);
        gpu = gpu_.get();
    }
    const TimeNs now = readSystemClock(CLOCK_MONOTONIC);
    if (gpu == nullptr || now < gpu_flushed_ + kGpuFlushEvery) return;
    gpu_flushed_ = now;
    gpu->flush();
}

void Capture::stopGpu() noexcept {
    cupti::Collector* gpu = nullptr;
    {
        const std::lock_guard lock(cycle_mutex_);
        gpu = gpu_.get();
    }
    if (gpu != nullptr) gpu->stop(); // without the lock, see flushGpu()
}

TimeNs Capture::cycle(bool last) {
    try {
        if (!last) flushGpu();
        const std::lock_guard lock(cycle_mutex_);
        CaptureWriter& writer = *writer_;
        activities_.clear();
        if (gpu_ != nullptr) gpu_->collect(activities_, writer.counts());
        const ClockReading reading = readAllClocks(recorder_.clock());
        writer.addReading(reading);
        const HostRecorder::Drained drained = recorder_.drain(
            [&writer](std::uint32_t tid, const HostRecord& record, bool gap) { writer.take(tid, record, gap); });
        writer.counts().lost_in_rings += drained.lost;
        writer.take(activities_);
        std::vector<StatedEvent> events;
        {
            const std::lock_guard events_lock(events_mutex_);
            events.swap(events_);
        }
        for (const StatedEvent& event : events)
            writer.take(event);
        const Status written = failed_ ? Status()
                               : last  ? writer.finish(reading.monotonic)
                                       : writer.flush(reading.monotonic);
        if (!written.ok()) {
            failed_ = true;
            recorder_.setOn(false);
            addMessage("recording ends: " + written.error().text());
        }
        if (writer.isOver(reading.monotonic)) recorder_.setOn(false);
        // A ring that was half full when it was drained would soon overflow.
        constexpr double kFull = 0.25;
        if (drained.fullest > kFull) return std::max(kShortest, options_.flush / 16);
        return options_.flush;
    } catch (const std::exception&) {
        failed_ = true; // out of memory: the job matters more than its recording
        recorder_.setOn(false);
        return options_.flush;
    }
}

void Capture::stop() noexcept {
    std::unique_ptr<std::thread> thread;
    {
        const std::lock_guard lock(thread_mutex_);
        stopping_ = true;
        thread = std::move(thread_);
    }
    wake_.notify_all();
    if (thread == nullptr) return;
    if (thread->joinable()) thread->join();
    recorder_.setOn(false);
    stopGpu();
    [[maybe_unused]] const TimeNs none = cycle(true);
}

/// The parent's thread, trace and CUPTI session do not belong to the child.
void Capture::inForkedChild() noexcept {
    [[maybe_unused]] const auto* const no_thread_here = thread_.release();
    [[maybe_unused]] const auto* const not_ours = gpu_.release();
    [[maybe_unused]] const auto* const parents = writer_.release(); // the file belongs to the parent too
    new (&wake_) std::condition_variable; // a thread of the parent may have been waiting on it
    recorder_.afterForkInChild();
    communicators_.afterFork();
    names_.afterFork();
    thread_mutex_.unlock();
    events_.clear();
    events_mutex_.unlock();
    try {
        problems_.clear();
        makeWriter();
    } catch (const std::exception&) {
        recorder_.setOn(false);
    }
    cycle_mutex_.unlock();
}

} // namespace bubblescope::profiler
