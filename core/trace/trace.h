#pragma once

#include "core/base/time.h"
#include "core/trace/string_pool.h"

#include <bit>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

using TrackId = std::uint32_t;
using SliceId = std::uint32_t;
using ArgSetId = std::uint32_t; ///< 0 = no args

inline constexpr std::uint32_t kNoId = std::numeric_limits<std::uint32_t>::max();

/// A file that went into a trace.
struct TraceFile {
    std::filesystem::path path;
    std::string format; ///< "perfetto", "chrome" or "kineto"; empty for a file that could not be used
    /// The global rank whose process wrote the file, as the file itself or else its name tells.
    std::optional<std::int32_t> rank;
};

/// A row of slices: a thread, a GPU stream, a lane. Slices of one track nest; what did not was put on a
/// track of its own whose `spilled_from` names the first.
struct Track {
    std::uint32_t file = 0;
    std::int64_t pid = 0;      ///< 0 where the file has a text instead, see process_name
    std::int64_t tid = 0;      ///< 0 where the file has a text instead, see thread_name
    StringId process_name = 0; ///< may be empty
    StringId thread_name = 0;  ///< may be empty
    TrackId spilled_from = kNoId;
    SliceId first_slice = 0; ///< the track's slices are [first_slice, end_slice), by start, outer first
    SliceId end_slice = 0;
};

/// A value in 16 bytes: a trace may hold many millions of them.
struct ArgValue {
    enum class Type : std::uint8_t { Int, Double, Bool, Text };

    Type type = Type::Int;
    std::int64_t number = 0; ///< the value of Int and of Bool (0 or 1); for the others see below

    [[nodiscard]] static ArgValue ofInt(std::int64_t value) { return {Type::Int, value}; }
    [[nodiscard]] static ArgValue ofReal(double value) { return {Type::Double, std::bit_cast<std::int64_t>(value)}; }
    [[nodiscard]] static ArgValue ofBool(bool value) { return {Type::Bool, value ? 1 : 0}; }
    /// Nested values of JSON files are kept as their JSON text.
    [[nodiscard]] static ArgValue ofText(StringId value) { return {Type::Text, value}; }

    [[nodiscard]] double real() const { return std::bit_cast<double>(number); }   ///< of Double
    [[nodiscard]] StringId text() const { return static_cast<StringId>(number); } ///< of Text

    friend bool operator==(const ArgValue&, const ArgValue&) = default;
};

struct Arg {
    StringId name = 0;
    ArgValue value;
};

/// Something without duration.
struct Instant {
    TrackId track = 0;
    TimeNs time{0};
    StringId name = 0;
    StringId category = 0;
    ArgSetId args = 0;
};

/// One end of an arrow. Points with equal id (and file, unless `global`) belong to one flow, in order of
/// time.
struct FlowPoint {
    std::uint64_t id = 0;
    TimeNs time{0};
    TrackId track = 0;
    SliceId slice = kNoId; ///< the slice it is bound to, kNoId if there is none at its time
    bool global = false;   ///< ids of different files mean the same flow
};

struct CounterSeries {
    std::uint32_t file = 0;
    std::int64_t pid = 0;
    StringId name = 0;
    std::vector<TimeNs> times;
    std::vector<double> values;
};

/// All raw slices of one or more files as columns. Times count from origin(), the first event.
/// Immutable; made by a TraceBuilder. Any number of threads may read. About 32 bytes a slice, args apart.
class Trace {
public:
    [[nodiscard]] std::span<const TraceFile> files() const { return files_; }
    [[nodiscard]] std::span<const Track> tracks() const { return tracks_; }
    [[nodiscard]] const StringPool& strings() const { return strings_; }
    [[nodiscard]] std::string_view text(StringId id) const { return strings_.text(id); }

    // Columns, one entry per slice, ordered by track, then start, then longest first.
    [[nodiscard]] std::size_t sliceCount() const { return start_.size(); }
    [[nodiscard]] std::span<const TrackId> sliceTracks() const { return track_; }
    [[nodiscard]] std::span<const std::int64_t> sliceStarts() const { return start_; }       ///< ns
    [[nodiscard]] std::span<const std::int64_t> sliceDurations() const { return duration_; } ///< ns
    [[nodiscard]] std::span<const StringId> sliceNames() const { return name_; }
    [[nodiscard]] std::span<const StringId> sliceCategories() const { return category_; }
    [[nodiscard]] std::span<const ArgSetId> sliceArgs() const { return args_; }

    [[nodiscard]] TimeNs start(SliceId slice) const { return TimeNs{start_[slice]}; }
    [[nodiscard]] TimeNs end(SliceId slice) const { return TimeNs{start_[slice] + duration_[slice]}; }
    [[nodiscard]] std::string_view name(SliceId slice) const { return text(name_[slice]); }
    [[nodiscard]] std::string_view category(SliceId slice) const { return text(category_[slice]); }

    [[nodiscard]] std::span<const Arg> args(ArgSetId set) const;
    /// The value of a named arg of a set, if it has one. Linear in the set's size.
    [[nodiscard]] std::optional<ArgValue> arg(ArgSetId set, std::string_view name) const;
    [[nodiscard]] std::optional<std::int64_t> intArg(ArgSetId set, std::string_view name) const;
    [[nodiscard]] std::optional<std::string_view> textArg(ArgSetId set, std::string_view name) const;

    [[nodiscard]] std::span<const Instant> instants() const { return instants_; }        ///< by time
    [[nodiscard]] std::span<const FlowPoint> flowPoints() const { return flow_points_; } ///< by id, then time
    [[nodiscard]] std::span<const CounterSeries> counters() const { return counters_; }

    [[nodiscard]] TimeNs origin() const { return origin_; } ///< time 0 on the clock of the files
    [[nodiscard]] TimeNs span() const { return span_; }     ///< first to last event

private:
    friend class TraceBuilder;

    std::vector<TraceFile> files_;
    std::vector<Track> tracks_;
    StringPool strings_;

    std::vector<TrackId> track_;
    std::vector<std::int64_t> start_;
    std::vector<std::int64_t> duration_;
    std::vector<StringId> name_;
    std::vector<StringId> category_;
    std::vector<ArgSetId> args_;

    std::vector<std::size_t> arg_ends_{0}; // arg set s is args_pool_[arg_ends_[s-1], arg_ends_[s])
    std::vector<Arg> args_pool_;
    std::vector<Instant> instants_;
    std::vector<FlowPoint> flow_points_;
    std::vector<CounterSeries> counters_;
    TimeNs origin_{0};
    TimeNs span_{0};
};

} // namespace bubblescope
