#include "core/analysis/whatif/replay.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kWord = 64;

} // namespace

Replay::Replay(const ReplayGraph& graph, std::vector<TimeNs> durations)
    : graph_(graph), durations_(std::move(durations)), ends_(durations_.size()), dirty_(durations_.size() / kWord + 1),
      first_dirty_(dirty_.size()) {
    graph_.order().replay(durations_, ends_);
}

TimeNs Replay::computeEnd(NodeId id) const {
    TimeNs start{0};
    for (const NodeId dependency : graph_.order().dependencies(id))
        start = std::max(start, ends_[at(dependency)]);
    return start + durations_[at(id)];
}

std::vector<TimeNs> Replay::stepTimes() const {
    std::vector<TimeNs> times(graph_.stepCount());
    for (const NodeId id : graph_.last()) {
        TimeNs& time = times[static_cast<std::size_t>(graph_.node(id).step)];
        time = std::max(time, ends_[at(id)]);
    }
    return times;
}

TimeNs Replay::meanStep() const {
    const std::vector<TimeNs> times = stepTimes();
    TimeNs sum{0};
    for (const TimeNs time : times)
        sum += time;
    return times.empty() ? sum : sum / static_cast<std::int64_t>(times.size());
}

void Replay::markDirty(NodeId id) {
    const std::size_t word = at(id) / kWord;
    dirty_[word] |= std::uint64_t{1} << (at(id) % kWord);
    first_dirty_ = std::min(first_dirty_, word);
}

void Replay::set(NodeId id, TimeNs duration) {
    TimeNs& current = durations_[at(id)];
    if (current == duration) return;
    old_durations_.push_back({id, current});
    current = duration;
    markDirty(id);
}

void Replay::update() {
    // Nodes come behind what they wait for, so one pass upwards meets every node after all that changes it.
    for (std::size_t word = first_dirty_; word < dirty_.size(); ++word) {
        while (dirty_[word] != 0) {
            const auto id =
                static_cast<NodeId>(word * kWord + static_cast<std::size_t>(std::countr_zero(dirty_[word])));
            dirty_[word] &= dirty_[word] - 1;
            const TimeNs end = computeEnd(id);
            if (end == ends_[at(id)]) continue;
            old_ends_.push_back({id, ends_[at(id)]});
            ends_[at(id)] = end;
            for (const NodeId dependent : graph_.dependents(id))
                markDirty(dependent);
        }
    }
    first_dirty_ = dirty_.size();
}

void Replay::undo() {
    // Times that were set and not yet counted are taken back too: what they marked is found unchanged.
    for (; !old_ends_.empty(); old_ends_.pop_back())
        ends_[at(old_ends_.back().id)] = old_ends_.back().value;
    for (; !old_durations_.empty(); old_durations_.pop_back())
        durations_[at(old_durations_.back().id)] = old_durations_.back().value;
}

} // namespace bubblescope
