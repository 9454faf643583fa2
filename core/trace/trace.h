#pragma once

#include "core/base/diagnostic.h"
#include "core/base/time.h"
#include "core/trace/arg_column.h"
#include "core/trace/args.h"
#include "core/trace/lanes.h"
#include "core/trace/string_pool.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

using TrackId = std::uint32_t;
using SliceId = std::uint32_t;

inline constexpr std::uint32_t kNoId = std::numeric_limits<std::uint32_t>::max();

/// Ranks that communicate as a group, according to the file of one rank.
struct ProcessGroup {
    std::string description; ///< purpose, such as "mesh_pp"
    std::vector<std::int64_t> ranks;
};

/// A file that was loaded into a trace.
struct FileExtract;

struct TraceFile {
    std::filesystem::path path;
    std::string format; ///< "perfetto", "chrome" or "kineto"; empty for an unusable file
    /// Global rank of the process that wrote the file, from the file or else from its name.
    std::optional<std::int32_t> rank;
    /// host on which the process ran; empty if not recorded
    std::string host = {};
    std::vector<ProcessGroup> groups = {};       ///< process groups of the file's own rank, from Kineto
    std::optional<std::int32_t> world_size = {}; ///< number of ranks in the job, from Kineto
    TimeNs offset{0};                            ///< added to all times in the file: Kineto's baseTimeNanoseconds
    std::string metadata = {};                   ///< a Chrome file's content except for its events, as a JSON object
    /// If the file has several processes, the one to which this data belongs, such as "[TP00-PP01]" or "process 4711".
    std::string process = {};
    /// Rank in the name of the file or in a file next to it.
    std::optional<std::int32_t> named_rank = {};
    /// True if `format` and the other fields describe another file, from which this file was converted.
    bool is_converted = false;
    /// Problems found by the conversion that created this file.
    std::vector<Diagnostic> problems = {};
    /// For an extract: additional data of the original that is not contained in these slices (core/formats/source/).
    std::shared_ptr<const FileExtract> extract = {};
};

/// Global rank of each file. Usable files without a recorded rank are numbered in order.
[[nodiscard]] std::vector<std::int64_t> ranksOfFiles(std::span<const TraceFile> files);

/// A row of slices, such as a thread, a GPU stream or a lane. Slices on one track are nested. Slices that were not
/// nested were moved to another track, whose `spilled_from` is the original track.
struct Track {
    std::uint32_t file = 0;
    std::int64_t pid = 0;           ///< an arbitrary number if the file contains text instead; see process_name
    std::int64_t tid = 0;           ///< 0 if the file contains text instead; see thread_name
    StringId process_name = 0;      ///< may be empty
    StringId thread_name = 0;       ///< may be empty
    std::int32_t process_order = 0; ///< display order of the process according to the file, ascending
    std::int32_t thread_order = 0;  ///< order among the threads of its process
    TrackId spilled_from = kNoId;
    bool may_overlap = false; ///< true for asynchronous slices, which may overlap
    SliceId first_slice = 0;  ///< the track's slices are [first_slice, end_slice), sorted by start, outer slices first
    SliceId end_slice = 0;
};

/// A named point in time, without a duration.
struct Instant {
    Instant() = default;
    Instant(TrackId track_, TimeNs time_, StringId name_, StringId category_, ArgSetId args_, char scope_ = 't')
        : track(track_), scope(scope_), time(time_), name(name_), category(category_), args(args_) {}

    TrackId track = 0;
    char scope = 't'; ///< scope: its thread ('t'), its process ('p') or everything ('g')
    TimeNs time{0};
    StringId name = 0;
    StringId category = 0;
    ArgSetId args = 0;
};

/// One end of a flow arrow. Points with equal ids (and equal files, unless `global`) form one flow, in time order. Each
/// point uses only 24 bytes, because a trace may have as many points as slices.
struct FlowPoint {
    FlowPoint() = default;
    FlowPoint(std::uint64_t id_, TimeNs time_, TrackId track_, SliceId slice_, bool global_)
        : id(id_), time(time_), slice(slice_), global(global_), track(track_ & kNoTrack) {}

    static constexpr TrackId kNoTrack = kNoId >> 1U;

    std::uint64_t id = 0;
    TimeNs time{0};
    SliceId slice = kNoId;   ///< slice to which the point is bound; kNoId if none runs at its time
    bool global : 1 = false; ///< true if equal ids in different files belong to the same flow
    TrackId track : 31 = 0;
};
static_assert(sizeof(FlowPoint) == 24);

struct CounterSeries {
    std::uint32_t file = 0;
    std::int64_t pid = 0;
    StringId name = 0;
    std::vector<TimeNs> times;
    std::vector<double> values;
};

/// Track of each slice, determined by a binary search in the tracks' ranges. Needs no memory.
class SliceTracks {
public:
    SliceTracks(std::span<const Track> tracks, std::size_t slices) : tracks_(tracks), slices_(slices) {}

    [[nodiscard]] TrackId operator[](std::size_t slice) const {
        const auto after =
            std::upper_bound(tracks_.begin(), tracks_.end(), slice,
                             [](std::size_t wanted, const Track& track) { return wanted < track.first_slice; });
        return static_cast<TrackId>(after - tracks_.begin() - 1);
    }
    [[nodiscard]] std::size_t size() const { return slices_; }

private:
    std::span<const Track> tracks_;
    std::size_t slices_;
};

/// Args of each slice. Needs no memory if no slice has args.
class SliceArgs {
public:
    SliceArgs(const ArgColumn& sets, std::size_t slices) : sets_(&sets), slices_(slices) {}

