// Ops that run while receives are pending, against a simulation that advances a nanosecond at a time.

#include "core/families/registry.h"
#include "core/graph/lowered_graph.h"
#include "core/graph/simulate_lowered.h"
#include "core/lowering/torch_lowering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using Ticks = std::int64_t;

/// Applies the rules of LoweredGraph and QueueModel::receive_share in every nanosecond, until nothing changes any more.
class Reference {
public:
    Reference(const LoweredGraph& graph, const CostModel& costs, int share)
        : graph_(graph), costs_(costs), share_(share), passed_(actions()), ended_(actions()), begun_(actions()),
          work_(actions(), 0), head_(static_cast<std::size_t>(graph.eventCount() - 2 * graph.actionCount())) {}

    void run() {
        for (now_ = 0; !isDone(); ++now_) {
            while (settle()) {
            }
            for (ActionIndex index = 0; index < graph_.actionCount(); ++index) {
                if (begun_[at(index)] && !passed_[at(index)])
                    work_[at(index)] -= 100 - std::min(99, share_ * pending(graph_.rank(index)));
            }
        }
    }

    [[nodiscard]] Ticks begun(ActionIndex op) const { return *begun_[at(op)]; }
    [[nodiscard]] Ticks passed(ActionIndex index) const { return *passed_[at(index)]; }
    [[nodiscard]] Ticks ended(ActionIndex index) const { return *ended_[at(index)]; }

private:
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] std::size_t actions() const { return at(graph_.actionCount()); }

    [[nodiscard]] bool isDone() const {
        const auto has = [](const std::optional<Ticks>& time) { return time.has_value(); };
        return std::ranges::all_of(passed_, has) && std::ranges::all_of(ended_, has);
    }

    [[nodiscard]] int pending(Rank rank) const {
        int count = 0;
        for (ActionIndex index = graph_.firstOf(rank); index < graph_.endOf(rank); ++index) {
            if (isReceive(graph_.action(index).kind) && head_[at(graph_.callOf(index))] && !ended_[at(index)]) ++count;
        }
        return count;
    }

    [[nodiscard]] Ticks durationOf(ActionIndex index) const {
        const Rank rank = graph_.rank(index);
        const Op& op = graph_.lowered().order.ranks[rank.index()][at(graph_.action(index).op)];
        const OpTimes& times = costs_.stages[graph_.lowered().order.stageOf(rank, op.chunk).index()];
        return times.of(op.kind).count();
    }

    /// Does what can be done now; true if there was anything.
    bool settle() {
        bool any = false;
        const auto happens = [&](std::optional<Ticks>& time, bool can) {
            if (time || !can) return;
            time = now_;
            any = true;
        };
        const auto ended = [this](ActionIndex index) { return ended_[at(index)].has_value(); };
        for (ActionIndex index = 0; index < graph_.actionCount(); ++index) {
            const bool first = index == graph_.firstOf(graph_.rank(index));
            const bool ready = (first || passed_[at(index - 1)]) && std::ranges::all_of(graph_.inputs(index), ended) &&
                               std::ranges::all_of(graph_.sideInputs(index), ended);
            if (graph_.action(index).kind == ActionKind::Compute) {
                if (ready && !begun_[at(index)]) {
                    begun_[at(index)] = now_;
                    work_[at(index)] = 100 * durationOf(index);
                    any = true;
                }
                happens(passed_[at(index)], begun_[at(index)] && work_[at(index)] <= 0);
            } else {
                happens(passed_[at(index)], ready);
            }
            happens(ended_[at(index)], canEnd(index));
        }
        for (std::size_t call = 0; call < head_.size(); ++call) {
            const LoweredGraph::Call& here = graph_.call(static_cast<std::int32_t>(call));
            happens(head_[call], passed_[at(here.posted)] &&
                                     (here.before < 0 || std::ranges::all_of(graph_.call(here.before).ends, ended)));
        }
        return any;
    }

    [[nodiscard]] bool canEnd(ActionIndex index) const {
        if (graph_.callOf(index) < 0)
            return passed_[at(index)] &&
                   (graph_.sideBefore(index) == kNoAction || ended_[at(graph_.sideBefore(index))]);
        const std::optional<Ticks> mine = head_[at(graph_.callOf(index))];
        if (!mine) return false;
        const ActionIndex other = graph_.otherEnd(index);
        if (other == kNoAction || graph_.isEager(index)) return true;
        const std::optional<Ticks> theirs = head_[at(graph_.callOf(other))];
        if (!theirs) return false;
        return now_ >= (graph_.isEager(other) ? *theirs : std::max(*mine, *theirs)) + costs_.comm.count();
    }

    const LoweredGraph& graph_;
    const CostModel& costs_;
    int share_;
    Ticks now_ = 0;
    std::vector<std::optional<Ticks>> passed_;
    std::vector<std::optional<Ticks>> ended_;
    std::vector<std::optional<Ticks>> begun_;
    std::vector<Ticks> work_;
    std::vector<std::optional<Ticks>> head_; ///< by call
};

