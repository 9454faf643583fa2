// Orders with overlapped pairs, two pipelines over the same ranks or split sequences against those that
// frameworks and papers' programs produced, op by op; and our simulation against the times they give.

#include "core/families/registry.h"
#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

namespace bubblescope {
namespace {

using test::Json;

struct Source {
    const char* file;
    const char* family;
    const char* flavor = "";
    int cases = 0; ///< all of the file's cases; counted from the file
    int timed = 0; ///< those of them whose times follow the dataflow rule
};

void PrintTo(const Source& source, std::ostream* out) {
    *out << source.file;
}

class OverlapOrders : public testing::TestWithParam<Source> {};

ScheduleSpec specOf(const Json& one, const Source& source) {
    ScheduleSpec spec;
    spec.name = source.family;
    spec.flavor = source.flavor;
    spec.pp = test::param(one, {"p", "pp", "pp_degree"}, 0);
    spec.microbatches = test::param(one, {"m", "microbatches", "accumulate_steps"}, 0);
    spec.vpp = test::param(one, {"chunks", "stages_per_rank"}, 1);
    spec.sequence_slices = test::param(one, {"seq_splits"}, 1);
    return spec;
}

/// Nothing for cases whose times come from another rule: a tool of its own with latency.
std::optional<CostModel> costsOf(const Json& one) {
    if (!one.contains("makespan")) return std::nullopt;
    const Json& params = one.at("params");
    const auto time = [](const Json& value) { return TimeNs{std::llround(value.get<double>() * 1000)}; };
    CostModel costs;
    if (params.contains("op_times")) {
        if (params.at("p2p_latency").get<double>() > 0) return std::nullopt;
        const Json& times = params.at("op_times");
        costs.times.forward = time(times.at("forward"));
        costs.times.backward = time(times.at("backward"));
        costs.times.input_grad = time(times.at("backward_D"));
        costs.times.weight_grad = time(times.at("backward_W"));
        costs.overlapped = time(times.at("overlapped_forward_backward"));
        return costs;
    }
    costs.times.forward = time(params.at("tf"));
    if (params.contains("tb_full")) {
        costs.times.backward = time(params.at("tb_full"));
    } else {
        costs.times.input_grad = time(params.at("tb"));
        costs.times.weight_grad = time(params.at("tw"));
        costs.times.backward = costs.times.input_grad + costs.times.weight_grad;
    }
    if (params.contains("t_overlapped_FB")) costs.overlapped = time(params.at("t_overlapped_FB"));
    costs.comm = time(params.at("comm"));
    return costs;
}

/// DualPipe's authors number micro-batches from 0 in each direction, this tool numbers them through.
std::vector<std::vector<Op>> numberedPerDirection(std::vector<std::vector<Op>> ranks, int microbatches) {
    for (auto& ops : ranks) {
        for (Op& op : ops) {
            if (op.chunk.value == 1) op.microbatch.value -= microbatches / 2;
        }
    }
    return ranks;
}

TEST(OverlapOracles, DualPipeNumberedThroughEqual) {
    int compared = 0;
    for (const Json& one : test::oracleCases("victarry-pp-schedule-visualization/dualpipe.json")) {
        const auto schedule = makeSchedule(specOf(one, {"", "dualpipe"})).value();
        EXPECT_TRUE(schedule.ranks == numberedPerDirection(test::oracleOrder(one), schedule.microbatches))
            << one.at("params").dump();
        ++compared;
    }
    EXPECT_EQ(compared, 22);
}

TEST_P(OverlapOrders, Equal) {
    const Source& source = GetParam();
    int compared = 0;
    int timed = 0;
    for (const Json& one : test::oracleCases(source.file)) {
        const auto schedule = makeSchedule(specOf(one, source));
        ASSERT_TRUE(schedule.ok()) << schedule.error().text();
        EXPECT_TRUE(schedule.value().ranks == test::oracleOrder(one)) << one.at("params").dump();
        ++compared;
        if (const auto costs = costsOf(one)) {
            EXPECT_TRUE(test::sameTimes(schedule.value(), *costs, one)) << one.at("params").dump();
            ++timed;
        }
    }
    EXPECT_EQ(compared, source.cases);
    EXPECT_EQ(timed, source.timed);
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, OverlapOrders,
    testing::Values(Source{"own-sim/1f1b_overlap.json", "1f1b-overlap", "combined", 20, 20},
                    Source{"victarry-pp-schedule-visualization/1f1b_overlap.json", "1f1b-overlap", "combined", 31, 11},
                    Source{"megatron-lm/interleaved_1f1b_ep_overlap.json", "interleaved-overlap", "", 49, 49},
                    Source{"victarry-pp-schedule-visualization/interleave_overlap.json", "interleaved-overlap", "", 45,
                           24}));

INSTANTIATE_TEST_SUITE_P(DualPipe, OverlapOrders,
                         testing::Values(Source{"deepseek-dualpipe/dualpipev.json", "dualpipev", "deepseek", 51, 51},
                                         Source{"victarry-pp-schedule-visualization/dualpipe_v.json", "dualpipev", "",
                                                30, 15},
                                         Source{"torch/DualPipeV.json", "dualpipev", "torch", 22, 0},
                                         Source{"paddle/dualpipev.json", "dualpipev", "paddle", 37, 0},
                                         Source{"deepseek-dualpipe/dualpipe.json", "dualpipe", "", 26, 26}));

INSTANTIATE_TEST_SUITE_P(SplitSequence, OverlapOrders,
                         testing::Values(Source{"sail-sg-zero-bubble/seq1f1b.json", "seq1f1b", "", 85, 85}));

INSTANTIATE_TEST_SUITE_P(TwoPipelines, OverlapOrders,
                         testing::Values(Source{"chimera/chimera.json", "chimera", "", 12, 12},
                                         Source{"bitpipe/bitpipe.json", "bitpipe", "", 18, 18}));

} // namespace
} // namespace bubblescope
