#include "profiler/recorder/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace bubblescope::profiler {
namespace {

Error dirError(const std::filesystem::path& dir, std::string_view what, const std::error_code& code) {
    Error error = runError(fmt::format("{}: {}", what, code.message()), "choose another folder for the trace files");
    error.where = dir.string();
    return error;
}

/// Removes the traces of an earlier, larger run, because loading a folder loads all traces in it.
Status prepareDir(const std::filesystem::path& dir, int ranks) {
    std::error_code code;
    std::filesystem::create_directories(dir, code);
    if (code) return dirError(dir, "cannot create the folder", code);
    std::vector<std::filesystem::path> stale;
    for (std::filesystem::directory_iterator at(dir, code), end; !code && at != end; at.increment(code)) {
        const std::optional<SegmentName> name = segmentName(at->path());
        if (name && (name->rank >= ranks || name->segment > 0)) stale.push_back(at->path());
    }
    if (code) return dirError(dir, "cannot read the folder", code);
    for (const auto& file : stale) {
        std::filesystem::remove(file, code); // another process of the run may have removed it
        if (code) return dirError(file, "cannot remove the trace file of an earlier run", code);
    }
    return {};
}

} // namespace

Result<std::unique_ptr<Recorder>> Recorder::open(const RecorderConfig& config) {
    const int ranks = config.info.pp * config.info.dp * config.info.tp;
    BUBBLESCOPE_TRY(prepareDir(config.dir, ranks));
    std::unique_ptr<Recorder> recorder(new Recorder);
    const ClockPair clocks = readClocks();
    recorder->ranks_ = config.ranks;
    for (int r = 0; config.ranks.empty() && r < ranks; ++r)
        recorder->ranks_.push_back(Rank{r});
    for (const Rank rank : recorder->ranks_) {
        BUBBLESCOPE_ASSIGN(TraceSegmentWriter writer, TraceSegmentWriter::create(config.dir, config.info, rank, clocks,
                                                                                 config.process, config.limits));
        recorder->writers_.push_back(std::move(writer));
        recorder->rings_.push_back(std::make_unique<RecordRing>(config.ring_capacity));
    }
    recorder->failed_.assign(recorder->writers_.size(), false);
    recorder->reported_dropped_.assign(recorder->writers_.size(), 0);
    recorder->closed_ = false;
    if (config.flush_interval.count() > 0) {
        try {
            recorder->thread_ =
                std::thread(&Recorder::drainLoop, recorder.get(), config.flush_interval, config.clock_interval);
        } catch (const std::system_error& e) {
            return runError(fmt::format("cannot start the recorder's thread: {}", e.what()));
        }
    }
    return recorder;
}

Recorder::~Recorder() {
    [[maybe_unused]] const Status ignored = close();
}

std::size_t Recorder::placeOf(Rank rank) const {
    return static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
}

RecordRing& Recorder::ring(Rank rank) {
    return *rings_[placeOf(rank)];
}

void Recorder::requestFlush() {
    bool wake = false;
    {
        const std::lock_guard lock(wake_mutex_);
        flush_wanted_ = true;
        wake = listening_;
    }
    if (wake) wake_.notify_one();
}

void Recorder::setSource(Source source) {
    const std::lock_guard lock(source_mutex_);
    source_ = std::move(source);
}

void Recorder::callSource(bool last) {
    const std::lock_guard lock(source_mutex_);
    if (source_) source_(last);
    if (last) source_ = {};
}

void Recorder::addSlices(Rank rank, std::span<const DeviceSlice> slices) {
    const std::lock_guard lock(files_mutex_);
    const std::size_t place = placeOf(rank);
    if (closed_ || failed_[place]) return;
    Status appended = writers_[place].append(slices);
    if (appended.ok()) return;
    failed_[place] = true;
    keepError(std::move(appended).error());
}

Status Recorder::flush() {
    callSource(false);
    return writeRings();
}

Status Recorder::writeRings() {
    const std::lock_guard lock(files_mutex_);
    fullest_ = 0;
    for (std::size_t r = 0; r < rings_.size(); ++r) {
        batch_.clear();
        const RecordRing& ring = *rings_[r];
        fullest_ = std::max(fullest_, static_cast<double>(ring.waiting()) / static_cast<double>(ring.capacity()));
        rings_[r]->drain(batch_);
        if (closed_ || failed_[r]) continue;
        Status appended = flushRank(r);
        if (appended.ok()) continue;
        failed_[r] = true;
        keepError(std::move(appended).error());
    }
    return status();
}

