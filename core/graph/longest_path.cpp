#include "core/graph/longest_path.h"

#include <bit>

namespace bubblescope {
namespace {

constexpr std::size_t kBitsPerWord = 64;

} // namespace

IncrementalEnds::IncrementalEnds(const TaskGraph& graph, const TaskLists& successors, std::vector<TimeNs> durations)
    : graph_(graph), successors_(successors), durations_(std::move(durations)), ends_(durations_.size()),
      dirty_(durations_.size() / kBitsPerWord + 1), first_dirty_(dirty_.size()) {
    forwardPass(graph_, ends_, NoLag{}, [this](TaskIndex task, TimeNs ready) { return ready + durations_[at(task)]; });
}

void IncrementalEnds::markDirty(TaskIndex task) {
    const std::size_t word = at(task) / kBitsPerWord;
    dirty_[word] |= std::uint64_t{1} << (at(task) % kBitsPerWord);
    first_dirty_ = std::min(first_dirty_, word);
}

void IncrementalEnds::set(TaskIndex task, TimeNs duration) {
    TimeNs& current = durations_[at(task)];
    if (current == duration) return;
    previous_durations_.push_back({task, current});
    current = duration;
    markDirty(task);
}

void IncrementalEnds::update() {
    // Tasks have higher numbers than their predecessors, so one pass in ascending order visits each task after all
    // tasks that affect it.
    const TaskIndex* const begin = graph_.listBegin().data();
    const TaskIndex* const sources = graph_.edgeSources().data();
    TimeNs* const ends = ends_.tasks().data();
    const TimeNs origin = ends_[kNoTask];
    for (std::size_t word = first_dirty_; word < dirty_.size(); ++word) {
        while (dirty_[word] != 0) {
            const auto place = word * kBitsPerWord + static_cast<std::size_t>(std::countr_zero(dirty_[word]));
            dirty_[word] &= dirty_[word] - 1;
            TimeNs ready = origin;
            const TaskIndex* const stop = sources + begin[place + 1];
            for (const TaskIndex* from = sources + begin[place]; from != stop; ++from)
                ready = std::max(ready, ends[*from]);
            const TimeNs end = ready + durations_[place];
            if (end == ends[place]) continue;
            previous_ends_.push_back({static_cast<TaskIndex>(place), ends[place]});
            ends[place] = end;
            for (const TaskIndex successor : successors_[place])
                markDirty(successor);
        }
    }
    first_dirty_ = dirty_.size();
}

void IncrementalEnds::undo() {
    // Also restores durations that were set but not yet applied. The next update then finds these tasks unchanged.
    for (; !previous_ends_.empty(); previous_ends_.pop_back())
        ends_[previous_ends_.back().task] = previous_ends_.back().value;
    for (; !previous_durations_.empty(); previous_durations_.pop_back())
        durations_[at(previous_durations_.back().task)] = previous_durations_.back().value;
}

} // namespace bubblescope
