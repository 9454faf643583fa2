// Orders whose weight gradients fill the bubbles, against those that the published generators produced: op by
// op, and our simulation against the times that the files give.

#include "core/families/registry.h"
#include "core/families/timed_orders.h"
#include "core/graph/simulate.h"
#include "tests/oracle/oracle_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

namespace bubblescope {

void PrintTo(const Op& op, std::ostream* out);

namespace {

using test::Json;

struct Source {
    const char* file;
    const char* family;
    const char* flavor;
    int cases = 0;
    int odd_limits = 0; ///< of these, with a memory limit of this number and a half activations
};

void PrintTo(const Source& source, std::ostream* out) {
    *out << source.file << ' ' << source.flavor;
}

/// The sources' `tb` is the input gradient.
CostModel costsOf(const Json& one) {
    const auto time = [&](const char* name, double fallback) {
        return TimeNs{std::llround(one.at("params").value(name, fallback) * 1000)};
    };
    CostModel costs;
    costs.times = makeOpTimes(time("tf", 1), {}, time("tb", 1), time("tw", 1)).value();
    costs.comm = time("comm", 0);
    return costs;
}

ScheduleSpec specOf(const Json& one, const Source& source) {
    ScheduleSpec spec;
    spec.name = source.family;
    spec.flavor = source.flavor;
    spec.pp = test::param(one, {"p", "pp"}, 0);
    spec.microbatches = test::param(one, {"m", "microbatches"}, 0);
    spec.vpp = test::param(one, {"chunks", "stages_per_rank"}, 1);
    spec.times = costsOf(one).times;
    spec.comm = costsOf(one).comm;
    spec.memory_limit = test::param(one, {"max_mem"}, 0) / 2; // the sources count halves
    return spec;
}

/// A limit that is not a whole number of activations cannot be set with --memory-limit, which counts whole ones;
/// the generator itself takes halves.
Result<Schedule> oddLimit(const ScheduleSpec& spec, int halves) {
    Result<Schedule> whole = makeSchedule(spec);
    if (!whole.ok()) return whole;
    if (spec.name == "zb-auto") {
        whole.value().ranks = zbAutoOrder(spec, halves);
        return whole;
    }
    auto ranks = zbVGreedyOrder(spec, halves);
    if (ranks) whole.value().ranks = std::move(*ranks);
    return whole;
}

bool sameTimes(const std::vector<TimelineOp>& a, const std::vector<TimelineOp>& b) {
    return std::ranges::equal(a, b, [](const TimelineOp& x, const TimelineOp& y) {
        return x.op == y.op && x.start == y.start && x.end == y.end;
    });
}

class ZeroBubbleOrders : public testing::TestWithParam<Source> {};

TEST_P(ZeroBubbleOrders, Equal) {
    const Source& source = GetParam();
    int compared = 0;
    int odd = 0;
    for (const Json& one : test::oracleCases(source.file)) {
        const ScheduleSpec spec = specOf(one, source);
        const int halves = test::param(one, {"max_mem"}, 0);
        odd += halves % 2;
        const auto schedule = halves % 2 == 1 ? oddLimit(spec, halves) : makeSchedule(spec);
        ASSERT_TRUE(schedule.ok()) << schedule.error().text() << one.at("params").dump();
        EXPECT_EQ(schedule.value().ranks, test::oracleOrder(one)) << one.at("params").dump();
        ++compared;
        const auto step = simulate(schedule.value(), costsOf(one));
        ASSERT_TRUE(step.ok());
        if (one.contains("asap")) { // torch: lengths only
            EXPECT_EQ(step.value().end.count(), one.at("asap").at("makespan").get<int>() * 1000);
            continue;
        }
        const auto expected = test::oracleTimes(one);
        for (std::size_t r = 0; r < expected.size(); ++r)
            EXPECT_TRUE(sameTimes(step.value().ranks[r], expected[r])) << one.at("params").dump() << " rank " << r;
    }
    EXPECT_EQ(compared, source.cases);
    EXPECT_EQ(odd, source.odd_limits);
}

INSTANTIATE_TEST_SUITE_P(ZbV, ZeroBubbleOrders,
                         testing::Values(Source{"sail-sg-zero-bubble/zbv_try_v_schedule.json", "zb-v", "greedy", 257,
                                                20},
                                         Source{"sail-sg-zero-bubble/zbv_handcrafted.json", "zb-v", "handcrafted", 85},
                                         Source{"torch/ZBVZeroBubble.json", "zb-v", "torch", 53}));

INSTANTIATE_TEST_SUITE_P(ZbAuto, ZeroBubbleOrders,
                         testing::Values(Source{"sail-sg-zero-bubble/zb_heuristic.json", "zb-auto", "heuristic", 252,
                                                16}));

} // namespace
} // namespace bubblescope