Status Recorder::flushRank(std::size_t place) {
    if (!batch_.empty()) BUBBLESCOPE_TRY(writers_[place].append(batch_));
    const std::int64_t lost = rings_[place]->dropped() - reported_dropped_[place];
    if (lost == 0) return {};
    reported_dropped_[place] += lost;
    return writers_[place].appendLost(lost);
}

void Recorder::writeClocks() {
    const std::lock_guard lock(files_mutex_);
    for (std::size_t r = 0; r < writers_.size(); ++r) {
        if (closed_ || failed_[r]) continue;
        Status appended = writers_[r].append(readClocks());
        if (!appended.ok()) keepError(std::move(appended).error());
    }
}

void Recorder::keepError(Error error) {
    const std::lock_guard lock(error_mutex_);
    if (!first_error_) first_error_ = std::move(error);
}

Status Recorder::status() const {
    const std::lock_guard lock(error_mutex_);
    return first_error_ ? Status(*first_error_) : Status();
}

void Recorder::addPings(std::span<const Ping> pings) {
    const std::lock_guard lock(files_mutex_);
    for (const Ping& ping : pings) {
        Status appended = writers_[placeOf(Rank{ping.asker})].append(ping);
        if (!appended.ok()) keepError(std::move(appended).error());
    }
}

void Recorder::addCheck(Rank rank, const CheckRecord& check) {
    std::vector<CheckRecord> checks{check};
    std::vector<DigestRecord> digests;
    const std::lock_guard lock(files_mutex_);
    Status appended = writers_[placeOf(rank)].append(checks, digests);
    if (!appended.ok()) keepError(std::move(appended).error());
}

Status Recorder::close(std::string_view failure) {
    stopThread();
    callSource(true);
    [[maybe_unused]] const Status kept = writeRings(); // status() reports the error
    const std::lock_guard lock(files_mutex_);
    for (std::size_t r = 0; r < writers_.size() && !closed_; ++r) {
        if (failed_[r]) continue;
        Status appended = writers_[r].appendEnd(reported_dropped_[r], failure);
        if (!appended.ok()) keepError(std::move(appended).error());
    }
    closed_ = true;
    return status();
}

std::int64_t Recorder::dropped() const {
    std::int64_t sum = 0;
    for (const auto& ring : rings_)
        sum += ring->dropped();
    return sum;
}

std::vector<std::filesystem::path> Recorder::files() const {
    std::vector<std::filesystem::path> files;
    for (std::size_t place = 0; place < writers_.size(); ++place)
        std::ranges::move(TraceSegmentWriter::filesOf(writers_[place].path().parent_path(), ranks_[place]),
                          std::back_inserter(files));
    return files;
}

void Recorder::drainLoop(std::chrono::milliseconds interval, std::chrono::milliseconds clock_interval) {
    constexpr std::chrono::milliseconds kBetweenRequests{20};
    using Clock = std::chrono::steady_clock;
    auto clocks_due = Clock::now() + clock_interval;
    auto listens_at = Clock::now();
    auto pause = interval;
    std::unique_lock lock(wake_mutex_);
    while (!stopping_) {
        const auto due = Clock::now() + pause;
        wake_.wait_until(lock, std::min(due, listens_at), [this] { return stopping_; });
        listening_ = true;
        wake_.wait_until(lock, due, [this] { return flush_wanted_ || stopping_; });
        listening_ = false;
        if (std::exchange(flush_wanted_, false)) listens_at = Clock::now() + kBetweenRequests;
        lock.unlock();
        // status() and close() report a failure.
        [[maybe_unused]] const Status kept = flush();
        pause = pauseBeforeNext(interval);
        if (const auto now = Clock::now(); now >= clocks_due) {
            writeClocks();
            clocks_due = now + clock_interval;
        }
        lock.lock();
    }
}

/// A ring that was far from empty when it was drained could overflow if its producer continued at that rate.
std::chrono::milliseconds Recorder::pauseBeforeNext(std::chrono::milliseconds interval) {
    constexpr double kMuch = 0.25;
    constexpr int kOftener = 16;
    const std::lock_guard lock(files_mutex_);
    return fullest_ > kMuch ? interval / kOftener : interval;
}

void Recorder::stopThread() {
    {
        const std::lock_guard lock(wake_mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
}

} // namespace bubblescope::profiler
