#include "core/analysis/accounting/usual_times.h"

#include "core/base/median.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>

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

std::size_t LikeKeys::of(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const {
    const auto known = [&](const Op& op) {
        return op.kind != OpKind::Optimizer && op.chunk.value >= 0 && op.chunk.value < vpp && op.sequence >= 0 &&
               op.sequence < slices;
    };
    const Op& op = ops[index].op;
    if (rank.index() >= ranks || !known(op)) return kNone;
    if (!beginsPair(ops, index)) return ofOp(rank, op.kind, op.chunk, op.sequence);
    return known(ops[index + 1].op) ? ofPair(rank, op, ops[index + 1].op) : kNone;
}

std::size_t LikeKeys::ofOp(Rank rank, OpKind kind, Chunk chunk, std::int32_t sequence) const {
    const std::size_t stage = rank.index() * static_cast<std::size_t>(vpp) + chunk.index();
    return ofKind() * static_cast<std::size_t>(kind) + stage * static_cast<std::size_t>(slices) +
           static_cast<std::size_t>(sequence);
}

std::size_t LikeKeys::ofPair(Rank rank, const Op& first, const Op& second) const {
    const auto chunks = static_cast<std::size_t>(vpp);
    return ofKind() * kAlone + ofPairs() * pairKind(first.kind, second.kind) +
           (rank.index() * chunks + first.chunk.index()) * chunks + second.chunk.index();
}

namespace {

constexpr int kMaxSlices = 4096; ///< limits the memory that a damaged file can request

/// Number of sequence slices that this op implies.
int slicesWith(const TimelineOp& op) {
    return std::min<int>(op.op.sequence, kMaxSlices - 1) + 1;
}

/// Calls visit(index, pair) for each op of a rank that runs alone and for each pair.
template <class Visit>
void eachLike(std::span<const TimelineOp> ops, const Visit& visit) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const bool pair = beginsPair(ops, i);
        visit(i, pair);
        i += pair ? 1 : 0;
    }
}

} // namespace

StepSamples::StepSamples(const StepTimeline& step) {
    by_.vpp = std::max(1, step.vpp);
    by_.ranks = step.ranks.size();
    for (const auto& rank : step.ranks) {
        for (const TimelineOp& op : rank)
            by_.slices = std::max(by_.slices, slicesWith(op));
    }
    if (!fits()) return;
    keys_.reserve(step.opCount());
    times_.reserve(step.opCount());
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const std::span<const TimelineOp> ops(step.ranks[r]);
        eachLike(ops, [&](std::size_t i, bool pair) {
            const std::size_t key = by_.of(Rank{r}, ops, i);
            if (key == LikeKeys::kNone) return;
            keys_.push_back(static_cast<std::uint32_t>(key));
            times_.push_back(realTime(step, ops, i, pair));
        });
    }
}

/// The times by group, one list after another: those of steady steps, or all if a group has no steady ones. Several
/// threads may count and add for different groups.
class UsualTimes::Lists {
public:
    explicit Lists(std::size_t keys) : begin_(keys + 1, 0), unsteady_(keys, 0) {}

    void count(std::size_t key, bool steady) { ++(steady ? begin_[key + 1] : unsteady_[key]); }
    /// Call it after everything has been counted.
    void makeRoom() {
        for (std::size_t key = 0; key < unsteady_.size(); ++key) {
            if (begin_[key + 1] > 0) unsteady_[key] = 0;
            begin_[key + 1] += begin_[key] + unsteady_[key];
        }
        resizeLarge(times_, begin_.back());
        next_.assign(begin_.begin(), begin_.end() - 1);
    }
    [[nodiscard]] bool takes(std::size_t key, bool steady) const { return steady || unsteady_[key] > 0; }
    void add(std::size_t key, TimeNs time) { times_[next_[key]++] = time; }
    [[nodiscard]] std::size_t size() const { return times_.size(); }
    /// The median of the groups in [from, to); reorders the times.
    [[nodiscard]] TimeNs median(std::size_t from, std::size_t to) {
        return medianInPlace(std::span(times_).subspan(begin_[from], begin_[to] - begin_[from]));
    }
    [[nodiscard]] std::size_t count(std::size_t key) const { return begin_[key + 1] - begin_[key]; }

private:
    std::vector<std::size_t> begin_;
    std::vector<std::size_t> unsteady_; ///< per key
    std::vector<std::size_t> next_;
    ListToFill<TimeNs> times_;
};

