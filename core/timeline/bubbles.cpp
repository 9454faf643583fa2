#include "core/timeline/bubbles.h"

#include "core/base/large_list.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace bubblescope {

namespace {

/// The position of a gap before the op at `index`.
Position gapPosition(const Phases& phases, std::size_t index) {
    if (index == 0) return Position::BeforeWarmup;
    if (index >= phases.end) return Position::AfterCooldown;
    if (!phases.hasSteady()) {
        if (index == phases.steady) return Position::ForwardToBackward;
        return index < phases.steady ? Position::InsideWarmup : Position::InsideCooldown;
    }
    if (index < phases.steady) return Position::InsideWarmup;
    // The steady phase's first forward usually runs as soon as warm-up ends; then the rank waits for its first
    // backward. That wait separates warm-up from steady.
    if (index <= phases.steady + 1) return Position::WarmupToSteady;
    if (index < phases.cooldown) return Position::InsideSteady;
    return index == phases.cooldown ? Position::SteadyToCooldown : Position::InsideCooldown;
}

} // namespace

std::string_view positionName(Position position, bool f_then_b) {
    switch (position) {
    case Position::BeforeWarmup: return f_then_b ? "before forward" : "before warm-up";
    case Position::InsideWarmup: return f_then_b ? "inside forward" : "inside warm-up";
    case Position::WarmupToSteady: return "between warm-up and steady";
    case Position::InsideSteady: return "inside steady";
    case Position::SteadyToCooldown: return "between steady and cool-down";
    case Position::ForwardToBackward: return "between forward and backward";
    case Position::InsideCooldown: return f_then_b ? "inside backward" : "inside cool-down";
    case Position::AfterCooldown: return f_then_b ? "after backward" : "after cool-down";
    }
    return "";
}

Phases findPhases(std::span<const Op> ops) {
    Phases phases;
    phases.end = ops.size();
    while (phases.end > 0 && ops[phases.end - 1].kind == OpKind::Optimizer)
        --phases.end;

    const auto is_forward = [&](std::size_t i) { return ops[i].kind == OpKind::Forward; };
    const auto is_backward = [&](std::size_t i) { return producesInputGradient(ops[i].kind); };
    std::size_t first_backward = 0;
    while (first_backward < phases.end && !is_backward(first_backward))
        ++first_backward;
    std::size_t last_forward = ops.size();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (is_forward(i)) last_forward = i;
    }
    phases.steady = phases.cooldown = first_backward;
    if (first_backward == phases.end || last_forward == ops.size()) return phases;
    const bool after_forward = first_backward > 0 && is_forward(first_backward - 1);
    const bool pair = after_forward && ops[first_backward].overlapped && ops[first_backward - 1].overlapped;
    if (last_forward < first_backward && !pair) return phases;

    if (after_forward) phases.steady = first_backward - 1;
    phases.cooldown = last_forward + 1;
    while (phases.cooldown < phases.end && !is_backward(phases.cooldown))
        ++phases.cooldown;
    phases.cooldown = std::min(phases.cooldown + 1, phases.end);
    return phases;
}

StepOrder::StepOrder(const StepTimeline& step)
    : microbatches_(step.microbatches), vpp_(step.vpp), pp_(step.pp), placement_(step.placement) {
    readOps(step);
    phases_.resize(step.ranks.size());
    parallelGroups(step.ranks.size(), static_cast<std::size_t>(graph_->size()), [&](std::size_t r) {
        const std::span<const Op> works = graph_->opsOf(Rank{r});
        if (optimizers_[r].empty() || optimizers_[r].front().place >= works.size()) {
            phases_[r] = findPhases(works);
            return;
        }
        std::vector<Op> ops;
        for (const TimelineOp& op : step.ranks[r])
            ops.push_back(op.op);
        phases_[r] = findPhases(ops);
    });
}

