#include "core/trace/trace_builder.h"

#include "core/base/parallel.h"
#include "core/trace/processes.h"
#include "core/trace/trace_finisher.h"

#include <functional>
#include <iterator>
#include <utility>

namespace bubblescope {

std::uint32_t TraceBuilder::addFile(TraceFile file) {
    trace_.files_.push_back(std::move(file));
    offsets_.emplace_back(0);
    return currentFile();
}

TrackId TraceBuilder::addTrack(std::int64_t pid, std::int64_t tid) {
    Track track;
    track.file = currentFile();
    track.pid = pid;
    track.tid = tid;
    trace_.tracks_.push_back(track);
    return static_cast<TrackId>(trace_.tracks_.size() - 1);
}

TrackId TraceBuilder::addRow(TrackId home) {
    Track row = trace_.tracks_[home];
    row.spilled_from = home;
    trace_.tracks_.push_back(row);
    return static_cast<TrackId>(trace_.tracks_.size() - 1);
}

void TraceBuilder::expectSlices(std::size_t count) {
    count += trace_.start_.size();
    trace_.track_.reserve(count);
    trace_.start_.reserve(count);
    trace_.duration_.reserve(count);
    trace_.name_.reserve(count);
    trace_.category_.reserve(count);
    trace_.arg_sets_.reserve(count);
}

SliceId TraceBuilder::addSlice(const NewSlice& slice) {
    const SliceId added = openSlice(slice);
    trace_.duration_[added] = boundedDuration(slice.duration);
    if (preview_ != nullptr) preview_->add(slice.track, slice.start, slice.duration);
    return added;
}

SliceId TraceBuilder::openSlice(const NewSlice& slice) {
    const std::size_t added = trace_.start_.size();
    trace_.track_.push_back(slice.track);
    trace_.start_.push_back(boundedTime(slice.start.count()));
    trace_.duration_.push_back(kOpenDuration);
    trace_.name_.push_back(slice.name);
    trace_.category_.push_back(slice.category);
    if (slice.args != 0 && trace_.arg_sets_.empty()) {
        trace_.arg_sets_.reserve(trace_.start_.capacity());
        trace_.arg_sets_.resize(added, 0);
        trace_.arg_sets_.push_back(slice.args);
    } else if (!trace_.arg_sets_.empty()) {
        trace_.arg_sets_.push_back(slice.args);
    }
    return static_cast<SliceId>(added);
}

void TraceBuilder::closeSlice(SliceId slice, TimeNs end) {
    trace_.duration_[slice] = boundedDuration(TimeNs{end.count() - trace_.start_[slice]});
}

void TraceBuilder::addArgs(SliceId slice, ArgSetId args) {
    if (args == 0) return;
    if (trace_.arg_sets_.empty()) trace_.arg_sets_.resize(trace_.start_.size(), 0);
    trace_.arg_sets_[slice] = trace_.args_.merge(trace_.arg_sets_[slice], args);
}

bool TraceBuilder::sortFlowsByTrack(std::size_t flows, const JobControl& control) {
    std::vector<FlowPoint>& points = trace_.flow_points_;
    const auto byTrack = [](const FlowPoint& a, const FlowPoint& b) { return a.track < b.track; };
    return sortStably(points.begin() + static_cast<std::ptrdiff_t>(flows), points.end(), byTrack, control);
}

void TraceBuilder::addCounter(std::int64_t pid, StringId name, TimeNs time, double value) {
    const std::uint32_t file = currentFile();
    auto& all = trace_.counters_;
    const auto [known, is_new] = series_.try_emplace({file, pid, name}, all.size());
    if (is_new) all.push_back({file, pid, name, {}, {}});
    all[known->second].times.push_back(time);
    all[known->second].values.push_back(value);
}

namespace {

template <class T, class Change>
void moveInto(std::vector<T>& to, std::vector<T>& from, const Change& change) {
    for (T& item : from)
        change(item);
    if (to.empty())
        to = std::move(from);
    else
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    std::vector<T>().swap(from);
}

} // namespace

bool TraceBuilder::append(TraceBuilder&& part, const JobControl& control) {
    if (empty()) {
        *this = std::exchange(part, TraceBuilder{});
        return true;
    }
    Trace& other = part.trace_;
    std::vector<StringId> strings(other.strings_.size());
    for (StringId id = 0; id < strings.size(); ++id)
        strings[id] = trace_.strings_.intern(other.strings_.text(id));
    const auto file = static_cast<std::uint32_t>(trace_.files_.size());
    const auto track = static_cast<TrackId>(trace_.tracks_.size());
    const auto slice = static_cast<SliceId>(trace_.start_.size());
    ArgStore::Moved renumbered = trace_.args_.append(std::move(other.args_), strings);
    const auto rename = [&strings](StringId& id) { id = strings[id]; };
    const auto moveArgs = [&renumbered](ArgSetId& set) { set = renumbered(set); };
    if (trace_.arg_sets_.empty() != other.arg_sets_.empty()) {
        trace_.arg_sets_.resize(trace_.start_.size(), 0);
        other.arg_sets_.resize(other.start_.size(), 0);
    }
    const auto keep = [](const auto&) {};

    moveInto(trace_.files_, other.files_, keep);
    moveInto(offsets_, part.offsets_, keep);
    moveInto(trace_.open_, other.open_, [slice](SliceId& id) { id += slice; });
    moveInto(trace_.tracks_, other.tracks_, [&](Track& moved) {
        moved.file += file;
        if (moved.spilled_from != kNoId) moved.spilled_from += track;
        rename(moved.process_name);
        rename(moved.thread_name);
    });
    // Each takes a few milliseconds for millions of slices.
    const auto columns = {
        std::function([&] { moveInto(trace_.track_, other.track_, [track](TrackId& id) { id += track; }); }),
        std::function([&] { moveInto(trace_.start_, other.start_, keep); }),
        std::function([&] { moveInto(trace_.duration_, other.duration_, keep); }),
        std::function([&] { moveInto(trace_.name_, other.name_, rename); }),
        std::function([&] { moveInto(trace_.category_, other.category_, rename); }),
        std::function([&] { moveInto(trace_.arg_sets_, other.arg_sets_, moveArgs); })};
    for (const auto& column : columns) {
        if (control.stopRequested()) return false;
        column();
    }
    moveInto(trace_.instants_, other.instants_, [&](Instant& instant) {
        instant.track += track;
        rename(instant.name);
        rename(instant.category);
        moveArgs(instant.args);
    });
    moveInto(trace_.flow_points_, other.flow_points_, [&](FlowPoint& point) {
        point.track = (point.track + track) & FlowPoint::kNoTrack;
        if (point.slice != kNoId) point.slice += slice;
    });
    moveInto(trace_.counters_, other.counters_, [&](CounterSeries& series) {
        series.file += file;
        rename(series.name);
    });
    part = TraceBuilder{};
    return !control.stopRequested();
}

bool TraceBuilder::empty() const {
    // Interned texts alone are harmless, but would get other ids.
    return trace_.files_.empty() && trace_.tracks_.empty() && trace_.strings_.size() == 1 && trace_.args_.empty();
}

Result<TraceExtent> TraceBuilder::settle(DiagnosticLog& log, const JobControl& control) {
    TraceExtent extent;
    if (!TraceFinisher(trace_, log, control).settle(offsets_, extent)) return cancelledError();
    return extent;
}

Result<std::shared_ptr<const Trace>> TraceBuilder::finish(const TraceExtent& extent, DiagnosticLog& log,
                                                          const JobControl& control) {
    const bool whole = TraceFinisher(trace_, log, control).run(extent);
    TraceBuilder finished = std::exchange(*this, TraceBuilder{});
    if (!whole) return cancelledError();
    finished.trace_.lanes_ = Lanes(finished.trace_.tracks_, finished.trace_.strings_, finished.rules_.lanes);
    ProcessSplitter(finished.trace_, log, control).run();
    for (TraceFile& file : finished.trace_.files_) {
        for (const RankRule& rule : finished.rules_.ranks) {
            const bool matches = matchesName(rule.pattern, file.path.string(), nullptr) ||
                                 matchesName(rule.pattern, file.path.filename().string(), nullptr) ||
                                 (!file.process.empty() && matchesName(rule.pattern, file.process, nullptr));
            if (matches) file.rank = rule.rank;
        }
    }
    return std::make_shared<const Trace>(std::move(finished.trace_));
}

Result<std::shared_ptr<const Trace>> TraceBuilder::finish(DiagnosticLog& log, const JobControl& control) {
    BUBBLESCOPE_ASSIGN(const TraceExtent extent, settle(log, control));
    return finish(extent, log, control);
}

} // namespace bubblescope
