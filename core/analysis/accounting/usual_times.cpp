#include "core/analysis/accounting/usual_times.h"

#include "core/base/median.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace bubblescope {
namespace {

TimeNs onDevice(const StepTimeline& step, const TimelineOp& op) {
    const OpDetails& details = step.detailsOf(op);
    return op.duration() - details.device_idle - details.exposed_comm;
}

TimeNs realTime(const StepTimeline& step, std::span<const TimelineOp> ops, std::size_t index, bool pair) {
    const TimeNs first = onDevice(step, ops[index]);
    return pair ? std::max(first, onDevice(step, ops[index + 1])) : first;
}

} // namespace

std::size_t UsualTimes::keyOf(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const {
    const auto known = [&](const Op& op) {
        return op.kind != OpKind::Optimizer && op.chunk.value >= 0 && op.chunk.value < vpp_ && op.sequence >= 0 &&
               op.sequence < slices_;
    };
    const Op& op = ops[index].op;
    if (rank.index() >= ranks_ || !known(op)) return kNoKey;
    if (!beginsPair(ops, index)) return keyAlone(rank, op.kind, op.chunk, op.sequence);
    return known(ops[index + 1].op) ? keyOfPair(rank, op.chunk, ops[index + 1].op.chunk) : kNoKey;
}

// Kind after kind, so that all times of one lie together; pairs, by their two chunks, are the last.
std::size_t UsualTimes::keyAlone(Rank rank, OpKind kind, Chunk chunk, std::int32_t sequence) const {
    const std::size_t stage = rank.index() * static_cast<std::size_t>(vpp_) + chunk.index();
    return keysOfKind() * static_cast<std::size_t>(kind) + stage * static_cast<std::size_t>(slices_) +
           static_cast<std::size_t>(sequence);
}

std::size_t UsualTimes::keyOfPair(Rank rank, Chunk first, Chunk second) const {
    const auto chunks = static_cast<std::size_t>(vpp_);
    return keysOfKind() * kAlone + (rank.index() * chunks + first.index()) * chunks + second.index();
}

UsualTimes::UsualTimes(std::span<const StepTimeline> steps, const StepSelection& selection) {
    constexpr int kMaxSlices = 4096; // bounds what a damaged file can ask for
    std::size_t ops = 0;
    for (const StepTimeline& step : steps) {
        vpp_ = std::max(vpp_, step.vpp);
        ranks_ = std::max(ranks_, step.ranks.size());
        for (const auto& rank : step.ranks)
            ops += rank.size();
    }
    // A key is of one rank, so that several threads can read ranks: neighbours by one, since their counts are
    // neighbours in memory.
    constexpr std::size_t kTogether = 8;
    const auto eachSample = [&](auto visit) {
        const std::size_t groups = (ranks_ + kTogether - 1) / kTogether;
        parallelGroups(groups, ops, [&](std::size_t group) {
            const std::size_t end = std::min(ranks_, (group + 1) * kTogether);
            for (std::size_t s = 0; s < steps.size(); ++s) {
                const bool steady = selection.isSteady(s);
                for (std::size_t r = group * kTogether; r < std::min(end, steps[s].ranks.size()); ++r) {
                    const std::span<const TimelineOp> list(steps[s].ranks[r]);
                    for (std::size_t i = 0; i < list.size(); ++i) {
                        const bool pair = beginsPair(list, i);
                        visit(keyOf(Rank{r}, list, i), steps[s], list, i, pair, steady);
                        i += pair ? 1 : 0;
                    }
                }
            }
        });
    };
    // Sequences are mostly not split, so that this counts once and not twice.
    std::vector<std::size_t> begin;
    std::vector<std::size_t> unsteady; // per key
    std::size_t keys = 0;
    std::atomic<int> slices{1};
    const auto noteSlice = [&slices](const TimelineOp& op) {
        const int wanted = std::min<int>(op.op.sequence, kMaxSlices - 1) + 1;
        for (int known = slices.load(std::memory_order_relaxed); wanted > known;) {
            if (slices.compare_exchange_weak(known, wanted)) break;
        }
    };
    do {
        slices_ = slices;
        keys = keysOfKind() * kAlone + ranks_ * static_cast<std::size_t>(vpp_) * static_cast<std::size_t>(vpp_);
        begin.assign(keys + 1, 0);
        unsteady.assign(keys, 0);
        eachSample([&](std::size_t key, const StepTimeline&, std::span<const TimelineOp> list, std::size_t i, bool pair,
                       bool steady) {
            noteSlice(list[i]);
            if (pair) noteSlice(list[i + 1]);
            if (key != kNoKey) ++(steady ? begin[key + 1] : unsteady[key]);
        });
    } while (slices != slices_);
    for (std::size_t key = 0; key < keys; ++key) {
        if (begin[key + 1] > 0) unsteady[key] = 0;
        begin[key + 1] += begin[key] + unsteady[key];
    }
    ListToFill<TimeNs> times; // by key
    resizeLarge(times, begin[keys]);
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    eachSample([&](std::size_t key, const StepTimeline& step, std::span<const TimelineOp> list, std::size_t i,
                   bool pair, bool steady) {
        if (key != kNoKey && (steady || unsteady[key] > 0)) times[next[key]++] = realTime(step, list, i, pair);
    });
    const auto medianOf = [&](std::size_t from, std::size_t to) {
        return medianInPlace(std::span(times).subspan(begin[from], begin[to] - begin[from]));
    };
    usual_.resize(keys);
    parallelGroups(keys, times.size(), [&](std::size_t key) { usual_[key] = medianOf(key, key + 1); });
    parallelGroups(typical_.size(), times.size(), [&](std::size_t kind) { // last, since it mixes keys
        typical_[kind] = medianOf(kind * keysOfKind(), kind < kAlone ? (kind + 1) * keysOfKind() : keys);
    });
}

UsualTimes::Times UsualTimes::of(const StepTimeline& step, Rank rank, std::size_t index) const {
    const std::span<const TimelineOp> ops(step.ranks[rank.index()]);
    const bool pair = beginsPair(ops, index);
    const std::size_t key = keyOf(rank, ops, index);
    if (key == kNoKey) {
        const TimeNs real = realTime(step, ops, index, pair);
        return {real, real, false};
    }
    return {typical_[pair ? kAlone : static_cast<std::size_t>(ops[index].op.kind)], usual_[key], true};
}

UsualTimes::Times UsualTimes::of(const StepTimeline& step, const StepGraph& graph, std::size_t unit) const {
    const Rank rank{graph.rank[unit]};
    const OpIndex first = graph.ops().firstOf(rank) + graph.op[unit];
    const auto optimizes = [](OpKind kind) { return kind == OpKind::Optimizer; };
    const bool pair = graph.pair[unit] != 0;
    if (optimizes(graph.kind[unit]) || (pair && optimizes(graph.ops().op(first + 1).kind)) || !graph.ops().allInRange())
        return of(step, rank, StepGraph::at(graph.op[unit]));
    if (pair) {
        const Chunk second = graph.ops().op(first + 1).chunk;
        return {typical_[kAlone], usual_[keyOfPair(rank, graph.chunk[unit], second)], true};
    }
    const std::int32_t sequence = slices_ == 1 ? 0 : graph.ops().op(first).sequence;
    return {typical_[static_cast<std::size_t>(graph.kind[unit])],
            usual_[keyAlone(rank, graph.kind[unit], graph.chunk[unit], sequence)], true};
}

UnitTimes::UnitTimes(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph) {
    resizeLarge(typical, graph.rank.size());
    resizeLarge(usual, graph.rank.size());
    std::mutex unknown;
    parallelPieces(typical.size(), [&](std::size_t from, std::size_t to) {
        for (std::size_t unit = from; unit < to; ++unit) {
            const UsualTimes::Times times = usual_times.of(step, graph, unit);
            typical[unit] = std::max(TimeNs{0}, times.typical);
            usual[unit] = std::max(TimeNs{0}, times.usual);
            if (times.known) continue;
            const std::lock_guard lock(unknown); // few are
            unknown_.push_back(static_cast<UnitIndex>(unit));
        }
    });
}

void UnitTimes::assign(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph) {
    for (const UnitIndex unit : unknown_) {
        const TimeNs own = usual_times.of(step, graph, StepGraph::at(unit)).usual;
        typical[StepGraph::at(unit)] = usual[StepGraph::at(unit)] = std::max(TimeNs{0}, own);
    }
}

} // namespace bubblescope
