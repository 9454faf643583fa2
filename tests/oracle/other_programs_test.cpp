// Outputs of other programs that are more than plain job lists: lists with transfers or hooks between the jobs, greedy
// simulators'
// orders, a drawing, makespans, and lists in which the bubbles are forced.

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

using test::Json;

ScheduleSpec specOf(const Json& one, const std::string& family, const std::string& flavor) {
    return test::specOf(one, family, flavor);
}

TEST(OtherPrograms, PaddlesListsWithTransfersHoldTheSameJobs) {
    test::expectEqual({"paddle/1f1b_pir.json", "1f1b", "", 32});
}

TEST(OtherPrograms, PaddlesListsWithBubbleHooksHoldTheSameJobs) {
    std::map<std::string, int> equal;
    for (const Json& one : test::oracleCases("paddle/dygraph_bubble_hooks.json")) {
        const auto type = one.at("class").get<std::string>();
        const auto spec = type == "PipelineParallelWithInterleave" ? specOf(one, "interleaved", "paddle-dynamic")
                                                                   : specOf(one, "vpp-balanced-memory", "paddle");
        EXPECT_TRUE(test::sameOrder(one, spec)) << type << one.at("params").dump();
        ++equal[type];
    }
    EXPECT_EQ(equal["PipelineParallelWithInterleave"], 39);
    EXPECT_EQ(equal["VPPFhenBInBalancedMemory(+PR#74100 hooks)"], 22);
}

/// Paddle's newer scheduler classes order VPP as PyTorch does; m < p and remainders included.
TEST(OtherPrograms, PaddlesScheduleClassesEqualPyTorch) {
    test::expectEqual({"paddle/pp_schedules_vpp.json", "interleaved", "torch", 89});
}

/// minPP's V orders come from a greedy simulation with ticks of one op. Its own notes say that they are not the
/// papers'; a user's own file may contain them: we accept them as valid and run them with its times.
TEST(OtherPrograms, MinPpsGreedyOrdersRunAsCustomSchedules) {
    for (const char* const file : {"minpp/vshape_zb.json", "minpp/dualpipev.json"}) {
        int run = 0;
        for (const Json& one : test::oracleCases(file)) {
            Schedule schedule;
            schedule.name = "custom";
            schedule.pp = test::param(one, {"p"}, 0);
            schedule.microbatches = test::param(one, {"m"}, 0);
            schedule.vpp = 2;
            schedule.placement = Placement::V;
            schedule.ranks = test::oracleOrder(one);
            EXPECT_TRUE(validate(schedule).empty()) << file << one.at("params").dump();
            CostModel costs = test::costsOf(one);
            costs.overlapped = costs.times.forward + costs.times.backward;
            const auto step = simulate(schedule, costs);
            ASSERT_TRUE(step.ok()) << step.error().text();
            // The tool starts ops at whole ticks of all ranks, so never before our simulation does.
            EXPECT_LE(step.value().wall().count(), std::llround(1000 * one.at("makespan").get<double>())) << file;
            ++run;
        }
        EXPECT_EQ(run, 14) << file;
    }
}

TEST(OtherPrograms, PyTorchsDrawingOfInterleavedZeroBubble) {
    const auto events = test::oracleList("torch/dump_chrometrace_InterleavedZeroBubble_pp2_mb4_v2.json", "traceEvents");
    const Schedule schedule = makeSchedule({"interleaved-zb", "torch", 2, 4, 2}).value();
    std::vector<std::vector<std::pair<int, std::string>>> drawn(2);
    for (const Json& event : events)
        drawn.at(event.at("pid").get<std::size_t>()).emplace_back(event.at("ts").get<int>(), event.at("name"));
    for (std::size_t r = 0; r < drawn.size(); ++r) {
        std::ranges::sort(drawn[r]);
        ASSERT_EQ(drawn[r].size(), schedule.ranks[r].size());
        for (std::size_t i = 0; i < drawn[r].size(); ++i) {
            const Op& op = schedule.ranks[r][i];
            EXPECT_EQ(drawn[r][i].second, std::to_string(schedule.stageOf(Rank{r}, op.chunk).value) +
                                              opLetter(op.kind) + std::to_string(op.microbatch.value));
        }
    }
}

