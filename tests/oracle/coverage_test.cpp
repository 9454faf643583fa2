// Every file of the oracles, and what answers for it. Orders are compared here once more, live, so that the table this
// prints is what the code does; a file that no row names fails the test.

#include "core/families/timed_orders.h"
#include "core/graph/validate.h"
#include "tests/oracle/order_match.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace bubblescope {
namespace {

using test::Json;

/// A file of orders: all of its cases but `differing` equal ours, op by op.
struct Orders {
    const char* file;
    const char* family;
    const char* flavor;
    int cases;
    int differing = 0;
    const char* note = "";
    const char* key = "jobs";
};

/// A file that holds something else, and the test that reads it.
struct Other {
    const char* file;
    const char* test;
};

constexpr const char* kGreedy = "a greedy simulator's own orders, says its README; run as custom schedules";
constexpr const char* kOffByOne = "the generator's last rank runs F1..Fm; `validate` shows it";

const std::vector<Orders> kOrders{
    {"bitpipe/bitpipe.json", "bitpipe", "", 18},
    {"chimera/chimera.json", "chimera", "", 12},
    {"deepseek-dualpipe/dualpipe.json", "dualpipe", "", 26},
    {"deepseek-dualpipe/dualpipev.json", "dualpipev", "deepseek", 51},
    {"megatron-lm/1f1b.json", "1f1b", "", 57},
    {"megatron-lm/interleaved_1f1b_ep_overlap.json", "interleaved-overlap", "", 49},
    {"megatron-lm/interleaved_1f1b_tunable.json", "interleaved", "megatron", 111},
    {"minpp/1f1b.json", "1f1b", "", 10},
    {"minpp/dualpipev.json", "dualpipev", "deepseek", 14, 14, kGreedy},
    {"minpp/eager1f1b.json", "eager-1f1b", "", 14},
    {"minpp/gpipe.json", "fthenb", "", 12},
    {"minpp/looped_bfs.json", "looped-bfs", "breadth-first", 11},
    {"minpp/vshape_zb.json", "zb-v", "handcrafted", 14, 14, kGreedy},
    {"minpp/zb1f1b.json", "zb-h1", "handcrafted", 10, 6, "greedy: for m > p it holds weight gradients back"},
    {"own-sim/1f1b_overlap.json", "1f1b-overlap", "combined", 20},
    {"own-sim/eager1f1b.json", "eager-1f1b", "", 58},
    {"own-sim/gpipe.json", "fthenb", "", 88},
    {"own-sim/looped_bfs.json", "looped-bfs", "breadth-first", 65},
    {"own-sim/unbalanced_vpp.json", "interleaved", "unbalanced, balanced, merged", 236},
    {"own-sim/zbh1.json", "zb-h1", "handcrafted", 133},
    {"own-sim/zbh2.json", "zb-h2", "", 95},
    {"paddle/1f1b.json", "1f1b", "", 38},
    {"paddle/1f1b_pir.json", "1f1b", "", 32, 0, "transfer jobs left out"},
    {"paddle/dualpipev.json", "dualpipev", "paddle", 37},
    {"paddle/dygraph_1f1b.json", "1f1b", "", 45},
    {"paddle/dygraph_interleave.json", "interleaved", "paddle-dynamic", 36},
    {"paddle/dygraph_interleave_best_unbalanced.json", "interleaved", "paddle-dynamic-best-unbalanced", 42},
    {"paddle/dygraph_interleave_fthenb.json", "interleaved-fthenb", "paddle", 30},
    {"paddle/dygraph_vpp_balanced_memory.json", "vpp-balanced-memory", "paddle", 31},
    {"paddle/eager1f1b.json", "eager-1f1b", "", 31},
    {"paddle/fthenb.json", "fthenb", "", 40},
    {"paddle/pp_schedules_vpp.json", "interleaved", "torch", 89, 0, "empty slots left out"},
    {"paddle/vpp.json", "interleaved", "paddle-static", 145},
    {"paddle/vpp_split_backward.json", "interleaved", "paddle-static-split", 15},
    {"paddle/zbh1.json", "zb-h1", "paddle", 34},
    {"paddle/zbvpp.json", "zb-v", "paddle", 257},
    {"paddle/zbvpp_memory_limited.json", "zb-v", "paddle", 45},
    {"sail-sg-zero-bubble/basic1f1b.json", "1f1b", "", 65},
    {"sail-sg-zero-bubble/group_interleaved_1f1b.json", "interleaved", "sail-sg", 34},
    {"sail-sg-zero-bubble/seq1f1b.json", "seq1f1b", "", 85},
    {"sail-sg-zero-bubble/v1f1b.json", "v-1f1b", "", 74},
    {"sail-sg-zero-bubble/v_half.json", "v-half", "", 92},
    {"sail-sg-zero-bubble/v_min.json", "v-min", "", 85},
    {"sail-sg-zero-bubble/vpp_interleaved_1f1b.json", "interleaved", "megatron", 71},
    {"sail-sg-zero-bubble/zb_heuristic.json", "zb-auto", "heuristic", 252},
    {"sail-sg-zero-bubble/zbv_handcrafted.json", "zb-v", "handcrafted", 85},
    {"sail-sg-zero-bubble/zbv_try_v_schedule.json", "zb-v", "greedy", 257},
    {"torch/1F1B.json", "1f1b", "", 38, 0, "as executed", "executed"},
    {"torch/1F1B.json", "1f1b", "", 38, 38, kOffByOne},
    {"torch/DualPipeV.json", "dualpipev", "torch", 22},
    {"torch/GPipe.json", "fthenb", "", 41, 0, "as executed", "executed"},
    {"torch/Interleaved1F1B.json", "interleaved", "torch", 121},
    {"torch/InterleavedZeroBubble.json", "interleaved-zb", "torch", 124},
    {"torch/LoopedBFS.json", "looped-bfs", "torch", 175},
    {"torch/ZBVZeroBubble.json", "zb-v", "torch", 53},
    {"victarry-pp-schedule-visualization/1f1b.json", "1f1b", "", 37},
    {"victarry-pp-schedule-visualization/1f1b_overlap.json", "1f1b-overlap", "combined", 31},
    {"victarry-pp-schedule-visualization/dualpipe.json", "dualpipe", "", 22, 0, "micro-batches numbered through"},
    {"victarry-pp-schedule-visualization/dualpipe_v.json", "dualpipev", "deepseek", 30},
    {"victarry-pp-schedule-visualization/interleave.json", "interleaved", "megatron", 64},
    {"victarry-pp-schedule-visualization/interleave_overlap.json", "interleaved-overlap", "", 45},
    {"victarry-pp-schedule-visualization/zb1p.json", "zb-h1", "handcrafted", 47},
};

const std::vector<Other> kOthers{
    {"lowering/deepspeed.json", "LoweringOracle.DeepSpeed"},
    {"lowering/megatron.json", "LoweringOracle.MegatronCore"},
    {"lowering/paddle.json", "LoweringOracle.Paddle"},
    {"paddle/dygraph_bubble_hooks.json", "OtherPrograms.PaddlesListsWithBubbleHooksHoldTheSameJobs"},
    {"paddle/forced_bubbles.json", "OtherPrograms.ForcedBubblesLengthenTheStepAsPaddlesOrdersDo"},
    {"paddle/layer_segmentation.json", "Partition.EqualsPaddleForUserGivenLayers"},
    {"paddle/sim_summary.json", "OtherPrograms.MakespansAndIdleTimesOfPaddlesSchedulers"},
    {"papers/paper-tables.json", "PaperTables, PaperClaims"},
    {"step-times/runs.json", "ChangePoint.RealStepTimesChangeOnlyWhereAChangeIsPutIn, StepSelection.RealRuns"},
    {"torch/action_parse.json", "TorchCsv.CellsAreReadAsPyTorchReadsThem"},
    {"torch/csv", "TorchCsv.EveryFileLoadsAndBothFormsAgree"},
    {"torch/csv_load_validation.json", "TorchCsv.VerdictsOnWholeFiles"},
    {"torch/dump_chrometrace_InterleavedZeroBubble_pp2_mb4_v2.json",
     "OtherPrograms.PyTorchsDrawingOfInterleavedZeroBubble"},
};

/// The three orderings of own-sim/unbalanced_vpp.json by how their descriptions begin.
const char* flavorOf(const Json& one, const Orders& row) {
    if (!one.at("params").contains("ordering")) return row.flavor;
    const auto ordering = one.at("params").at("ordering").get<std::string>();
    if (ordering.starts_with("groups of p")) return "unbalanced";
    return ordering.starts_with("balanced") ? "balanced" : "merged";
}

/// Our order for a case; memory limits of the sources count halves of an activation.
Result<Schedule> ours(const Json& one, const Orders& row) {
    if (one.at("params").contains("program_runtimes")) {
        Result<Schedule> schedule = makeSchedule(test::paddleZbVSpec(one));
        if (schedule.ok() && one.at("params").contains("mem_after_and_peak"))
            schedule.value().ranks = test::paddleZbVLimited(one).value_or(std::vector<std::vector<Op>>{});
        return schedule;
    }
    ScheduleSpec spec = test::specOf(one, row.family, flavorOf(one, row));
    spec.group_size = test::param(one, {"microbatch_group_size_per_vp_stage", "interleave_group_size"}, 0);
    spec.sequence_slices = test::param(one, {"seq_splits"}, 1);
    if (one.at("params").contains("tf")) {
        spec.times = test::costsOf(one).times;
        spec.comm = test::costsOf(one).comm;
    }
    const int halves = test::param(one, {"max_mem"}, 0);
    spec.memory_limit = halves / 2;
    Result<Schedule> schedule = makeSchedule(spec);
    if (!schedule.ok() || halves % 2 == 0) return schedule;
    if (spec.name == "zb-auto") {
        schedule.value().ranks = zbAutoOrder(spec, halves);
    } else if (auto ranks = zbVGreedyOrder(spec, halves)) {
        schedule.value().ranks = std::move(*ranks);
    }
    return schedule;
}

std::vector<std::vector<Op>> theirs(const Json& one, const Orders& row) {
    auto ranks = test::oracleOrder(one, row.key);
    if (std::string(row.note) != "micro-batches numbered through") return ranks;
    const int half = test::param(one, {"m", "microbatches"}, 0) / 2;
    for (auto& ops : ranks) {
        for (Op& op : ops)
            op.microbatch.value -= op.chunk.value == 1 ? half : 0;
    }
    return ranks;
}

TEST(OracleCoverage, EveryFileIsCompared) {
    std::string table = "| family | flavor | source | cases | equal | deviations |\n|---|---|---|---|---|---|\n";
    int cases = 0;
    int equal = 0;
    for (const Orders& row : kOrders) {
        int same = 0;
        int all = 0;
        for (const Json& one : test::oracleCases(row.file)) {
            const auto schedule = ours(one, row);
            ++all;
            same += schedule.ok() && schedule.value().ranks == theirs(one, row) ? 1 : 0;
        }
        EXPECT_EQ(all, row.cases) << row.file;
        EXPECT_EQ(same, row.cases - row.differing) << row.file;
        table +=
            fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.family, row.flavor, row.file, all, same, row.note);
        cases += all;
        equal += same;
    }
    table += fmt::format("| all | | {} files | {} | {} | |\n", kOrders.size(), cases, equal);
    for (const Other& row : kOthers)
        table += fmt::format("| — | | {} | | | {} |\n", row.file, row.test);
    fmt::print("{}", table);
}

