#include "profiler/recorder/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

/// The rank in "rank<R>.pftrace", nothing for other names.
std::optional<int> rankOfFile(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    constexpr std::string_view kPrefix = "rank";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    int rank = 0;
    const char* const begin = name.data() + kPrefix.size();
    const auto parsed = std::from_chars(begin, name.data() + name.size(), rank);
    if (parsed.ec != std::errc{} || RankSpool::fileName(Rank{rank}) != name) return std::nullopt;
    return rank;
}

/// Whoever loads a folder loads all traces in it, so those of an earlier, larger run must go.
Status prepareDir(const std::filesystem::path& dir, int ranks) {
    std::error_code code;
    std::filesystem::create_directories(dir, code);
    if (code) return dirError(dir, "the folder cannot be created", code);
    std::vector<std::filesystem::path> stale;
    for (std::filesystem::directory_iterator at(dir, code), end; !code && at != end; at.increment(code)) {
        const std::optional<int> rank = rankOfFile(at->path());
        if (rank && *rank >= ranks) stale.push_back(at->path());
    }
    if (code) return dirError(dir, "the folder cannot be read", code);
    for (const auto& file : stale) {
        std::filesystem::remove(file, code); // or another process of the run has just done so
        if (code) return dirError(file, "the trace file of an earlier run cannot be removed", code);
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
        BUBBLESCOPE_ASSIGN(RankSpool spool, RankSpool::create(config.dir, config.info, rank, clocks, config.host));
        recorder->spools_.push_back(std::move(spool));
        recorder->rings_.push_back(std::make_unique<RecordRing>(config.ring_capacity));
    }
    recorder->failed_.assign(recorder->spools_.size(), false);
    if (config.flush_interval.count() > 0) {
        try {
            recorder->thread_ = std::thread(&Recorder::drainLoop, recorder.get(), config.flush_interval);
        } catch (const std::system_error& e) {
            return runError(fmt::format("the recorder's thread cannot be started: {}", e.what()));
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
    {
        const std::lock_guard lock(wake_mutex_);
        flush_wanted_ = true;
    }
    wake_.notify_one();
}

Status Recorder::flush() {
    const std::lock_guard lock(files_mutex_);
    for (std::size_t r = 0; r < rings_.size(); ++r) {
        batch_.clear();
        rings_[r]->drain(batch_);
        if (batch_.empty() || failed_[r]) continue;
        Status appended = spools_[r].append(batch_);
        if (appended.ok()) continue;
        failed_[r] = true;
        keepError(std::move(appended).error());
    }
    return status();
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
        Status appended = spools_[placeOf(Rank{ping.asker})].append(ping);
        if (!appended.ok()) keepError(std::move(appended).error());
    }
}

Status Recorder::close() {
    stopThread();
    return flush();
}

std::int64_t Recorder::dropped() const {
    std::int64_t sum = 0;
    for (const auto& ring : rings_)
        sum += ring->dropped();
    return sum;
}

std::vector<std::filesystem::path> Recorder::files() const {
    std::vector<std::filesystem::path> files;
    for (const RankSpool& spool : spools_)
        files.push_back(spool.path());
    return files;
}

void Recorder::drainLoop(std::chrono::milliseconds interval) {
    std::unique_lock lock(wake_mutex_);
    while (!stopping_) {
        wake_.wait_for(lock, interval, [this] { return flush_wanted_ || stopping_; });
        flush_wanted_ = false;
        lock.unlock();
        // A failure is kept for status() and close().
        [[maybe_unused]] const Status kept = flush();
        lock.lock();
    }
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