    [[nodiscard]] ArgSetId operator[](std::size_t slice) const { return (*sets_)[slice]; }
    [[nodiscard]] std::size_t size() const { return slices_; }

private:
    const ArgColumn* sets_;
    std::size_t slices_;
};

/// All raw slices of one or more files, stored in columns. Times are relative to origin(), the first event. Immutable;
/// created by a TraceBuilder. Any number of threads may read a trace. A slice uses 24 bytes, plus 4 to 8 bytes if any
/// slice has args (see ArgColumn); args that remain in a file are parsed on demand.
class Trace {
public:
    [[nodiscard]] std::span<const TraceFile> files() const { return files_; }
    [[nodiscard]] std::span<const Track> tracks() const { return tracks_; }
    [[nodiscard]] const StringPool& strings() const { return strings_; }
    [[nodiscard]] std::string_view text(StringId id) const { return strings_.text(id); }
    /// Kind of the slices on each track.
    [[nodiscard]] const Lanes& lanes() const { return lanes_; }
    /// Kind of a single slice, which must be on `track`.
    [[nodiscard]] LaneKind laneOf(SliceId slice, TrackId track) const {
        return lanes_.kindOf(track, category_[slice], name_[slice]);
    }

    // Columns with one entry per slice, ordered by track, then by start, then by descending duration.
    [[nodiscard]] std::size_t sliceCount() const { return start_.size(); }
    [[nodiscard]] SliceTracks sliceTracks() const { return {tracks_, start_.size()}; }
    [[nodiscard]] std::span<const std::int64_t> sliceStarts() const { return start_; }       ///< ns
    [[nodiscard]] std::span<const std::int64_t> sliceDurations() const { return duration_; } ///< ns
    [[nodiscard]] std::span<const StringId> sliceNames() const { return name_; }
    [[nodiscard]] std::span<const StringId> sliceCategories() const { return category_; }
    [[nodiscard]] SliceArgs sliceArgs() const { return {arg_column_, start_.size()}; }

    [[nodiscard]] TimeNs start(SliceId slice) const { return TimeNs{start_[slice]}; }
    [[nodiscard]] TimeNs end(SliceId slice) const { return TimeNs{start_[slice] + duration_[slice]}; }
    /// Slices without a recorded end, in order; they last until the end of the trace.
    [[nodiscard]] std::span<const SliceId> openSlices() const { return open_; }
    [[nodiscard]] bool isOpen(SliceId slice) const { return std::ranges::binary_search(open_, slice); }
    [[nodiscard]] std::string_view name(SliceId slice) const { return text(name_[slice]); }
    [[nodiscard]] std::string_view category(SliceId slice) const { return text(category_[slice]); }

    [[nodiscard]] std::vector<Arg> args(ArgSetId set) const { return args_.args(set, strings_); }
    /// Value of a named arg in a set, if present. Linear in the size of the set.
    [[nodiscard]] std::optional<ArgValue> arg(ArgSetId set, std::string_view name) const {
        return args_.arg(set, name, strings_);
    }
    /// Visits all args of a set without allocating memory; see ArgStore.
    void visitArgs(ArgSetId set, const ArgVisit& visit) const { args_.visit(set, strings_, visit); }
    /// A set as a JSON object on one line; empty if there are no args or they can no longer be read.
    [[nodiscard]] std::string argsJson(ArgSetId set) const { return args_.json(set, strings_); }
    /// The value of an integer arg, or 1 for true and 0 for false.
    [[nodiscard]] std::optional<std::int64_t> intArg(ArgSetId set, std::string_view name) const;
    [[nodiscard]] std::optional<std::string> textArg(ArgSetId set, std::string_view name) const;

    [[nodiscard]] std::span<const Instant> instants() const { return instants_; }        ///< sorted by time
    [[nodiscard]] std::span<const FlowPoint> flowPoints() const { return flow_points_; } ///< sorted by id, then by time
    [[nodiscard]] std::span<const CounterSeries> counters() const { return counters_; }

    /// Memory used by slices, arg ids, instants, arrows and counters. Strings and stored args are not included.
    [[nodiscard]] std::size_t columnBytes() const;

    [[nodiscard]] TimeNs origin() const { return origin_; } ///< time of the first event on the clock of the files
    /// Time of the first event on the first file's own clock, without its offset. A file and a part of it that lacks
    /// the offset have the same value.
    [[nodiscard]] TimeNs originInFile() const { return files_.empty() ? origin_ : origin_ - files_.front().offset; }
    [[nodiscard]] TimeNs span() const { return span_; } ///< time from the first to the last event

private:
    friend class TraceBuilder;
    friend class TraceFinisher;
    friend class ProcessSplitter;

    std::vector<TraceFile> files_;
    std::vector<Track> tracks_;
    StringPool strings_;
    Lanes lanes_;

    std::vector<TrackId> track_; ///< used only until the trace is complete
    std::vector<std::int64_t> start_;
    std::vector<std::int64_t> duration_;
    std::vector<StringId> name_;
    std::vector<StringId> category_;
    std::vector<SliceId> open_;
    std::vector<ArgSetId> arg_sets_; ///< used only until the trace is complete; empty if no slice has args
    ArgColumn arg_column_;

    ArgStore args_;
    std::vector<Instant> instants_;
    std::vector<FlowPoint> flow_points_;
    std::vector<CounterSeries> counters_;
    TimeNs origin_{0};
    TimeNs span_{0};
};

} // namespace bubblescope