void StepOrder::readOps(const StepTimeline& step) {
    OpLists lists{pp_, microbatches_, vpp_, placement_, {}, {0}};
    const std::size_t ranks = step.ranks.size();
    optimizers_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) { // as if optimizers came after all others, as they usually do
        const auto& ran = step.ranks[r];
        std::size_t works = ran.size();
        while (works > 0 && ran[works - 1].op.kind == OpKind::Optimizer)
            --works;
        lists.rank_begin.push_back(lists.rank_begin.back() + static_cast<OpIndex>(works));
    }
    resizeLarge(lists.ops, static_cast<std::size_t>(lists.rank_begin.back()));
    parallelGroups(ranks, lists.ops.size(), [&](std::size_t r) {
        auto op = lists.ops.begin() + lists.rank_begin[r];
        for (std::size_t i = 0; i < step.ranks[r].size(); ++i) {
            const Op& ran = step.ranks[r][i].op;
            if (ran.kind == OpKind::Optimizer) {
                optimizers_[r].push_back({i, ran});
            } else {
                *op++ = ran;
            }
        }
    });
    std::vector<OpIndex> missing(ranks); // unused entries at the end of a rank: one per optimizer op that does not come
                                         // last
    for (std::size_t r = 0; r < ranks; ++r) {
        const auto works = static_cast<std::size_t>(lists.rank_begin[r + 1] - lists.rank_begin[r]);
        missing[r] = static_cast<OpIndex>(std::ranges::count_if(
            optimizers_[r], [works](const Optimizer& optimizer) { return optimizer.place < works; }));
        optimizers_trail_ &= missing[r] == 0;
    }
    if (!optimizers_trail_) {
        OpLists dense{pp_, microbatches_, vpp_, placement_, {}, {0}};
        for (std::size_t r = 0; r < ranks; ++r) {
            const auto begin = lists.ops.begin();
            dense.ops.insert(dense.ops.end(), begin + lists.rank_begin[r],
                             begin + lists.rank_begin[r + 1] - missing[r]);
            dense.rank_begin.push_back(static_cast<OpIndex>(dense.ops.size()));
        }
        lists = std::move(dense);
    }
    graph_ = std::make_shared<const OpGraph>(std::move(lists));
}

bool StepOrder::isOf(const StepTimeline& step) const {
    if (step.pp != pp_ || step.microbatches != microbatches_ || step.vpp != vpp_) return false;
    if (step.placement != placement_ || step.ranks.size() != phases_.size()) return false;
    std::atomic<bool> same{true};
    parallelGroups(phases_.size(), static_cast<std::size_t>(graph_->size()), [&](std::size_t r) {
        if (same && !isRankOf(step, r)) same = false;
    });
    return same;
}

bool StepOrder::isRankOf(const StepTimeline& step, std::size_t r) const {
    const auto& ran = step.ranks[r];
    const std::span<const Op> works = graph_->opsOf(Rank{r});
    if (ran.size() != works.size() + optimizers_[r].size()) return false;
    auto work = works.begin();
    auto optimizer = optimizers_[r].begin();
    for (std::size_t i = 0; i < ran.size(); ++i) {
        const bool optimizes = optimizer != optimizers_[r].end() && optimizer->place == i;
        if (ran[i].op != (optimizes ? (optimizer++)->op : *work++)) return false;
    }
    return true;
}

namespace {

/// Calls visit(bubble) for each bubble of a rank whose ops run from startOf(i) to endOf(i).
template <class StartOf, class EndOf, class Visit>
void eachBubble(const StepTimeline& step, const StepOrder& order, Rank rank, StartOf startOf, EndOf endOf,
                Visit visit) {
    const std::size_t count = step.ranks[rank.index()].size();
    const Phases& phases = order.phases(rank);
    TimeNs covered = step.begin;
    const auto gap = [&](TimeNs until, std::size_t index) {
        const TimeNs end = std::min(until, step.end);
        if (end > covered) visit(Bubble{rank, gapPosition(phases, index), covered, end});
    };
    for (std::size_t i = 0; i < count; ++i) {
        gap(startOf(i), i);
        covered = std::max(covered, endOf(i));
    }
    gap(step.end, count);
}

template <class Visit>
void eachBubble(const StepTimeline& step, const StepOrder& order, Rank rank, Visit visit) {
    const auto& ops = step.ranks[rank.index()];
    eachBubble(
        step, order, rank, [&](std::size_t i) { return ops[i].start; }, [&](std::size_t i) { return ops[i].end; },
        visit);
}

} // namespace

