#include "core/formats/source/slice_pairing.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>
#include <utility>

namespace bubblescope {

void SlicePairing::add(const SliceMark& mark) {
    if (mark.track >= tracks_.size()) tracks_.resize(mark.track + std::size_t{1});
    TrackMarks& track = tracks_[mark.track];
    const bool disordered = track.disordered() || mark.time < track.latest;
    track.latest = std::max(track.latest, mark.time);
    if (!mark.is_end) {
        last_begin_ = builder_.openSlice({mark.track, mark.time, TimeNs{0}, mark.name, mark.category, mark.args});
        begun_.resize(last_begin_, false);
        begun_.push_back(true);
    }
    if (disordered) {
        const auto item = mark.is_end ? static_cast<std::uint32_t>(loose_args_.size()) : last_begin_;
        track.oddities().late.push_back({mark.time, item & INT32_MAX, mark.is_end ? 1U : 0U});
        if (mark.is_end) loose_args_.push_back(mark.args);
    } else {
        track.order.push_back(mark.is_end);
        if (mark.is_end)
            close(track, mark);
        else
            track.open.push_back(last_begin_);
    }
    if (builder_.preview() != nullptr) addToPreview(mark);
}

void SlicePairing::close(TrackMarks& track, const SliceMark& mark) {
    if (track.open.empty()) {
        track.oddities().unmatched.push_back({mark.time, mark.args});
        return;
    }
    builder_.closeSlice(track.open.back(), mark.time);
    if (mark.args != 0) end_args_.emplace_back(track.open.back(), mark.args);
    track.open.pop_back();
}

void SlicePairing::addToPreview(const SliceMark& mark) {
    TrackMarks& track = tracks_[mark.track];
    if (!mark.is_end) {
        ++track.slices;
        if (track.depth++ == 0) track.begin = mark.time;
    } else if (track.depth > 0 && --track.depth == 0) {
        builder_.preview()->add(mark.track, track.begin, mark.time - track.begin, std::exchange(track.slices, 0));
    }
}

void SlicePairing::addAsync(const SliceMark& mark, std::uint64_t id) {
    async_.push_back({mark, id});
    if (builder_.preview() != nullptr && !mark.is_end) builder_.preview()->add(mark.track, mark.time, TimeNs{0});
}

bool SlicePairing::finish(DiagnosticLog& log, const std::string& where, const LoadProgress& progress) {
    LoadPreview::Part* const preview = builder_.preview();
    builder_.setPreview(nullptr); // the preview has them already
    Finishing job{log, where, progress.control(), StopCheck(progress.control()), {}, {}};
    if (!finishTracks(job)) return false;
    // Arrows that the reader added itself keep their order.
    if (!builder_.sortFlowsByTrack(any_flow_ ? flows_ : builder_.flowCount(), job.control)) return false;
    if (!pairAsync(job)) return false;
    builder_.setPreview(preview);
    return true;
}

bool SlicePairing::finishTracks(Finishing& job) {
    std::vector<TrackId> disordered;
    for (TrackId id = 0; id < tracks_.size(); ++id) {
        if (job.stop.requested()) return false;
        if (tracks_[id].disordered())
            disordered.push_back(id);
        else
            reportOpen(tracks_[id], job);
    }
    if (!disordered.empty() && !finishDisordered(disordered, job)) return false;
    for (const auto& [slice, args] : end_args_)
        builder_.addArgs(slice, args);
    tracks_.clear();
    std::vector<bool>().swap(begun_);
    std::vector<std::pair<SliceId, ArgSetId>>().swap(end_args_);
    return !job.control.stopRequested();
}

namespace {

void reportEnd(DiagnosticLog& log, const std::string& where, TimeNs time) {
    log.add("unmatched-end", say("{}, at {} ns", where, time.count()),
            say("skipped slice ends without a matching begin"));
}

void reportBegin(DiagnosticLog& log, const std::string& where, std::string_view name) {
    log.add("unmatched-begin", say("{}, slice '{}'", where, name),
            say("slices without an end; shown to the end of the trace"));
}

} // namespace

void SlicePairing::reportOpen(const TrackMarks& track, Finishing& job) const {
    if (track.odd != nullptr) {
        for (const LooseEnd& end : track.odd->unmatched)
            reportEnd(job.log, job.where, end.time);
    }
    // The innermost first, because the report names it as the representative.
    for (auto slice = track.open.rbegin(); slice != track.open.rend(); ++slice)
        leaveOpen(*slice, job);
}

void SlicePairing::leaveOpen(SliceId slice, Finishing& job) const {
    builder_.leaveOpen(slice);
    reportBegin(job.log, job.where, builder_.text(builder_.sliceName(slice)));
}

bool SlicePairing::finishDisordered(const std::vector<TrackId>& tracks, Finishing& job) {
    // The slices of all tracks, found in one pass.
    std::vector<std::vector<SliceId>> slices(tracks.size());
    std::vector<std::uint32_t> index(tracks_.size(), kNoId);
    for (std::size_t i = 0; i < tracks.size(); ++i)
        index[tracks[i]] = static_cast<std::uint32_t>(i);
    for (SliceId slice = 0; slice < begun_.size(); ++slice) {
        if (job.stop.requested()) return false;
        if (const std::uint32_t i = begun_[slice] ? index[builder_.sliceTrack(slice)] : kNoId; i != kNoId)
            slices[i].push_back(slice);
    }
    std::unordered_map<SliceId, ArgSetId> end_args;
    std::erase_if(end_args_, [&](const auto& end) {
        const bool taken = index[builder_.sliceTrack(end.first)] != kNoId;
        if (taken) end_args.insert(end);
        return taken;
    });
    const auto fit = [](const Mark&, const Mark&) { return true; };
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        std::vector<Mark> marks = marksOf(tracks_[tracks[i]], slices[i], end_args);
        for (const SliceId slice : slices[i])
            builder_.reopenSlice(slice);
        const auto close = [&](const Mark& begin, const Mark* end) {
            if (end == nullptr) return leaveOpen(begin.item, job);
            builder_.closeSlice(begin.item, end->time);
            builder_.addArgs(begin.item, loose_args_[end->item]);
        };
        if (!pair(marks, job, fit, close)) return false;
    }
    return true;
}

