// Our orders against those that frameworks and papers' programs produced, op by op; and our simulation
// against the times they give.

#include "core/families/registry.h"
#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

#include <ostream>

namespace bubblescope {

void PrintTo(const Op& op, std::ostream* out) {
    *out << opName(op);
}

namespace {

using test::Json;

struct Source {
    const char* file;
    const char* family;
    const char* key = "jobs";
    int cases = 0; ///< how many of the file's cases are within the family's limits; counted by hand from the file
    bool times = false;
};

void PrintTo(const Source& source, std::ostream* out) {
    *out << source.file;
}

class Orders : public testing::TestWithParam<Source> {};

ScheduleSpec specOf(const Json& one, const std::string& family) {
    ScheduleSpec spec;
    spec.name = family;
    spec.pp = test::param(one, {"p", "pp", "pp_degree"}, 0);
    spec.microbatches = test::param(one, {"m", "microbatches", "num_micro_batches", "accumulate_steps"}, 0);
    spec.vpp = test::param(one, {"chunks", "stages_per_rank"}, 1);
    return spec;
}

/// Interleaved cases outside our limits: v = 1, a remainder, or a group size other than p.
bool covered(const Json& one, const ScheduleSpec& spec) {
    const int group = test::param(one, {"microbatch_group_size_per_vp_stage"}, spec.pp);
    const bool interleaved = spec.name == "interleaved";
    if (!interleaved) return spec.vpp == 1;
    return spec.vpp >= 2 && spec.microbatches % spec.pp == 0 && group == spec.pp;
}

TEST_P(Orders, Equal) {
    const Source& source = GetParam();
    int compared = 0;
    for (const Json& one : test::oracleCases(source.file)) {
        const ScheduleSpec spec = specOf(one, source.family);
        if (!covered(one, spec)) continue;
        const auto schedule = makeSchedule(spec);
        ASSERT_TRUE(schedule.ok()) << schedule.error().text();
        EXPECT_EQ(schedule.value().ranks, test::oracleOrder(one, source.key)) << one.at("params").dump();
        ++compared;
        if (source.times) {
            EXPECT_TRUE(test::sameTimes(schedule.value(), test::costsOf(one), one)) << one.at("params").dump();
        }
    }
    EXPECT_EQ(compared, source.cases);
}

INSTANTIATE_TEST_SUITE_P(FThenB, Orders,
                         testing::Values(Source{"own-sim/gpipe.json", "fthenb", "jobs", 88, true},
                                         Source{"paddle/fthenb.json", "fthenb", "jobs", 40},
                                         Source{"torch/GPipe.json", "fthenb", "executed", 41},
                                         Source{"minpp/gpipe.json", "fthenb", "jobs", 12, true}));

INSTANTIATE_TEST_SUITE_P(OneFOneB, Orders,
                         testing::Values(Source{"megatron-lm/1f1b.json", "1f1b", "jobs", 57, true},
                                         Source{"sail-sg-zero-bubble/basic1f1b.json", "1f1b", "jobs", 65, true},
                                         Source{"victarry-pp-schedule-visualization/1f1b.json", "1f1b", "jobs", 37},
                                         Source{"paddle/1f1b.json", "1f1b", "jobs", 38},
                                         Source{"paddle/dygraph_1f1b.json", "1f1b", "jobs", 45},
                                         Source{"torch/1F1B.json", "1f1b", "executed", 38},
                                         Source{"minpp/1f1b.json", "1f1b", "jobs", 10, true}));

INSTANTIATE_TEST_SUITE_P(
    Interleaved, Orders,
    testing::Values(Source{"megatron-lm/interleaved_1f1b_tunable.json", "interleaved", "jobs", 34, true},
                    Source{"sail-sg-zero-bubble/vpp_interleaved_1f1b.json", "interleaved", "jobs", 71, true},
                    Source{"victarry-pp-schedule-visualization/interleave.json", "interleaved", "jobs", 64},
                    Source{"torch/Interleaved1F1B.json", "interleaved", "jobs", 43}));

} // namespace
} // namespace bubblescope