std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step) {
    return findBubbles(step, StepOrder(step));
}

std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step, const StepOrder& order) {
    std::vector<std::vector<Bubble>> result(step.ranks.size());
    parallelGroups(result.size(), static_cast<std::size_t>(order.graph().size()), [&](std::size_t r) {
        std::size_t count = 0; // count first: the list stays with the step, and so would its spare capacity
        eachBubble(step, order, Rank{r}, [&](const Bubble&) { ++count; });
        result[r].reserve(count);
        eachBubble(step, order, Rank{r}, [&](const Bubble& bubble) { result[r].push_back(bubble); });
    });
    return result;
}

std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order) {
    std::vector<PerPosition<TimeNs>> result(step.ranks.size());
    for (std::size_t r = 0; r < result.size(); ++r) {
        eachBubble(step, order, Rank{r},
                   [&](const Bubble& bubble) { result[r][positionIndex(bubble.position)] += bubble.duration(); });
    }
    return result;
}

std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order,
                                                   std::span<const TimeNs> starts) {
    std::vector<PerPosition<TimeNs>> result(step.ranks.size());
    parallelGroups(result.size(), starts.size(), [&](std::size_t r) {
        const auto& ops = step.ranks[r];
        auto next = static_cast<std::size_t>(order.graph().firstOf(Rank{r})); // index in `starts`
        TimeNs end{0};                                                        // of the current op
        const auto startOf = [&](std::size_t i) {
            const bool moves = ops[i].op.kind != OpKind::Optimizer;
            const TimeNs start = moves ? starts[next++] : ops[i].start;
            end = start + ops[i].duration();
            return start;
        };
        PerPosition<TimeNs> sums{};
        eachBubble(
            step, order, Rank{r}, startOf, [&](std::size_t) { return end; },
            [&](const Bubble& bubble) { sums[positionIndex(bubble.position)] += bubble.duration(); });
        result[r] = sums;
    });
    return result;
}

BubbleRates bubbleRates(const StepTimeline& step) {
    struct Span {
        TimeNs length{0}; ///< from the first op's start to the last end
        TimeNs busy{0};
    };
    std::vector<Span> spans(step.ranks.size());
    std::size_t ops_of_step = 0;
    for (const auto& ops : step.ranks)
        ops_of_step += ops.size();
    parallelGroups(spans.size(), ops_of_step, [&](std::size_t r) {
        TimeNs busy{0};
        TimeNs covered = step.begin;
        TimeNs first = step.end;
        for (const TimelineOp& op : step.ranks[r]) {
            if (op.start >= step.end) break;
            first = std::min(first, op.start);
            const TimeNs from = std::max(covered, op.start);
            const TimeNs to = std::min(op.end, step.end);
            if (to > from) busy += to - from;
            covered = std::max(covered, to);
        }
        spans[r] = {covered - first, busy};
    });
    TimeNs busy_total{0};
    TimeNs busiest{0};
    Span longest;
    for (const Span& span : spans) {
        busy_total += span.busy;
        busiest = std::max(busiest, span.busy);
        if (span.length > longest.length) longest = span;
    }
    const TimeNs capacity = step.wall() * static_cast<std::int64_t>(step.ranks.size());
    return {fractionOf(capacity - busy_total, capacity), fractionOf(longest.length - longest.busy, longest.length),
            fractionOf(step.wall() - busiest, busiest)};
}

} // namespace bubblescope