TEST(OracleCoverage, NoFileIsLeftOut) {
    std::set<std::string> named;
    for (const Orders& row : kOrders)
        named.insert(row.file);
    for (const Other& row : kOthers)
        named.insert(row.file);
    std::set<std::string> found;
    for (const std::string& file : test::oracleFiles()) {
        const std::string name = file.starts_with("torch/csv/") ? "torch/csv" : file;
        found.insert(name);
        EXPECT_TRUE(named.contains(name)) << name << " is compared with nothing";
    }
    for (const std::string& name : named)
        EXPECT_TRUE(found.contains(name)) << name << " is not there";
}

/// The source's own list as a schedule of the family's placement.
Schedule asSchedule(const Json& one, const Orders& row) {
    const ScheduleSpec spec = test::specOf(one, row.family);
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = spec.pp;
    schedule.microbatches = spec.microbatches;
    schedule.placement = findScheduleFamily(row.family)->placement;
    schedule.ranks = theirs(one, row);
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops)
            schedule.vpp = std::max(schedule.vpp, op.chunk.value + 1);
    }
    return schedule;
}

/// Every list that a framework or a paper's program gave out is either free of deadlock and complete, or we say what is
/// wrong with it: Paddle's static VPP with its remainders, and PyTorch's 1F1B generator.
TEST(OracleVerdicts, EveryOrderOfEveryProgramIsJudged) {
    std::map<std::string, int> deadlocks;
    std::map<std::string, int> wrong;
    int good = 0;
    for (const Orders& row : kOrders) {
        for (const Json& one : test::oracleCases(row.file)) {
            const auto problems = validate(asSchedule(one, row));
            if (problems.empty()) {
                ++good;
            } else if (problems.back().kind == "deadlock") {
                ++deadlocks[row.file];
                EXPECT_NE(problems.back().message.text().find(" waits for "), std::string::npos);
            } else {
                ++wrong[fmt::format("{} {}", row.file, row.key)];
            }
        }
    }
    EXPECT_EQ(deadlocks, (std::map<std::string, int>{{"paddle/vpp.json", 15}}));
    EXPECT_EQ(wrong, (std::map<std::string, int>{{"torch/1F1B.json jobs", 38}}));
    EXPECT_GT(good, 3500);
}