/// Our family for each of Paddle's schedulers.
const std::map<std::string, std::pair<const char*, const char*>> kPaddle{
    {"fthenb", {"fthenb", ""}},
    {"1f1b", {"1f1b", ""}},
    {"1f1b_pir", {"1f1b", ""}},
    {"eager1f1b", {"eager-1f1b", ""}},
    {"zbh1", {"zb-h1", "paddle"}},
    {"vpp", {"interleaved", "paddle-static"}},
    {"vpp_split_backward", {"interleaved", "paddle-static-split"}},
    {"dygraph_1f1b", {"1f1b", ""}},
    {"dygraph_interleave", {"interleaved", "paddle-dynamic"}},
    {"dygraph_interleave_best_unbalanced", {"interleaved", "paddle-dynamic-best-unbalanced"}},
    {"dygraph_interleave_fthenb", {"interleaved-fthenb", "paddle"}},
    {"dygraph_vpp_balanced_memory", {"vpp-balanced-memory", "paddle"}},
    {"dualpipev", {"dualpipev", "paddle"}},
    {"pp_schedules_vpp", {"interleaved", "torch"}},
};

/// Compares a run with one of the summary's. That simulation runs the halves of a pair one by one.
void expectSummary(Schedule schedule, const CostModel& costs, const Json& summary, const std::string& what) {
    for (auto& ops : schedule.ranks) {
        for (Op& op : ops)
            op.overlapped = false;
    }
    const auto step = simulate(schedule, costs);
    ASSERT_EQ(step.ok(), summary.at("status") == "ok") << what;
    if (!step.ok()) return;
    const auto thousandths = [](const Json& value) { return std::llround(1000 * value.get<double>()); };
    EXPECT_EQ(step.value().wall().count(), thousandths(summary.at("makespan"))) << what;
    for (std::size_t r = 0; r < step.value().ranks.size(); ++r) {
        TimeNs idle = step.value().wall();
        for (const TimelineOp& op : step.value().ranks[r])
            idle -= op.duration();
        EXPECT_EQ(idle.count(), thousandths(summary.at("idle")[r])) << what << " rank " << r;
    }
}

/// Makespan and idle time per rank of every size of every scheduler, from a simulation that is not ours.
TEST(OtherPrograms, MakespansAndIdleTimesOfPaddlesSchedulers) {
    int compared = 0;
    for (const auto& [name, ours] : kPaddle) {
        for (const Json& one : test::oracleList("paddle/sim_summary.json", "families/" + name)) {
            const auto schedule = makeSchedule(specOf(one, ours.first, ours.second));
            ASSERT_TRUE(schedule.ok()) << name << schedule.error().text();
            for (const auto& [key, backward] : {std::pair("tf1_tb1", 1000), std::pair("tf1_tb2", 2000)}) {
                CostModel costs;
                costs.times = makeOpTimes(TimeNs{1000}, TimeNs{backward}, {}, {}).value();
                expectSummary(schedule.value(), costs, one.at(key), name + one.at("params").dump());
                ++compared;
            }
        }
    }
    for (const char* const name : {"zbvpp", "zbvpp_memory_limited"}) {
        for (const Json& one : test::oracleList("paddle/sim_summary.json", std::string("families/") + name)) {
            const ScheduleSpec spec = test::paddleZbVSpec(one);
            Schedule schedule = makeSchedule(spec).value();
            if (one.at("params").contains("mem_after_and_peak")) schedule.ranks = test::paddleZbVLimited(one).value();
            CostModel costs;
            costs.times =
                makeOpTimes(1000 * spec.times.forward, {}, 1000 * spec.times.input_grad, 1000 * spec.times.weight_grad)
                    .value();
            costs.comm = 1000 * spec.comm;
            expectSummary(schedule, costs, one.at("own_runtimes_without_loss"), name + one.at("params").dump());
            ++compared;
        }
    }
    RecordProperty("compared", compared);
    EXPECT_EQ(compared, 2 * 965 + 380 + 76);
}