UsualTimes::UsualTimes(std::span<const StepTimeline> steps, const StepSelection& selection) {
    std::size_t ops = 0;
    for (const StepTimeline& step : steps) {
        by_.vpp = std::max(by_.vpp, step.vpp);
        by_.ranks = std::max(by_.ranks, step.ranks.size());
        ops += step.opCount();
    }
    // A group belongs to one rank, so several threads can read ranks. Each thread takes neighbouring ranks, because
    // their counts are neighbours in memory.
    constexpr std::size_t kTogether = 8;
    const auto eachSample = [&](auto visit) {
        const std::size_t groups = (by_.ranks + kTogether - 1) / kTogether;
        parallelGroups(groups, ops, [&](std::size_t group) {
            const std::size_t end = std::min(by_.ranks, (group + 1) * kTogether);
            for (std::size_t s = 0; s < steps.size(); ++s) {
                const bool steady = selection.isSteady(s);
                for (std::size_t r = group * kTogether; r < std::min(end, steps[s].ranks.size()); ++r) {
                    const std::span<const TimelineOp> list(steps[s].ranks[r]);
                    eachLike(list, [&](std::size_t i, bool pair) {
                        visit(by_.of(Rank{r}, list, i), steps[s], list, i, pair, steady);
                    });
                }
            }
        });
    };
    // Sequences are usually not split, so this counts only once.
    std::optional<Lists> lists;
    std::atomic<int> slices{1};
    const auto noteSlice = [&slices](const TimelineOp& op) {
        const int wanted = slicesWith(op);
        for (int known = slices.load(std::memory_order_relaxed); wanted > known;) {
            if (slices.compare_exchange_weak(known, wanted)) break;
        }
    };
    do {
        by_.slices = slices;
        lists.emplace(by_.count());
        eachSample([&](std::size_t key, const StepTimeline&, std::span<const TimelineOp> list, std::size_t i, bool pair,
                       bool steady) {
            noteSlice(list[i]);
            if (pair) noteSlice(list[i + 1]);
            if (key != LikeKeys::kNone) lists->count(key, steady);
        });
    } while (slices != by_.slices);
    lists->makeRoom();
    eachSample([&](std::size_t key, const StepTimeline& step, std::span<const TimelineOp> list, std::size_t i,
                   bool pair, bool steady) {
        if (key != LikeKeys::kNone && lists->takes(key, steady)) lists->add(key, realTime(step, list, i, pair));
    });
    findMedians(*lists);
}

UsualTimes::UsualTimes(std::span<const StepTimeline> steps, std::span<const StepSamples> samples,
                       const StepSelection& selection) {
    const auto fits = [&](const StepSamples& step) { return step.fits() && step.by_ == samples.front().by_; };
    if (samples.empty() || !std::ranges::all_of(samples, fits)) {
        *this = UsualTimes(steps, selection);
        return;
    }
    by_ = samples.front().by_;
    Lists lists(by_.count());
    for (std::size_t s = 0; s < samples.size(); ++s) {
        const bool steady = selection.isSteady(s);
        for (const std::uint32_t key : samples[s].keys_)
            lists.count(key, steady);
    }
    lists.makeRoom();
    for (std::size_t s = 0; s < samples.size(); ++s) {
        const bool steady = selection.isSteady(s);
        for (std::size_t i = 0; i < samples[s].keys_.size(); ++i) {
            if (lists.takes(samples[s].keys_[i], steady)) lists.add(samples[s].keys_[i], samples[s].times_[i]);
        }
    }
    findMedians(lists);
}

void UsualTimes::findMedians(Lists& lists) {
    usual_.resize(by_.count());
    parallelGroups(usual_.size(), lists.size(), [&](std::size_t key) { usual_[key] = lists.median(key, key + 1); });
    parallelGroups(typical_.size(), lists.size(), [&](std::size_t kind) { // last, because it mixes groups
        const bool alone = kind < LikeKeys::kAlone;
        const std::size_t from =
            alone ? kind * by_.ofKind() : LikeKeys::kAlone * by_.ofKind() + (kind - LikeKeys::kAlone) * by_.ofPairs();
        const std::size_t to = from + (alone ? by_.ofKind() : by_.ofPairs());
        typical_[kind] = std::min(lists.median(from, to), meanOf(lists, from, to));
    });
}

/// The mean over the ops of these groups, if each took the usual time of its group.
TimeNs UsualTimes::meanOf(const Lists& lists, std::size_t from, std::size_t to) const {
    double sum = 0;
    double count = 0;
    for (std::size_t key = from; key < to; ++key) {
        const auto of_key = static_cast<double>(lists.count(key));
        sum += of_key * static_cast<double>(usual_[key].count());
        count += of_key;
    }
    return TimeNs{std::llround(sum / std::max(1.0, count))};
}

UsualTimes::Times UsualTimes::of(const StepTimeline& step, Rank rank, std::size_t index) const {
    const std::span<const TimelineOp> ops(step.ranks[rank.index()]);
    const bool pair = beginsPair(ops, index);
    const std::size_t key = by_.of(rank, ops, index);
    if (key == LikeKeys::kNone) {
        const TimeNs real = realTime(step, ops, index, pair);
        return {real, real, false};
    }
    const OpKind kind = ops[index].op.kind;
    const std::size_t typical =
        pair ? LikeKeys::kAlone + LikeKeys::pairKind(kind, ops[index + 1].op.kind) : static_cast<std::size_t>(kind);
    return {typical_[typical], usual_[key], true};
}

UsualTimes::Times UsualTimes::of(const StepTimeline& step, const StepGraph& graph, std::size_t unit) const {
    const Rank rank{graph.rank[unit]};
    const OpIndex first = graph.ops().firstOf(rank) + graph.op[unit];
    const auto optimizes = [](OpKind kind) { return kind == OpKind::Optimizer; };
    const bool pair = graph.pair[unit] != 0;
    if (optimizes(graph.kind[unit]) || (pair && optimizes(graph.ops().op(first + 1).kind)) || !graph.ops().allInRange())
        return of(step, rank, StepGraph::at(graph.op[unit]));
    if (pair) {
        const Op& op = graph.ops().op(first);
        const Op& second = graph.ops().op(first + 1);
        return {typical_[LikeKeys::kAlone + LikeKeys::pairKind(op.kind, second.kind)],
                usual_[by_.ofPair(rank, op, second)], true};
    }
    const std::int32_t sequence = by_.slices == 1 ? 0 : graph.ops().op(first).sequence;
    return {typical_[static_cast<std::size_t>(graph.kind[unit])],
            usual_[by_.ofOp(rank, graph.kind[unit], graph.chunk[unit], sequence)], true};
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
            const std::lock_guard lock(unknown); // there are few of them
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
