#include "core/formats/source/slice_pairing.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace bubblescope {

SlicePairing::Mark SlicePairing::numbered(const SliceMark& mark) {
    begins_ += mark.is_end ? 0 : 1;
    return {mark.time, mark.name, mark.category, mark.args, mark.is_end ? 1U : 0U, marks_++ & INT32_MAX};
}

void SlicePairing::add(const SliceMark& mark) {
    if (mark.track >= tracks_.size()) tracks_.resize(mark.track + std::size_t{1});
    tracks_[mark.track].marks.push_back(numbered(mark));
    if (builder_.preview() != nullptr) addToPreview(mark);
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
    async_.push_back({mark.track, id, numbered(mark)});
    if (builder_.preview() != nullptr && !mark.is_end) builder_.preview()->add(mark.track, mark.time, TimeNs{0});
}

bool SlicePairing::finish(DiagnosticLog& log, const std::string& where, const LoadProgress& progress) {
    LoadPreview::Part* const preview = builder_.preview();
    builder_.setPreview(nullptr); // it has them already
    builder_.expectSlices(begins_);
    Finishing job{log, where, progress.control(), StopCheck(progress.control()), {}, {}, {}};
    for (TrackId track = 0; track < tracks_.size(); ++track) {
        tracks_[track].marks.moveTo(job.marks); // the slices need the memory
        if (!pair(track, job.marks, job)) return false;
    }
    if (!pairAsync(job)) return false;
    flows_.clear();
    builder_.setPreview(preview);
    return true;
}

bool SlicePairing::pairAsync(Finishing& job) {
    const auto before = [](const AsyncMark& a, const AsyncMark& b) {
        return std::tuple(a.track, a.id, a.mark.number) < std::tuple(b.track, b.id, b.mark.number);
    };
    if (!sortStably(async_, before, job.control)) return false;
    std::vector<Mark> marks;
    for (std::size_t begin = 0; begin < async_.size();) {
        marks.clear();
        std::size_t end = begin;
        for (; end < async_.size() && async_[end].track == async_[begin].track && async_[end].id == async_[begin].id;
             ++end)
            marks.push_back(async_[end].mark);
        if (!pair(async_[begin].track, marks, job)) return false;
        begin = end;
    }
    async_.clear();
    return true;
}

bool SlicePairing::pair(TrackId track, std::vector<Mark>& marks, Finishing& job) {
    constexpr std::uint32_t kOpen = UINT32_MAX;
    const auto before = [](const Mark& a, const Mark& b) { return a.time < b.time; };
    if (!sortStably(marks, before, job.control)) return false;

    job.open.clear();
    job.end_of.assign(marks.size(), kOpen);
    for (std::uint32_t i = 0; i < marks.size(); ++i) {
        if (job.stop.requested()) return false;
        if (!marks[i].is_end) {
            job.open.push_back(i);
        } else if (job.open.empty()) {
            job.log.add("unmatched-end", say("{}, at {} ns", job.where, marks[i].time.count()),
                        say("slices end that never began; they are left out"));
        } else {
            job.end_of[job.open.back()] = i;
            job.open.pop_back();
        }
    }
    for (const std::uint32_t begin : job.open) {
        job.log.add("unmatched-begin", say("{}, slice '{}'", job.where, builder_.text(marks[begin].name)),
                    say("slices begin but never end; they are left out"));
    }
    for (std::uint32_t i = 0; i < marks.size(); ++i) {
        if (job.stop.requested()) return false;
        if (job.end_of[i] != kOpen) addSlice(track, marks[i], marks[job.end_of[i]]);
    }
    return true;
}

void SlicePairing::addSlice(TrackId track, const Mark& begin, const Mark& end) {
    const SliceId slice = builder_.addSlice({track, begin.time, end.time - begin.time, begin.name, begin.category,
                                             builder_.args().merge(begin.args, end.args)});
    auto flow = std::lower_bound(flows_.begin(), flows_.end(), begin.number,
                                 [](const Flow& known, std::uint32_t number) { return known.mark < number; });
    for (; flow != flows_.end() && flow->mark == begin.number; ++flow)
        builder_.addFlow({flow->id, begin.time, track, slice, true});
}

} // namespace bubblescope