/// All marks of a track in their original order, reconstructed from what is left of them.
std::vector<SlicePairing::Mark> SlicePairing::marksOf(TrackMarks& track, const std::vector<SliceId>& slices,
                                                      const std::unordered_map<SliceId, ArgSetId>& end_args) {
    std::vector<Mark> marks;
    marks.reserve(track.order.size() + track.odd->late.size());
    std::vector<SliceId> open;
    auto next = slices.begin();
    auto unmatched = track.odd->unmatched.begin();
    const auto addEnd = [&](TimeNs time, ArgSetId args) {
        marks.push_back({time, static_cast<std::uint32_t>(loose_args_.size()) & INT32_MAX, 1});
        loose_args_.push_back(args);
    };
    for (const bool is_end : track.order) {
        if (!is_end) {
            marks.push_back({builder_.sliceStart(*next), *next & INT32_MAX, 0});
            open.push_back(*next++);
        } else if (open.empty()) {
            addEnd(unmatched->time, unmatched->args);
            ++unmatched;
        } else {
            const auto args = end_args.find(open.back());
            addEnd(builder_.sliceEnd(open.back()), args == end_args.end() ? 0 : args->second);
            open.pop_back();
        }
    }
    marks.insert(marks.end(), track.odd->late.begin(), track.odd->late.end());
    track.odd.reset();
    return marks;
}

template <class Fit, class Use>
bool SlicePairing::pair(std::vector<Mark>& marks, Finishing& job, const Fit& fit, const Use& use) const {
    constexpr std::uint32_t kOpen = UINT32_MAX;
    const auto before = [](const Mark& a, const Mark& b) { return a.time < b.time; };
    if (!sortStably(marks, before, job.control)) return false;

    job.open.clear();
    job.end_of.assign(marks.size(), kOpen);
    for (std::uint32_t i = 0; i < marks.size(); ++i) {
        if (job.stop.requested()) return false;
        if (marks[i].is_end == 0) {
            job.open.push_back(i);
            continue;
        }
        constexpr std::size_t kDeepest = 64; // open slices of one id to search
        const auto deepest = job.open.rbegin() + static_cast<std::ptrdiff_t>(std::min(job.open.size(), kDeepest));
        const auto begin =
            std::find_if(job.open.rbegin(), deepest, [&](std::uint32_t open) { return fit(marks[open], marks[i]); });
        if (begin == deepest) {
            reportEnd(job.log, job.where, marks[i].time);
            continue;
        }
        job.end_of[*begin] = i;
        job.open.erase(std::next(begin).base());
    }
    for (std::uint32_t i = 0; i < marks.size(); ++i) {
        if (job.stop.requested()) return false;
        if (marks[i].is_end == 0) use(marks[i], job.end_of[i] == kOpen ? nullptr : &marks[job.end_of[i]]);
    }
    return true;
}

