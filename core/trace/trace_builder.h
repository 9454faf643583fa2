#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/trace/load_preview.h"
#include "core/trace/trace.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope {

/// Maximum distance of a time from the zero of its clock, 73 years; readers discard larger times, which occur only in
/// corrupt files. Sums and differences of two times in this range fit in 64 bits.
inline constexpr TimeNs kFarthestTime{std::numeric_limits<std::int64_t>::max() / 4};
[[nodiscard]] constexpr bool isWithinReach(TimeNs time) {
    return time >= -kFarthestTime && time <= kFarthestTime;
}

/// A slice as read from a file; `start` is relative to the zero of the file's clock.
struct NewSlice {
    TrackId track = 0;
    TimeNs start{0};
    TimeNs duration{0}; ///< negative durations become 0
    StringId name = 0;
    StringId category = 0;
    ArgSetId args = 0;
};

/// Times of the first and the last event on the files' clock; `first` is after `last` if there are no events.
struct TraceExtent {
    TimeNs first = kFarthestTime;
    TimeNs last = -kFarthestTime;

    void include(const TraceExtent& other) {
        first = std::min(first, other.first);
        last = std::max(last, other.last);
    }
    [[nodiscard]] bool empty() const { return first > last; }
};

/// Collects events from readers in any order, and creates a Trace from them. Not thread-safe: each thread needs its own
/// builder, and append() combines them.
class TraceBuilder {
public:
    /// Data that is added after this call belongs to this file, unless it names another one.
    std::uint32_t addFile(TraceFile file);
    [[nodiscard]] TraceFile& file(std::uint32_t index) { return trace_.files_[index]; }
    [[nodiscard]] std::uint32_t currentFile() const { return static_cast<std::uint32_t>(trace_.files_.size() - 1); }
    [[nodiscard]] std::size_t fileCount() const { return trace_.files_.size(); }
    /// Sets the offset that is added to all times of the file when the trace is completed, because readers may find the
    /// offset late. An offset that would move times beyond kFarthestTime is ignored (diagnostic "bad-time").
    void setFileOffset(std::uint32_t file, TimeNs offset) {
        offsets_[file] = offset;
        trace_.files_[file].offset = offset;
        if (preview_ != nullptr) preview_->setOffset(offset);
    }
    /// Sets the rules with which finish() classifies tracks and assigns ranks to files.
    void setRules(TraceRules rules) { rules_ = std::move(rules); }
    /// Also adds new slices to `preview`; null disables this.
    void setPreview(LoadPreview::Part* preview) { preview_ = preview; }
    [[nodiscard]] LoadPreview::Part* preview() const { return preview_; }

    TrackId addTrack(std::int64_t pid, std::int64_t tid);
    /// Adds another row to a track, for slices to be displayed next to those on the track.
    TrackId addRow(TrackId home);
    [[nodiscard]] Track& track(TrackId id) { return trace_.tracks_[id]; }
    [[nodiscard]] std::size_t trackCount() const { return trace_.tracks_.size(); }

    StringId intern(std::string_view text) { return trace_.strings_.intern(text); }
    [[nodiscard]] std::string_view text(StringId id) const { return trace_.strings_.text(id); }
    [[nodiscard]] ArgStore& args() { return trace_.args_; }
    /// An Arg or ArgView with interned strings.
    template <class AnyArg>
    [[nodiscard]] StoredArg stored(const AnyArg& arg) {
        StoredArg out;
        out.name = intern(arg.name);
        if (const auto* const whole = std::get_if<std::int64_t>(&arg.value))
            out.setInt(*whole);
        else if (const auto* const real = std::get_if<double>(&arg.value))
            out.setReal(*real);
        else if (const auto* const flag = std::get_if<bool>(&arg.value))
            out.setBool(*flag);
        else
            out.setText(intern(std::get<3>(arg.value)));
        return out;
    }

