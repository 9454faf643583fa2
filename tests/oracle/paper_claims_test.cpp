// Claims of papers, frameworks and talks in formulas, each compared with our orders when simulated: equal,
// or different in the way stated here.

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/theory/closed_form.h"
#include "tests/oracle/paper_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace bubblescope {
namespace {

using test::Json;
using test::paperEntriesOf;
using test::runOf;
using test::splitCosts;

Json claimOf(std::string_view what) {
    return paperEntriesOf(what).front().at("expected");
}

CostModel equalTimes(std::int64_t unit = 6) {
    return splitCosts(TimeNs{unit}, TimeNs{unit}, TimeNs{unit});
}

/// Idle time of the rank with most of it.
std::int64_t largestIdle(const StepTimeline& step) {
    std::int64_t largest = 0;
    for (const auto& ops : step.ranks) {
        std::int64_t busy = 0;
        TimeNs covered{0};
        for (const TimelineOp& op : ops) {
            if (op.end > covered) busy += (op.end - std::max(op.start, covered)).count();
            covered = std::max(covered, op.end);
        }
        largest = std::max(largest, step.wall().count() - busy);
    }
    return largest;
}

/// Known difference. The README's rates are limits for many ranks: its B = (p−1)/(m+p−1) is exact for 1F1B, ZB1P's
/// B/3 is the span's rate up to the shorter span, and the two zeros are of the span, while the makespan's idle
/// time of ZB2P and ZBV is (p−1)·T_F.
TEST(PaperClaims, SailReadmeTable) {
    const Json claim = claimOf("sail-sg README comparison table");
    ASSERT_EQ(claim.at("ZB1P").at("rate"), "B/3");
    ASSERT_EQ(claim.at("ZBV").at("rate"), "0");
    for (const int p : {4, 8, 16}) {
        const int m = 3 * p;
        const CostModel costs = equalTimes();
        const double b = static_cast<double>(p - 1) / (m + p - 1);
        const StepTimeline one = runOf({"1f1b", "", p, m, 1}, costs);
        const StepTimeline h1 = runOf({"zb-h1", "handcrafted", p, m, 1}, costs);
        const StepTimeline h2 = runOf({"zb-h2", "", p, m, 1}, costs);
        const StepTimeline zbv = runOf({"zb-v", "greedy", p, m, 2}, costs);
        EXPECT_DOUBLE_EQ(bubbleRates(one).over_makespan, b);
        EXPECT_DOUBLE_EQ(bubbleRates(h1).span, (p - 1) / (3.0 * m + p - 1));
        EXPECT_NEAR(bubbleRates(h1).span, b / 3, b * b); // second order in B
        EXPECT_EQ(bubbleRates(h2).span, 0);
        EXPECT_EQ(bubbleRates(zbv).span, 0);
        EXPECT_EQ(largestIdle(h2), (p - 1) * costs.times.forward.count());
        EXPECT_EQ(largestIdle(zbv), (p - 1) * costs.times.forward.count());
        // Activations in those of 1F1B's first rank: 1x, about 2x, 1x (of half a stage's layers each, twice as many).
        EXPECT_EQ(std::ranges::max(peakActivations(executedOrder(h1))), p);
        EXPECT_EQ(std::ranges::max(peakActivations(executedOrder(h2))), 2 * p - 1);
        EXPECT_LE(std::ranges::max(peakActivations(executedOrder(zbv))), 2 * p);
    }
}

/// The table is of activations in micro-batches; one holds two chunks. Its rates are limits, the exact idle times at
/// T_F = T_B = T_W lie below: V-Half 6·⌊(p−1)/2⌋−1 and V-Min 4p−5 (4p−7 where 3 divides p) chunk units.
TEST(PaperClaims, ControllableMemorySpace) {
    const Json claim = claimOf("HF space description (controllable memory)");
    ASSERT_EQ(claim.at("V-Half").at("act_microbatches"), "(p+2)//2");
    ASSERT_EQ(claim.at("V-Min").at("act_microbatches"), "(p+4)//3");
    for (int p = 3; p <= 16; ++p) {
        const CostModel costs = equalTimes(1);
        const StepTimeline half = runOf({"v-half", "", p, 3 * p, 2}, costs);
        const StepTimeline least = runOf({"v-min", "", p, 3 * p, 2}, costs);
        EXPECT_EQ(std::ranges::max(peakActivations(executedOrder(half))), 2 * ((p + 2) / 2)) << p;
        EXPECT_EQ(std::ranges::max(peakActivations(executedOrder(least))), 2 * ((p + 4) / 3)) << p;
        EXPECT_EQ(largestIdle(half), 6 * ((p - 1) / 2) - 1) << p;
        EXPECT_EQ(largestIdle(least), 4 * p - (p % 3 == 0 ? 7 : 5)) << p;
    }
}

/// DeepSeek's B is the whole backward. Exact for I = F, W ≤ F; for the largest idle time of all ranks.
TEST(PaperClaims, DualPipeReadmeTable) {
    const Json claim = claimOf("DualPipe README bubble table");
    ASSERT_EQ(claim.at("DualPipe").at("bubble"), "(PP/2-1)(F&B+B-3W)");
    ASSERT_EQ(claim.at("ZB1P").at("bubble"), "(PP-1)(F+B-2W)");
    for (const int pp : {4, 6, 8, 12}) {
        for (const auto& [f, w, pair] : {std::tuple(10, 10, 30), std::tuple(10, 6, 22), std::tuple(10, 3, 18)}) {
            CostModel costs = splitCosts(TimeNs{f}, TimeNs{f}, TimeNs{w});
            const std::int64_t b = f + w;
            EXPECT_EQ(largestIdle(runOf({"1f1b", "", pp, 3 * pp, 1}, costs)), (pp - 1) * (f + b));
            EXPECT_EQ(largestIdle(runOf({"zb-h1", "handcrafted", pp, 3 * pp, 1}, costs)), (pp - 1) * (f + b - 2 * w));
            costs.overlapped = TimeNs{pair};
            const std::int64_t bubble = (pp / 2 - 1) * (pair + b - 3 * w);
            const StepTimeline two_ways = runOf({"dualpipe", "", pp, 4 * pp, 2}, costs);
            EXPECT_EQ(largestIdle(two_ways), bubble) << pp << " " << pair;
            EXPECT_EQ(std::ranges::max(peakActivations(executedOrder(two_ways))), pp + 1);
            // DualPipeV needs half the devices: the same form with PP = 2p.
            EXPECT_EQ(largestIdle(runOf({"dualpipev", "", pp / 2, 4 * pp, 2}, costs)), bubble) << pp << " " << pair;
        }
    }
}

TEST(PaperClaims, DualPipeReadmeFigure) {
    const Json entry = paperEntriesOf("DualPipe README figure").front();
    CostModel costs = equalTimes(1);
    costs.overlapped = TimeNs{3};
    const StepTimeline step =
        runOf({"dualpipe", "", entry.at("params").at("p").get<int>(), entry.at("params").at("m").get<int>(), 2}, costs);
    EXPECT_EQ(step.wall().count(), entry.at("expected").at("makespan").get<int>());
    EXPECT_EQ(largestIdle(step), entry.at("expected").at("idle_per_rank").get<int>());
}

/// DualPipeV with every backward of the cool-down whole, as MindSpeed runs it by default.
Schedule wholeCooldown(Schedule schedule) {
    for (auto& ops : schedule.ranks) {
        const auto last_forward =
            std::ranges::find(ops.rbegin(), ops.rend(), OpKind::Forward, &Op::kind).base() - ops.begin();
        std::set<Op> whole;
        for (auto i = static_cast<std::size_t>(last_forward); i < ops.size(); ++i) {
            if (ops[i].kind != OpKind::BackwardInput) continue;
            ops[i].kind = OpKind::Backward;
            whole.insert({OpKind::BackwardWeight, ops[i].microbatch, ops[i].chunk});
        }
        std::erase_if(ops, [&](const Op& op) { return whole.contains(op); });
    }
    return schedule;
}

/// Known difference. MindSpeed's (PP−1)(F&B+B−W)−F is short by its −F: such an order idles (PP−1)(F&B+B−W).
TEST(PaperClaims, MindSpeedDualPipeV) {
    ASSERT_EQ(claimOf("MindSpeed DualPipeV doc table").at("DualPipeV"), "(PP-1)*(F&B+B-W)-F");
    for (const int p : {2, 4, 8}) {
        for (const auto& [f, w] : {std::tuple(10, 10), std::tuple(10, 6)}) {
            const CostModel costs = splitCosts(TimeNs{f}, TimeNs{f}, TimeNs{w});
            const Schedule schedule = wholeCooldown(makeSchedule({"dualpipev", "", p, 4 * p, 2}).value());
            const std::int64_t b = f + w;
            EXPECT_EQ(largestIdle(simulate(schedule, costs).value()), (p - 1) * (f + b + b - w)) << p << " " << w;
            EXPECT_EQ(largestIdle(runOf({"interleaved", "", p, 4 * p, 2}, costs)), (p - 1) * (f + b)); // its VPP row
        }
    }
}

TEST(PaperClaims, ChimeraAndBitPipeRatios) {
    ASSERT_EQ(claimOf("Chimera bubble ratio"), "(D-2)/(2N+D-2)");
    ASSERT_EQ(claimOf("BitPipe bubble ratio"), "(D-2)/(4N+D-2)");
    CostModel equal;
    equal.times = makeOpTimes(TimeNs{6}, TimeNs{6}, {}, {}).value();
    CostModel twice;
    twice.times = makeOpTimes(TimeNs{6}, TimeNs{12}, {}, {}).value();
    const auto rate = [](const char* name, int d, int n, int v, const CostModel& costs) {
        return bubbleRates(runOf({name, "", d, n, v}, costs)).over_makespan;
    };
    for (const int d : {4, 6, 8}) {
        for (int k = 1; k <= (d == 4 ? 4 : 2); ++k) {
            const int n = k * d;
            EXPECT_DOUBLE_EQ(rate("chimera", d, n, 2, equal), (d - 2) / (2.0 * n + d - 2)) << d << " " << n;
            EXPECT_DOUBLE_EQ(rate("bitpipe", d, n, 4, equal), (d - 2) / (4.0 * n + d - 2)) << d << " " << n;
        }
        EXPECT_DOUBLE_EQ(rate("chimera", d, d, 2, twice), (d - 2) / (1.5 * d + d - 2));
        EXPECT_DOUBLE_EQ(rate("bitpipe", d, d, 4, twice), (d - 2) / (3.0 * d + d - 2));
    }
}

TEST(PaperClaims, VictarryFormulas) {
    ASSERT_EQ(claimOf("Victarry formula.py").at("overlap_1f1b_total"),
              "(p-1)F/v+(p-1)B/v+(p(v-1)+1)(F+B)/v+(mv-(p(v-1)+1))FwB/v");
    ASSERT_EQ(claimOf("Victarry formula.py").at("dualpipe_v_bubble"), "(p-1)(FwB/2+B/2-3W/2)");
    for (int p = 2; p <= 6; ++p) {
        for (int v = 1; v <= 4; ++v) {
            for (const int pair : {20, 26, 30}) { // F = 10 and B = 20 a chunk; times above are v times as long
                CostModel costs = splitCosts(TimeNs{10}, TimeNs{10}, TimeNs{10});
                costs.overlapped = TimeNs{pair};
                const std::int64_t m = 3 * p;
                const std::int64_t apart = p * (v - 1) + 1;
                const StepTimeline step = runOf(
                    {v == 1 ? "1f1b-overlap" : "interleaved-overlap", v == 1 ? "combined" : "", p, 3 * p, v}, costs);
                EXPECT_EQ(step.wall().count(), (p - 1) * 30 + apart * 30 + (m * v - apart) * pair) << p << " " << v;
            }
        }
        CostModel costs = splitCosts(TimeNs{10}, TimeNs{10}, TimeNs{6});
        costs.overlapped = TimeNs{26};
        EXPECT_EQ(largestIdle(runOf({"dualpipev", "", p, 3 * p, 2}, costs)), (p - 1) * (26 + 16 - 18));
    }
}

TEST(PaperClaims, MegatronLegality) {
    ASSERT_TRUE(claimOf("Megatron-LM interleaved legality").at("rule").get<std::string>().starts_with("p <= N <= m"));
    int legal = 0;
    for (int p = 2; p <= 5; ++p) {
        for (int m = 1; m <= 4 * p + 1; ++m) {
            for (int n = 1; n <= m + 1; ++n) {
                const bool rule = p <= n && n <= m && (m % n == 0 || m % n >= p);
                ScheduleSpec spec{"interleaved", "megatron", p, m, 2};
                spec.group_size = n;
                ASSERT_EQ(makeSchedule(spec).ok(), rule) << p << " " << m << " " << n;
                if (!rule) continue;
                EXPECT_EQ(largestIdle(runOf(spec, equalTimes())), (p - 1) * 18);
                ++legal;
            }
        }
    }
    EXPECT_GT(legal, 100);
}

/// Idle time of the deck's positions, in the deck's words: before the first op, in the middle two, after the last.
struct Positions {
    std::int64_t before;
    std::int64_t middle_1;
    std::int64_t middle_2;
    std::int64_t after;
    friend bool operator==(const Positions&, const Positions&) = default;
};

Positions positionsOf(const ClosedForm& form, int rank, bool f_then_b) {
    const Rank s{rank};
    const Position middle_1 = f_then_b ? Position::ForwardToBackward : Position::WarmupToSteady;
    return {form.at(s, Position::BeforeWarmup).count(), form.at(s, middle_1).count(),
            form.at(s, Position::SteadyToCooldown).count(), form.at(s, Position::AfterCooldown).count()};
}

TEST(PaperClaims, DeckFThenB) {
    ASSERT_EQ(claimOf("deck: FThenB bubble positions").at("between"), "(p-s-1)(tf+tb)");
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{3}, TimeNs{5}, {}, {}).value();
    for (int p = 1; p <= 6; ++p) {
        const Schedule schedule = makeSchedule({"fthenb", "", p, 7, 1}).value();
        const StepTimeline step = simulate(schedule, costs).value();
        for (int s = 0; s < p; ++s) {
            const auto& ops = step.ranks[static_cast<std::size_t>(s)];
            EXPECT_EQ(ops.front().start.count(), s * 3);
            EXPECT_EQ((ops[7].start - ops[6].end).count(), (p - s - 1) * 8);
            EXPECT_EQ((step.wall() - ops.back().end).count(), s * 5);
            EXPECT_EQ(positionsOf(closedForm(schedule, costs).value(), s, true),
                      (Positions{s * 3, (p - s - 1) * 8, 0, s * 5}));
        }
    }
}

