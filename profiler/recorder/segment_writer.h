#pragma once

#include "core/base/process_info.h"
#include "core/base/time.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/packet_file.h"
#include "core/schedule/stage_ways.h"
#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"
#include "profiler/events/device_work.h"
#include "profiler/recorder/slice_record.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

/// The op, or the pair of ops, for which a rank launches work.
struct LaunchingOp {
    int step = 0;
    std::vector<Op> ops; ///< one op, or both ops of a pair
};

/// Device work for a rank, or the rank's call that started it, with the categories and arguments of PyTorch's profiler.
/// Times are CLOCK_MONOTONIC. The caller owns the strings.
struct DeviceSlice : DeviceWork {
    std::string_view category; ///< "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime" or "cuda_driver"
    std::string_view name;
    std::string_view row;            ///< the track's name
    bool on_device = true;           ///< false for a call; only its correlation is then recorded
    const LaunchingOp* op = nullptr; ///< null outside of ops
};

/// Rank and segment number, as in the name of a segment's file.
struct SegmentName {
    int rank = 0;
    int segment = 0;
};
/// Returns nothing for other file names.
[[nodiscard]] std::optional<SegmentName> segmentName(const std::filesystem::path& file);

/// Writes the trace files of one rank. Slices have the names in core/timeline/trace_names.h and are appended in
/// batches. Each file can be read on its own. Not thread-safe.
class TraceSegmentWriter {
public:
    /// "rank<R>.pftrace", then "rank<R>.1.pftrace" and so on.
    [[nodiscard]] static std::filesystem::path fileName(Rank rank, int segment = 0);

    /// The files of a rank in a folder, in the order in which they were written.
    [[nodiscard]] static std::vector<std::filesystem::path> filesOf(const std::filesystem::path& dir, Rank rank);

    /// `rank` is the global rank, in a mesh of pp × dp × tp ranks in which tp varies fastest. Creates
    /// `dir`/rank<R>.pftrace, or replaces the file of an earlier run, and writes its beginning: tracks, clocks, and the
    /// description of the run and its host. Error: Run, naming the file.
    [[nodiscard]] static Result<TraceSegmentWriter> create(const std::filesystem::path& dir, const RunInfo& info,
                                                           Rank rank, ClockPair clocks, const ProcessInfo& process,
                                                           perfetto::SegmentLimits limits = {});

    /// Appends a batch, with one write per file; sorts it in place. The order within a batch does not matter; a slice
    /// that overlaps an earlier slice on its track goes to the next lane. Error: Run, naming the file.
    [[nodiscard]] Status append(std::vector<SliceRecord>& batch);

    /// Appends device activity of this rank, in any order, on tracks below the tracks of its ops. Error: Run, naming
    /// the file.
    [[nodiscard]] Status append(std::span<const DeviceSlice> slices);

    /// Appends an exchange of clock readings that this rank requested.
    [[nodiscard]] Status append(const Ping& ping);

    /// Appends a later reading of both clocks.
    [[nodiscard]] Status append(ClockPair clocks);

    /// Appends the number of records that were lost since the last call.
    [[nodiscard]] Status appendLost(std::int64_t records);

    /// Marks the end of the file. `dropped` is the total number of lost records.
    [[nodiscard]] Status appendEnd(std::int64_t dropped, std::string_view failure = {});

    /// Appends checks and digests of this rank; sorts them in place. The records' rank, replica and tensor rank must
    /// match the file.
    [[nodiscard]] Status append(std::vector<CheckRecord>& checks, std::vector<DigestRecord>& digests);

    [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

private:
    /// "compute", then send, receive, wait and collective, then "replay"; sends and receives have one track per
    /// payload.
    static constexpr std::size_t kTracks = 8;

    struct Lane {
        std::uint64_t uuid = 0;
        TimeNs free_from{0};
    };

    TraceSegmentWriter(perfetto::PacketFile file, const RunInfo& info, Rank rank, const ProcessInfo& process,
                       perfetto::SegmentLimits limits);

    void encodeBeginning(ClockPair clocks);
    [[nodiscard]] Status writeOut();
    [[nodiscard]] Status beginSegment();

    [[nodiscard]] static std::size_t trackOf(const SliceRecord& record);
    [[nodiscard]] std::uint64_t processUuid() const;
    std::uint64_t openLane(std::size_t track);
    std::uint64_t laneFor(std::size_t track, TimeNs start, TimeNs end);
    std::uint64_t rowFor(const DeviceSlice& slice);
    void encode(const DeviceSlice& slice);
    [[nodiscard]] Stage stageOf(const Op& op) const;
    void encode(const SliceRecord& record);

    perfetto::PacketFile file_;
    Rank rank_; ///< global rank in the run
    RunInfo info_;
    ProcessInfo process_;
    perfetto::SegmentLimits limits_;
    int segment_ = 0;
    std::int64_t records_ = 0; ///< number of slices appended
    int alike_;                ///< number of ranks with the same position in the pipeline: replicas times tensor ranks
    StageWays ways_;           ///< paths of micro-batches through the pipeline
    perfetto::Encoder encoder_;
    std::uint64_t lanes_opened_ = 0;
    std::array<std::vector<Lane>, kTracks> lanes_;

    /// A track of device slices, and the times when it is occupied. Slices arrive late and unsorted: the first slices
    /// to arrive may have run last.
    struct Row {
        std::uint64_t uuid = 0;
        std::map<TimeNs, TimeNs> taken; ///< end times by start time, excluding slices that end before `free_from`
        TimeNs free_from = TimeNs::min();
        TimeNs last_end = TimeNs::min();

        [[nodiscard]] bool take(TimeNs start, TimeNs end);
    };
    std::map<std::string, std::vector<Row>, std::less<>> rows_; ///< rows by name; several rows if slices overlap
};

} // namespace bubblescope::profiler