    /// Reserves memory for `count` slices.
    void expectSlices(std::size_t count);
    /// Reserves memory for flow points.
    void expectFlows(std::size_t count) { trace_.flow_points_.reserve(trace_.flow_points_.size() + count); }
    /// The returned id is valid until finish() reorders the slices.
    SliceId addSlice(const NewSlice& slice);
    /// Adds a slice whose end is not known yet. Its duration is ignored, and it is not displayed in the preview.
    SliceId openSlice(const NewSlice& slice);
    void closeSlice(SliceId slice, TimeNs end);
    void reopenSlice(SliceId slice) { trace_.duration_[slice] = -1; }
    /// Marks a slice as never closed: it lasts until the end of the trace.
    void leaveOpen(SliceId slice) { trace_.open_.push_back(slice); }
    /// Sorts all flow points except the first `flows` by track. Returns false if the job is stopped.
    [[nodiscard]] bool sortFlowsByTrack(std::size_t flows, const JobControl& control);
    /// Adds args to a slice; they override earlier args with the same names.
    void addArgs(SliceId slice, ArgSetId args);
    void addInstant(const Instant& instant) { trace_.instants_.push_back(instant); }
    /// `point.slice` must be a result of addSlice(), or kNoId to bind the point to the innermost slice of its track at
    /// its time.
    void addFlow(const FlowPoint& point) { trace_.flow_points_.push_back(point); }
    void addCounter(std::int64_t pid, StringId name, TimeNs time, double value);
    /// For readers that can assign counters to processes only at the end. No counters may be added after this call.
    [[nodiscard]] std::span<CounterSeries> counters() { return trace_.counters_; }

    [[nodiscard]] std::size_t sliceCount() const { return trace_.start_.size(); }
    [[nodiscard]] TrackId sliceTrack(SliceId slice) const { return trace_.track_[slice]; }
    [[nodiscard]] TimeNs sliceStart(SliceId slice) const { return TimeNs{trace_.start_[slice]}; }
    /// The slice must have an end.
    [[nodiscard]] TimeNs sliceEnd(SliceId slice) const {
        return TimeNs{trace_.start_[slice] + trace_.duration_[slice]};
    }
    [[nodiscard]] StringId sliceName(SliceId slice) const { return trace_.name_[slice]; }
    [[nodiscard]] StringId sliceCategory(SliceId slice) const { return trace_.category_[slice]; }
    [[nodiscard]] std::size_t flowCount() const { return trace_.flow_points_.size(); }

    /// Moves the contents of another builder here, with its files after those of this builder, so that files can be
    /// read in parallel. Returns false if the job is stopped; the builder is then unusable.
    [[nodiscard]] bool append(TraceBuilder&& part, const JobControl& control);

    /// Adds the offset of each file to its times. Must be called after all data has been added. Errors: Cancelled.
    [[nodiscard]] Result<TraceExtent> settle(DiagnosticLog& log, const JobControl& control);
    /// Sorts all data, shifts times so that the first event is at time 0, and moves slices that overlap without nesting
    /// to separate tracks (diagnostic "overlap"). `extent` is the result of settle(). To give several parts of a trace
    /// the same origin, pass the extent of the complete trace. The builder is empty afterwards. Errors: Cancelled.
    [[nodiscard]] Result<std::shared_ptr<const Trace>> finish(const TraceExtent& extent, DiagnosticLog& log,
                                                              const JobControl& control);
    /// Calls settle() and then finish().
    [[nodiscard]] Result<std::shared_ptr<const Trace>> finish(DiagnosticLog& log, const JobControl& control);
    /// For traces that are too small to need cancellation.
    [[nodiscard]] std::shared_ptr<const Trace> finish(DiagnosticLog& log) { return finish(log, {}).value(); }

private:
    [[nodiscard]] bool empty() const;

    Trace trace_;
    std::vector<TimeNs> offsets_;
    std::map<std::tuple<std::uint32_t, std::int64_t, StringId>, std::size_t> series_; ///< counters by file, pid, name
    TraceRules rules_;
    LoadPreview::Part* preview_ = nullptr;
};

} // namespace bubblescope