bool SlicePairing::pairAsync(Finishing& job) {
    const auto keyOf = [](const AsyncMark& item) { return std::tuple(item.mark.track, item.id); };
    const auto before = [&keyOf](const AsyncMark& a, const AsyncMark& b) { return keyOf(a) < keyOf(b); };
    if (!sortStably(async_, before, job.control)) return false;
    std::vector<AsyncSlice> slices; // of one track
    for (std::size_t begin = 0; begin < async_.size();) {
        std::size_t end = begin;
        while (end < async_.size() && keyOf(async_[end]) == keyOf(async_[begin]))
            ++end;
        if (!pairId(begin, end, slices, job)) return false;
        if (end == async_.size() || async_[end].mark.track != async_[begin].mark.track) {
            addSlices(slices);
            slices.clear();
        }
        begin = end;
    }
    std::vector<AsyncMark>().swap(async_);
    return true;
}

bool SlicePairing::pairId(std::size_t begin, std::size_t end, std::vector<AsyncSlice>& slices, Finishing& job) const {
    std::vector<Mark> marks;
    for (std::size_t i = begin; i < end; ++i) {
        const SliceMark& mark = async_[i].mark;
        marks.push_back({mark.time, static_cast<std::uint32_t>(i) & INT32_MAX, mark.is_end ? 1U : 0U});
    }
    const auto fit = [this](const Mark& open, const Mark& mark) {
        const StringId name = async_[mark.item].mark.name;
        return name == 0 || name == async_[open.item].mark.name;
    };
    std::size_t outermost = slices.size();
    TimeNs outermost_end{0};
    return pair(marks, job, fit, [&](const Mark& from, const Mark* to) {
        const AsyncMark* const closing = to == nullptr ? nullptr : &async_[to->item];
        if (outermost == slices.size() || from.time >= outermost_end) {
            outermost = slices.size();
            outermost_end = from.time;
        }
        outermost_end = std::max(outermost_end, to == nullptr ? TimeNs::max() : to->time);
        slices.push_back({&async_[from.item], closing, outermost});
        if (to == nullptr) reportBegin(job.log, job.where, builder_.text(async_[from.item].mark.name));
    });
}

void SlicePairing::addSlices(const std::vector<AsyncSlice>& slices) {
    const std::vector<TrackId> rows = rowsFor(slices);
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const SliceMark& begin = slices[i].begin->mark;
        const TrackId row = rows.empty() ? begin.track : rows[slices[i].outermost];
        if (slices[i].end == nullptr) {
            builder_.leaveOpen(
                builder_.openSlice({row, begin.time, TimeNs{0}, begin.name, begin.category, begin.args}));
            continue;
        }
        const SliceMark& end = slices[i].end->mark;
        (void)builder_.addSlice({row, begin.time, end.time - begin.time, begin.name, begin.category,
                                 builder_.args().merge(begin.args, end.args)});
    }
}

/// Rows by outermost slice; none if no slice is nested in another. Rows made by the builder itself would mix slices of
/// different ids.
std::vector<TrackId> SlicePairing::rowsFor(const std::vector<AsyncSlice>& slices) {
    std::vector<std::size_t> outer;
    for (std::size_t i = 0; i < slices.size(); ++i) {
        if (slices[i].outermost == i) outer.push_back(i);
    }
    if (outer.size() == slices.size()) return {};
    std::ranges::stable_sort(outer, {}, [&](std::size_t i) { return slices[i].begin->mark.time; });
    constexpr std::size_t kMostRows = 512;
    using Free = std::pair<TimeNs, TrackId>; // when a row becomes free
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    std::size_t count = 1;
    free.emplace(TimeNs::min(), slices.front().begin->mark.track);
    std::vector<TrackId> rows(slices.size());
    for (const std::size_t i : outer) {
        if (free.top().first > slices[i].begin->mark.time && count < kMostRows) {
            free.emplace(TimeNs::min(), builder_.addRow(slices.front().begin->mark.track));
            ++count;
        }
        rows[i] = free.top().second;
        free.pop();
        free.emplace(slices[i].end == nullptr ? TimeNs::max() : slices[i].end->mark.time, rows[i]);
    }
    return rows;
}

} // namespace bubblescope