TEST(OracleVerdicts, PaddlesStaticVppShowsItsCycle) {
    const auto problems = validate(makeSchedule({"interleaved", "paddle-static", 4, 5, 3}).value());
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems.front().kind, "deadlock");
    const std::string& message = problems.front().message.text();
    EXPECT_EQ(message, "deadlock: F4.2 on rank 0 waits for F4.1 on rank 3; B0.1 on rank 3 waits for B0.2 on rank 0");
}

TEST(OracleVerdicts, PyTorchsOffByOneIsNamed) {
    const Orders row{"torch/1F1B.json", "1f1b", "", 38};
    for (const Json& one : test::oracleCases(row.file)) {
        const Schedule schedule = asSchedule(one, row);
        const int last = schedule.pp - 1;
        const auto problems = validate(schedule);
        const auto says = [&](const std::string& kind, const std::string& part) {
            return std::ranges::any_of(problems, [&](const ScheduleProblem& problem) {
                return problem.kind == kind && problem.rank.value == last &&
                       problem.message.text().find(part) != std::string::npos;
            });
        };
        EXPECT_TRUE(says("missing", fmt::format("rank {} never runs F0.0", last))) << one.at("params").dump();
        EXPECT_TRUE(says("out-of-range", fmt::format("F{}.0", schedule.microbatches))) << one.at("params").dump();
    }
}

} // namespace
} // namespace bubblescope
