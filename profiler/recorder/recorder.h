#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/timeline/run_info.h"
#include "profiler/recorder/ring.h"
#include "profiler/recorder/segment_writer.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope::profiler {

struct RecorderConfig {
    std::filesystem::path dir;           ///< created if missing; files of an earlier run in this folder are replaced
    RunInfo info;                        ///< describes a mesh of info.pp * info.dp * info.tp ranks
    std::vector<Rank> ranks;             ///< global ranks recorded here; empty = all
    ProcessInfo process = thisProcess(); ///< the recording process
    std::size_t ring_capacity = std::size_t{1} << 14; ///< capacity in records per rank
    /// Maximum time for which a record is only in memory, where it is lost if the process is killed. Rings that fill
    /// quickly are drained sooner. 0 = write only when flush() is called.
    std::chrono::milliseconds flush_interval{50};
    /// Interval at which the recorder's thread records both clocks of the host, so that the files of several hosts can
    /// be aligned while they are being written.
    std::chrono::milliseconds clock_interval{60'000};
    perfetto::SegmentLimits limits;
};

/// Records the slices of a run's ranks into one Perfetto file per rank. Each rank's thread pushes into its ring; a
/// thread of the recorder drains all rings at least once per flush interval.
///
/// Each ring has one producing thread; all other functions may be called by any thread.
class Recorder {
public:
    /// Creates all files. Error: Run, naming the folder or file that could not be created.
    [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(const RecorderConfig& config);

    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder();

    /// The ring of a rank that is recorded here.
    [[nodiscard]] RecordRing& ring(Rank rank);

    /// Requests a flush and returns immediately; called at the end of each step. Requests within 20 ms share one flush,
    /// because more frequent flushes would slow short steps by about 1 %.
    void requestFlush();

    /// Writes the content of the rings. Returns the first error of any flush so far; after an error, nothing more is
    /// written to that rank's file.
    [[nodiscard]] Status flush();

    /// The first error of any flush so far, without flushing.
    [[nodiscard]] Status status() const;

    /// Stops the recorder's thread, flushes, and marks the end of each file. Must be the last call, after all producers
    /// have ended. `failure` contains the reason why the run failed; empty if it succeeded.
    [[nodiscard]] Status close(std::string_view failure = {});

    /// Sets an additional source of slices, which calls addSlices(). The source is called before each flush, by one
    /// thread at a time and without a lock held. `last` is true when close() calls it. An empty function removes the
    /// current source. Must not be set while producers are running.
    using Source = std::function<void(bool last)>;
    void setSource(Source source);

    /// Writes device activity of a rank that is recorded here.
    void addSlices(Rank rank, std::span<const DeviceSlice> slices);

    /// Writes exchanges of clock readings into the requesting rank's file. That rank must be recorded here.
    void addPings(std::span<const Ping> pings);

    /// Writes a check that found a mismatch; see TraceSegmentWriter. `rank` must be recorded here.
    void addCheck(Rank rank, const CheckRecord& check);

    /// Number of records that were lost because newer records overwrote them in a full ring.
    [[nodiscard]] std::int64_t dropped() const;
    /// The existing files; if size is limited, each rank's most recent files.
    [[nodiscard]] std::vector<std::filesystem::path> files() const;

private:
    Recorder() = default;
    void callSource(bool last);
    [[nodiscard]] Status writeRings();
    [[nodiscard]] std::size_t placeOf(Rank rank) const;
    void keepError(Error error);
    [[nodiscard]] Status flushRank(std::size_t place);
    void writeClocks();
    [[nodiscard]] std::chrono::milliseconds pauseBeforeNext(std::chrono::milliseconds interval);
    void drainLoop(std::chrono::milliseconds interval, std::chrono::milliseconds clock_interval);
    void stopThread();

    std::vector<Rank> ranks_; ///< ranks of the rings and writers, in order
    std::vector<std::unique_ptr<RecordRing>> rings_;

    std::mutex source_mutex_;
    Source source_; ///< empty after close() was called

    std::mutex files_mutex_; ///< guards the members used by a flush
    std::vector<TraceSegmentWriter> writers_;
    std::vector<bool> failed_;                   ///< by index in ranks_
    std::vector<std::int64_t> reported_dropped_; ///< losses written to the files, by index in ranks_
    bool closed_ = true;                         ///< true after close(), and before all files exist
    std::vector<SliceRecord> batch_;
    double fullest_ = 0; ///< fill level of the fullest ring at the last flush, 0 to 1

    mutable std::mutex error_mutex_; ///< a separate mutex, so that status() never waits for a disk
    std::optional<Error> first_error_;

    std::mutex wake_mutex_;
    std::condition_variable wake_;
    bool flush_wanted_ = false;
    bool listening_ = false; ///< true while the thread waits for requests
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace bubblescope::profiler
