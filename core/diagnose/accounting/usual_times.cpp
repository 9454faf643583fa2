#include "core/diagnose/accounting/usual_times.h"

#include <algorithm>

namespace bubblescope {
namespace {

constexpr std::size_t kAlone = 4; ///< kinds that run alone, the optimizer aside

TimeNs onDevice(const TimelineOp& op) {
    return op.duration() - op.device_idle - op.exposed_comm;
}

TimeNs realTime(std::span<const TimelineOp> ops, std::size_t index, bool pair) {
    return pair ? std::max(onDevice(ops[index]), onDevice(ops[index + 1])) : onDevice(ops[index]);
}

/// As median() has it, in place.
TimeNs medianOf(std::span<TimeNs> values) {
    if (values.empty()) return TimeNs{0};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

std::size_t UsualTimes::keyOf(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const {
    const auto known = [&](const Op& op) {
        return op.kind != OpKind::Optimizer && op.chunk.value >= 0 && op.chunk.value < vpp_ && op.sequence >= 0 &&
               op.sequence < slices_;
    };
    const Op& op = ops[index].op;
    if (rank.index() >= ranks_ || !known(op)) return kNoKey;
    const auto chunks = static_cast<std::size_t>(vpp_);
    const auto slices = static_cast<std::size_t>(slices_);
    const std::size_t stage = rank.index() * chunks + op.chunk.index();
    // Behind the keys of those alone: pairs by their two chunks.
    const std::size_t alone = ranks_ * chunks * kAlone * slices;
    if (beginsPair(ops, index))
        return known(ops[index + 1].op) ? alone + stage * chunks + ops[index + 1].op.chunk.index() : kNoKey;
    return (stage * kAlone + static_cast<std::size_t>(op.kind)) * slices + static_cast<std::size_t>(op.sequence);
}

UsualTimes::UsualTimes(std::span<const StepTimeline> steps) {
    constexpr int kMostSlices = 4096; // bounds what a damaged file can ask for
    std::size_t ops = 0;
    for (const StepTimeline& step : steps) {
        vpp_ = std::max(vpp_, step.vpp);
        ranks_ = std::max(ranks_, step.ranks.size());
        for (const auto& list : step.ranks) {
            ops += list.size();
            for (const TimelineOp& op : list)
                slices_ = std::clamp(op.op.sequence + 1, slices_, kMostSlices);
        }
    }
    const auto chunks = static_cast<std::size_t>(vpp_);
    const std::size_t alone = ranks_ * chunks * kAlone * static_cast<std::size_t>(slices_);
    const std::size_t keys = alone + ranks_ * chunks * chunks;
    struct Sample {
        std::uint32_t key;
        std::uint32_t kind;
        TimeNs time;
    };
    std::vector<Sample> samples;
    samples.reserve(ops);
    std::vector<std::size_t> begin(keys + 1, 0);
    std::array<std::size_t, kAlone + 1> count{};
    for (const StepTimeline& step : steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const std::span<const TimelineOp> list(step.ranks[r]);
            for (std::size_t i = 0; i < list.size(); ++i) {
                const bool pair = beginsPair(list, i);
                if (const std::size_t key = keyOf(Rank{r}, list, i); key != kNoKey) {
                    const auto kind = pair ? kAlone : static_cast<std::size_t>(list[i].op.kind);
                    samples.push_back(
                        {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(kind), realTime(list, i, pair)});
                    ++begin[key + 1];
                    ++count[kind];
                }
                i += pair ? 1 : 0;
            }
        }
    }
    for (std::size_t key = 0; key < keys; ++key)
        begin[key + 1] += begin[key];
    std::vector<TimeNs> times(samples.size());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    std::array<std::vector<TimeNs>, kAlone + 1> by_kind;
    for (std::size_t kind = 0; kind < by_kind.size(); ++kind)
        by_kind[kind].reserve(count[kind]);
    for (const auto& [key, kind, time] : samples) {
        times[next[key]++] = time;
        by_kind[kind].push_back(time);
    }
    usual_.resize(keys);
    for (std::size_t key = 0; key < keys; ++key)
        usual_[key] = medianOf(std::span(times).subspan(begin[key], begin[key + 1] - begin[key]));
    for (std::size_t kind = 0; kind < by_kind.size(); ++kind)
        typical_[kind] = medianOf(by_kind[kind]);
}

UsualTimes::Times UsualTimes::of(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const {
    const bool pair = beginsPair(ops, index);
    const std::size_t key = keyOf(rank, ops, index);
    if (key == kNoKey) return {realTime(ops, index, pair), realTime(ops, index, pair)};
    return {typical_[pair ? kAlone : static_cast<std::size_t>(ops[index].op.kind)], usual_[key]};
}

UnitTimes::UnitTimes(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph)
    : typical(graph.rank.size()), usual(graph.rank.size()) {
    for (UnitIndex unit = 0; unit < graph.size(); ++unit) {
        const Rank rank{graph.rank[StepGraph::at(unit)]};
        const auto& ops = step.ranks[rank.index()];
        const auto first = StepGraph::at(graph.op[StepGraph::at(unit)]);
        const UsualTimes::Times times = usual_times.of(rank, ops, first);
        typical[StepGraph::at(unit)] = std::max(TimeNs{0}, times.typical);
        usual[StepGraph::at(unit)] = std::max(TimeNs{0}, times.usual);
        if (!usual_times.knows(rank, ops, first)) unknown_.push_back(unit);
    }
}

void UnitTimes::assign(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph) {
    for (const UnitIndex unit : unknown_) {
        const Rank rank{graph.rank[StepGraph::at(unit)]};
        const auto first = StepGraph::at(graph.op[StepGraph::at(unit)]);
        const TimeNs own = usual_times.of(rank, step.ranks[rank.index()], first).usual;
        typical[StepGraph::at(unit)] = usual[StepGraph::at(unit)] = std::max(TimeNs{0}, own);
    }
}

} // namespace bubblescope