/// The makespan when each rank waits `gap_1` after its warm-up and `gap_2` before its cool-down, and sends nothing
/// later for it; s·t_f before its first op.
std::int64_t forcedMakespan(const Schedule& schedule, const std::vector<int>& startup, std::int64_t tf, std::int64_t tb,
                            bool swapped) {
    const int p = schedule.pp;
    std::map<std::tuple<OpKind, int, int>, std::int64_t> ends; // kind, stage, micro-batch
    std::vector<std::size_t> next(schedule.ranks.size(), 0);
    std::vector<std::int64_t> now(schedule.ranks.size());
    std::int64_t last = 0;
    for (bool going = true; going;) {
        going = false;
        for (std::size_t r = 0; r < next.size(); ++r) {
            const auto s = static_cast<int>(r);
            const auto& ops = schedule.ranks[r];
            const std::int64_t gap_1 = (p - 1 - s) * (swapped ? tb : tf);
            const std::int64_t gap_2 = (p - 1 - s) * (swapped ? tf : tb);
            if (next[r] == 0) now[r] = s * tf;
            while (next[r] < ops.size()) {
                const Op& op = ops[next[r]];
                const int stage = schedule.stageOf(Rank{s}, op.chunk).value;
                const bool forward = op.kind == OpKind::Forward;
                const int from = forward ? stage - 1 : stage + 1;
                std::int64_t ready = 0;
                if (from >= 0 && from < schedule.stages()) {
                    const auto found = ends.find({op.kind, from, op.microbatch.value});
                    if (found == ends.end()) break;
                    ready = found->second;
                }
                std::int64_t wait = 0;
                if (next[r] == static_cast<std::size_t>(startup[r])) wait += gap_1;
                if (next[r] == ops.size() - static_cast<std::size_t>(startup[r])) wait += gap_2;
                now[r] = std::max(now[r] + wait, ready) + (forward ? tf : tb);
                ends[{op.kind, stage, op.microbatch.value}] = now[r];
                last = std::max(last, now[r] + s * tb);
                ++next[r];
                going = true;
            }
        }
    }
    return last;
}

/// Zheng's (2024) split of the middle bubble made explicit, and the other way round: it lengthens the step
/// wherever the oracle says so, ours keeps it in all orders but dynamic VPP's exceptions.
TEST(OtherPrograms, ForcedBubblesLengthenTheStepAsPaddlesOrdersDo) {
    int rows = 0;
    int decks_longer = 0;
    for (const Json& one : test::oracleList("paddle/forced_bubbles.json", "cases")) {
        const auto& ours = kPaddle.at(one.at("family"));
        const Schedule schedule = makeSchedule(specOf(one, ours.first, ours.second)).value();
        const auto startup = one.at("startup").get<std::vector<int>>();
        for (const Json& row : one.at("rows")) {
            const std::int64_t tf = row.at(0).get<int>();
            const std::int64_t tb = row.at(1).get<int>();
            CostModel costs;
            costs.times = makeOpTimes(TimeNs{tf}, TimeNs{tb}, {}, {}).value();
            EXPECT_EQ(simulate(schedule, costs).value().wall().count(), row.at(2).get<int>());
            EXPECT_EQ(forcedMakespan(schedule, startup, tf, tb, false), row.at(3).get<int>())
                << one.at("family") << one.at("params").dump() << row.dump();
            EXPECT_EQ(forcedMakespan(schedule, startup, tf, tb, true), row.at(4).get<int>())
                << one.at("family") << one.at("params").dump() << row.dump();
            decks_longer += row.at(3) > row.at(2) ? 1 : 0;
            ++rows;
        }
    }
    EXPECT_EQ(rows, 198 * 4);
    EXPECT_GT(decks_longer, 200);
}

} // namespace
} // namespace bubblescope
