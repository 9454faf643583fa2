#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/timeline/run_info.h"
#include "profiler/recorder/ring.h"
#include "profiler/recorder/segment_writer.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace bubblescope::profiler {

struct RecorderConfig {
    std::filesystem::path dir; ///< created where missing; trace files of an earlier run in it are replaced
    RunInfo info;              ///< has info.pp * info.dp * info.tp ranks
    std::vector<Rank> ranks;   ///< those that are recorded here, by their number in the whole run; empty = all
    ProcessInfo process = thisProcess();              ///< who records
    std::size_t ring_capacity = std::size_t{1} << 14; ///< records per rank
    /// How long a record may lie in memory: what a killed process loses. Rings that fill fast are drained sooner. 0 =
    /// nothing is written unless flush() is called.
    std::chrono::milliseconds flush_interval{50};
    /// How often both of the host's clocks are read and recorded, so that files of several hosts can be related while
    /// they grow. By the recorder's thread.
    std::chrono::milliseconds clock_interval{60'000};
    perfetto::SegmentLimits limits;
};

/// Records the slices of a run's ranks into one Perfetto file per rank. Each rank's thread pushes into its
/// ring; a thread of the recorder drains the rings at least every flush interval.
///
/// ring() hands each ring to one producing thread; everything else may be called by any thread.
class Recorder {
public:
    /// Creates all files. Error: Run, naming the folder or file that could not be made.
    [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(const RecorderConfig& config);

    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder();

    /// Of one of the ranks that are recorded here.
    [[nodiscard]] RecordRing& ring(Rank rank);

    /// Asks for a flush soon and returns at once; for the ends of steps.
    void requestFlush();

    /// Writes what the rings hold. Returns the first error of any flush so far; after one, nothing more is
    /// written to that rank's file.
    [[nodiscard]] Status flush();

    /// The first error of any flush so far, without flushing.
    [[nodiscard]] Status status() const;

    /// Stops the recorder's thread, flushes and writes to each file that it has ended; the last call to make, after the
    /// producers ended.
    [[nodiscard]] Status close();

    /// Writes exchanges of clocks into the file of the rank that asked, which must be one of those recorded here.
    void addPings(std::span<const Ping> pings);

    /// Writes a check that found something, see TraceSegmentWriter; `rank` must be one of those recorded here.
    void addCheck(Rank rank, const CheckRecord& check);

    /// Records that were overwritten in a full ring before they could be written: the oldest ones.
    [[nodiscard]] std::int64_t dropped() const;
    /// That are there: of a rank whose files are limited in size, the last ones.
    [[nodiscard]] std::vector<std::filesystem::path> files() const;

private:
    Recorder() = default;
    [[nodiscard]] std::size_t placeOf(Rank rank) const;
    void keepError(Error error);
    [[nodiscard]] Status flushRank(std::size_t place);
    void writeClocks();
    [[nodiscard]] std::chrono::milliseconds pauseBeforeNext(std::chrono::milliseconds interval);
    void drainLoop(std::chrono::milliseconds interval, std::chrono::milliseconds clock_interval);
    void stopThread();

    std::vector<Rank> ranks_; ///< whose rings and writers these are
    std::vector<std::unique_ptr<RecordRing>> rings_;

    std::mutex files_mutex_; ///< guards what flushing uses
    std::vector<TraceSegmentWriter> writers_;
    std::vector<bool> failed_;                   ///< by place in ranks_
    std::vector<std::int64_t> reported_dropped_; ///< likewise: losses reported in the files
    bool closed_ = true;                         ///< also before all files are there
    std::vector<SliceRecord> batch_;
    double fullest_ = 0; ///< of the rings at the last flush: how full one was

    mutable std::mutex error_mutex_; ///< separate, so that status() never waits for a disk
    std::optional<Error> first_error_;

    std::mutex wake_mutex_;
    std::condition_variable wake_;
    bool flush_wanted_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace bubblescope::profiler
