#include "tests/oracle/order_match.h"

#include "core/families/timed_orders.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace bubblescope::test {

ScheduleSpec specOf(const Json& one, const std::string& family, const std::string& flavor) {
    ScheduleSpec spec;
    spec.name = family;
    spec.flavor = flavor;
    spec.pp = param(one, {"p", "pp", "pp_degree", "pp_group_size"}, 0);
    spec.microbatches = param(one, {"m", "microbatches", "num_micro_batches", "accumulate_steps", "n_microbatches"}, 0);
    spec.vpp = param(one, {"chunks", "stages_per_rank", "vpp_degree", "virtual_pp_degree"}, 0);
    if (spec.vpp == 0) spec.vpp = std::max(1, param(one, {"layers"}, spec.pp) / std::max(1, spec.pp));
    return spec;
}

CostModel costsOf(const Json& one) {
    const auto time = [&](const char* name, double fallback) {
        return TimeNs{std::llround(one.at("params").value(name, fallback) * 1000)};
    };
    CostModel costs;
    costs.times.forward = time("tf", 1);
    costs.times.input_grad = time("tb", 1);
    costs.times.weight_grad = time("tw", 1);
    costs.times.backward =
        one.at("params").contains("tb_full") ? time("tb_full", 2) : costs.times.input_grad + costs.times.weight_grad;
    costs.comm = time("comm", 0);
    return costs;
}

bool sameOrder(const Json& one, const ScheduleSpec& spec, const std::string& key) {
    const auto schedule = makeSchedule(spec);
    return schedule.ok() && schedule.value().ranks == oracleOrder(one, key);
}

bool sameTimes(const Schedule& schedule, const CostModel& costs, const Json& one) {
    const auto step = simulate(schedule, costs);
    return step.ok() &&
           std::ranges::equal(step.value().ranks, oracleTimes(one), [](const auto& ours, const auto& theirs) {
               return std::ranges::equal(ours, theirs, [](const TimelineOp& a, const TimelineOp& b) {
                   return a.op == b.op && a.start == b.start && a.end == b.end;
               });
           });
}

bool sameTimes(const Json& one, const ScheduleSpec& spec) {
    const auto schedule = makeSchedule(spec);
    return schedule.ok() && sameTimes(schedule.value(), costsOf(one), one);
}

ScheduleSpec paddleZbVSpec(const Json& one) {
    ScheduleSpec spec = specOf(one, "zb-v", "paddle");
    const auto times = one.at("params").at("program_runtimes").get<std::array<int, 5>>();
    spec.times = {TimeNs{times[0]}, TimeNs{times[1] + times[2]}, TimeNs{times[1]}, TimeNs{times[2]}, TimeNs{0}};
    spec.loss = TimeNs{times[3]};
    spec.comm = TimeNs{times[4]};
    return spec;
}

std::optional<std::vector<std::vector<Op>>> paddleZbVLimited(const Json& one) {
    const Json& params = one.at("params");
    const Json& memory = params.at("mem_after_and_peak");
    ScheduleSpec spec = paddleZbVSpec(one);
    spec.sizes = {memory.at("forward")[0].get<int>(), -memory.at("backward_b")[0].get<int>(),
                  -memory.at("backward_w")[0].get<int>()};
    const auto limit = static_cast<std::int64_t>(std::floor(params.at("max_memory").get<double>())) -
                       params.at("base_memory").get<int>();
    return zbVPaddleOrder(spec, limit, memory.at("backward_b")[1].get<int>());
}

void PrintTo(const Source& source, std::ostream* out) {
    *out << source.file;
}

void expectEqual(const Source& source) {
    int equal = 0;
    for (const Json& one : oracleCases(source.file)) {
        const ScheduleSpec spec = specOf(one, source.family, source.flavor);
        EXPECT_TRUE(sameOrder(one, spec)) << one.at("params").dump();
        if (source.times) {
            EXPECT_TRUE(sameTimes(one, spec)) << one.at("params").dump();
        }
        ++equal;
    }
    EXPECT_EQ(equal, source.cases);
}

} // namespace bubblescope::test