/// Whether 1F1B can run with idle time at these four places and nowhere else.
bool feasible(const Schedule& schedule, std::int64_t f, std::int64_t b, const std::vector<Positions>& idle) {
    const int p = schedule.pp;
    std::map<std::tuple<OpKind, int, int>, std::int64_t> ends; // kind, rank, micro-batch
    for (int s = 0; s < p; ++s) {
        const auto& ops = schedule.ranks[static_cast<std::size_t>(s)];
        const Positions& at = idle[static_cast<std::size_t>(s)];
        const auto edge = static_cast<std::size_t>(p - s - 1); // ops of warm-up, and of cool-down
        std::int64_t now = at.before;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (i == edge) now += at.middle_1;
            if (i == ops.size() - edge) now += at.middle_2;
            now += ops[i].kind == OpKind::Forward ? f : b;
            ends[{ops[i].kind, s, ops[i].microbatch.value}] = now;
        }
    }
    return std::ranges::all_of(ends, [&](const auto& op) {
        const auto& [kind, s, microbatch] = op.first;
        const bool forward = kind == OpKind::Forward;
        const int from = forward ? s - 1 : s + 1;
        if (from < 0 || from >= p) return true;
        return op.second - (forward ? f : b) >= ends.at({kind, from, microbatch});
    });
}