struct Order {
    std::string name;
    int pp;
    int microbatches;
    int vpp;
};

TEST(ReceiveShare, EqualsASimulationOfEveryNanosecond) {
    constexpr std::array kShares{0, 1, 10, 33, 40, 99};
    constexpr std::array kKinds{CommunicatorKind::Tag, CommunicatorKind::One, CommunicatorKind::Direction,
                                CommunicatorKind::Edge, CommunicatorKind::Pair};
    const std::vector<Order> orders{{"1f1b", 3, 4, 1},
                                    {"fthenb", 2, 4, 1},
                                    {"interleaved", 2, 4, 2},
                                    {"zb-v", 2, 4, 2},
                                    {"interleaved-zb", 2, 4, 2}};
    std::mt19937 random(7);
    const auto below = [&](int limit) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit)); };
    int compared = 0;
    int slowed = 0;
    for (int round = 0; round < 200; ++round) {
        const Order& shape = orders[static_cast<std::size_t>(below(static_cast<int>(orders.size())))];
        const Schedule order = makeSchedule({shape.name, "", shape.pp, shape.microbatches, shape.vpp}).value();
        TorchLowering options;
        options.defer_pp_recv = below(3) == 0;
        const LoweredSchedule lowered = lowerAsTorch(order, options).value();
        CostModel costs;
        for (int s = 0; s < order.stages(); ++s) {
            const TimeNs input{below(5)};
            const TimeNs weight{below(5)};
            OpTimes times = makeOpTimes(TimeNs{1 + below(6)}, input + weight, input, weight).value();
            costs.stages.push_back(times);
        }
        costs.times = costs.stages.front();
        costs.comm = TimeNs{below(5)};
        costs.transfers.activation_bytes = 100;
        costs.transfers.gradient_bytes = 200;
        QueueModel queues;
        queues.communicators.kind = kKinds[static_cast<std::size_t>(below(kKinds.size()))];
        queues.eager_bytes = 100 * below(3);
        queues.receive_share = kShares[static_cast<std::size_t>(below(kShares.size()))];
        const auto step = simulateLowered(lowered, costs, queues);
        if (!step.ok()) continue; // it hangs in these communicators
        const LoweredGraph graph(lowered, queues, {queues.eager_bytes >= 100, queues.eager_bytes >= 200});
        Reference reference(graph, costs, queues.receive_share);
        reference.run();
        QueueModel full = queues;
        full.receive_share = 0;
        const LoweredStep alone = simulateLowered(lowered, costs, full).value();
        SCOPED_TRACE(scheduleTitle(order) + ", share " + std::to_string(queues.receive_share) + ", round " +
                     std::to_string(round));
        for (int r = 0; r < order.pp; ++r) {
            std::size_t op = 0;
            std::size_t other = 0;
            for (ActionIndex index = graph.firstOf(Rank{r}); index < graph.endOf(Rank{r}); ++index) {
                if (graph.action(index).kind != ActionKind::Compute) {
                    const ActionTime& action = step.value().actions[Rank{r}.index()][other++];
                    if (isReceive(action.action.kind)) {
                        ASSERT_EQ(action.end.count(), reference.ended(index));
                    }
                    continue;
                }
                const TimelineOp& ran = step.value().step.ranks[Rank{r}.index()][op];
                ASSERT_EQ(ran.start.count(), reference.begun(index)) << opName(ran.op);
                ASSERT_EQ(ran.end.count(), reference.passed(index)) << opName(ran.op);
                const TimelineOp& free = alone.step.ranks[Rank{r}.index()][op++];
                ASSERT_GE(ran.end, free.end) << "a share never lets an op end earlier";
                slowed += ran.duration() > free.duration() ? 1 : 0;
            }
        }
        ++compared;
    }
    EXPECT_GT(compared, 100);
    EXPECT_GT(slowed, 200);
}

} // namespace
} // namespace bubblescope