/// Known difference. The deck's two inner terms are swapped: with them 1F1B cannot run wherever t_f ≠ t_b, with ours
/// always.
TEST(PaperClaims, DeckOneFOneBHasTheInnerTermsSwapped) {
    const Json claim = claimOf("deck: 1F1B bubble positions");
    ASSERT_EQ(claim.at("before_steady"), "(p-s-1)*tf");
    ASSERT_EQ(claim.at("after_steady"), "(p-s-1)*tb");
    for (int p = 2; p <= 6; ++p) {
        for (const auto& [f, b] : {std::pair(4, 4), std::pair(2, 3), std::pair(3, 2), std::pair(1, 3)}) {
            CostModel costs;
            costs.times = makeOpTimes(TimeNs{f}, TimeNs{b}, {}, {}).value();
            const Schedule schedule = makeSchedule({"1f1b", "", p, 3 * p, 1}).value();
            const ClosedForm form = closedForm(schedule, costs).value();
            std::vector<Positions> decks;
            std::vector<Positions> ours;
            for (int s = 0; s < p; ++s) {
                decks.push_back({s * f, (p - s - 1) * f, (p - s - 1) * b, s * b});
                ours.push_back(positionsOf(form, s, false));
                EXPECT_EQ(ours.back(), (Positions{s * f, (p - s - 1) * b, (p - s - 1) * f, s * b}));
            }
            EXPECT_TRUE(feasible(schedule, f, b, ours)) << f << " " << b;
            EXPECT_EQ(feasible(schedule, f, b, decks), f == b) << f << " " << b;
        }
    }
}

TEST(PaperClaims, DeckElevenBubbles) {
    const Json claim = claimOf("deck: unbalanced VPP");
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{1}, TimeNs{1}, {}, {}).value();
    const StepTimeline step = runOf({"interleaved", "unbalanced", 4, 5, 2}, costs);
    EXPECT_EQ(step.wall().count(), claim.at("makespan").get<int>());
    EXPECT_EQ(largestIdle(step), claim.at("idle_per_rank").get<int>());
    EXPECT_NEAR(bubbleRates(step).over_makespan, claim.at("bubble_rate").get<double>(), 5e-7);
    EXPECT_EQ(largestIdle(runOf({"interleaved", "balanced", 4, 5, 2}, costs)), 6); // the optimum
}

} // namespace
} // namespace bubblescope
