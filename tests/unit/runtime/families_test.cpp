// Every order that the registry makes, executed by the engine: no deadlock, the reference's weights, and on the
// emulated clock the simulation's times. New families in the registry are tested here automatically.

#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule_files.h"
#include "tests/support/sanitized.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/trained_run.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace bubblescope::runtime {
namespace {

struct Flavor {
    std::string family;
    std::string flavor;

    friend std::ostream& operator<<(std::ostream& out, const Flavor& of) {
        return out << of.family << '/' << of.flavor;
    }
};

std::vector<Flavor> allFlavors() {
    std::vector<Flavor> all;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : flavorsOf(family))
            all.push_back({std::string(family.name), std::string(flavor)});
    }
    return all;
}

std::string labelOf(const Schedule& schedule) {
    return fmt::format("{}/{} p={} m={} v={}", schedule.name, schedule.flavor, schedule.pp, schedule.microbatches,
                       schedule.vpp);
}

/// An order that validation accepts; nothing where the family has none of that size.
std::optional<Schedule> accepted(const ScheduleSpec& spec) {
    auto made = makeSchedule(spec);
    if (!made.ok() || !validate(made.value()).empty()) return std::nullopt;
    return std::move(made).value();
}

void expectTheReferencesWeights(Schedule schedule, int tensor_ranks = 1) {
    SCOPED_TRACE(labelOf(schedule));
    RunConfig config = test::smallRun(std::move(schedule));
    config.tensor_ranks = tensor_ranks;
    test::expectTheReferencesWeights(config);
}

class EveryFlavor : public ::testing::TestWithParam<Flavor> {
protected:
    /// The orders of all sizes that the flavor takes, v as the order has it.
    static std::vector<Schedule> orders(const std::vector<int>& pp, const std::vector<int>& microbatches, int slices) {
        std::vector<Schedule> all;
        for (const int p : pp) {
            for (const int m : microbatches) {
                for (const int v : {1, 2, 3, 4}) {
                    ScheduleSpec spec{GetParam().family, GetParam().flavor, p, m, v};
                    spec.sequence_slices = slices;
                    std::optional<Schedule> schedule = accepted(spec);
                    if (schedule && schedule->vpp == v) all.push_back(std::move(*schedule));
                }
            }
        }
        return all;
    }
};

TEST_P(EveryFlavor, TrainsToTheReferencesWeights) {
    // Sanitizers find their errors at a few sizes as well, and with them all sizes take ten times as long.
    const std::vector<Schedule> whole = ::bubblescope::test::kSanitized
                                            ? orders({1, 2, 4}, {1, 4, 8}, 1)
                                            : orders({1, 2, 3, 4, 6}, {1, 2, 3, 4, 6, 8, 12}, 1);
    EXPECT_GE(whole.size(), 3U);
    for (const Schedule& schedule : whole)
        expectTheReferencesWeights(schedule);
    for (const int slices : {2, 5}) {
        const std::vector<Schedule> cut = orders({2, 3}, {1, 4}, slices);
        if (!cut.empty() && DataPlan(cut.front()).slices() == 1) break; // this family cuts nothing
        for (const Schedule& schedule : cut)
            expectTheReferencesWeights(schedule);
    }
}

TEST_P(EveryFlavor, TrainsToTheReferencesWeightsWhereTwoRanksShareEachStage) {
    std::vector<Schedule> schedules = orders({2}, {4, 6}, 2);
    if (schedules.empty()) schedules = orders({4}, {4, 8}, 2); // some take no fewer
    EXPECT_FALSE(schedules.empty());
    for (const Schedule& schedule : schedules)
        expectTheReferencesWeights(schedule, 2);
}

TEST_P(EveryFlavor, PacedRunEqualsSimulationToTheNanosecond) {
    std::vector<Schedule> schedules = orders({2, 4}, {4, 6, 8}, 2);
    ASSERT_FALSE(schedules.empty());
    if (::bubblescope::test::kSanitized) schedules = {schedules.back()};
    for (const Schedule& schedule : schedules) {
        SCOPED_TRACE(labelOf(schedule));
        for (const TimeNs comm : {TimeNs{0}, TimeNs{1'500'000}}) {
            test::EngineRun run(schedule, test::someTimes(comm));
            run.times.overlapped = comm > TimeNs{0} ? std::optional(TimeNs{12'000'000}) : std::nullopt;
            const Result<EngineResult> result = run.run();
            ASSERT_TRUE(result.ok()) << result.error().text();
            EXPECT_EQ(result.value().late_ops, 0);
            test::expectEqualsSimulation(run);
        }
    }
}

TEST_P(EveryFlavor, RunsFromAFileAsWell) {
    const std::vector<Schedule> schedules = orders({2, 4}, {4, 6, 8}, 2);
    ASSERT_FALSE(schedules.empty());
    for (const Schedule& schedule : schedules) {
        const bool trains = &schedule == &schedules.back(); // the others are trained as they are made, by other tests
        auto json = scheduleFromJson(scheduleToJson(schedule), "order.json");
        ASSERT_TRUE(json.ok()) << json.error().text();
        EXPECT_EQ(json.value().ranks, schedule.ranks);
        if (trains) expectTheReferencesWeights(std::move(json).value());

        const auto csv = scheduleToCsv(schedule);
        if (!csv.ok() || routes(schedule.placement) > 1) continue; // CSV knows neither slices nor two pipelines
        auto read = scheduleFromCsv(csv.value(), "order.csv");
        ASSERT_TRUE(read.ok()) << read.error().text();
        EXPECT_EQ(read.value().ranks, schedule.ranks);
        if (trains) expectTheReferencesWeights(std::move(read).value());
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryFlavor, ::testing::ValuesIn(allFlavors()), [](const auto& param_info) {
    std::string name = param_info.param.family + "_" + param_info.param.flavor;
    for (char& letter : name) {
        if (letter == '-') letter = '_';
    }
    return name;
});

/// Three ranks; the middle one holds both copies of its stage; one micro-batch down, one up.
TEST(TwoPipelines, MayMeetOnOneRank) {
    const std::vector<Op> ops{{OpKind::Forward, Microbatch{0}, Chunk{0}},
                              {OpKind::Backward, Microbatch{0}, Chunk{0}},
                              {OpKind::Forward, Microbatch{1}, Chunk{1}},
                              {OpKind::Backward, Microbatch{1}, Chunk{1}}};
    expectTheReferencesWeights({"custom", "", 3, 2, 2, Placement::Bidirectional, {ops, ops, ops}});
}

TEST(TwoPipelines, MayLeaveOneWithoutMicrobatches) {
    const std::vector<Op> ops{{OpKind::Forward, Microbatch{0}, Chunk{1}}, {OpKind::Backward, Microbatch{0}, Chunk{1}}};
    expectTheReferencesWeights({"custom", "", 2, 1, 2, Placement::Bidirectional, {ops, ops}});
}

/// The order of the sum is another one than that of one pipeline, the terms are the same.
TEST(TwoPipelines, AndSlicesTrainTheSameModelButForTheLastBits) {
    const auto lossesOf = [](const ScheduleSpec& spec) {
        RunConfig config;
        config.schedule = makeSchedule(spec).value();
        config.paced = false;
        config.steps = 5;
        return test::trained(config).losses;
    };
    const std::vector<double> plain = lossesOf({"1f1b", "", 4, 8, 1});
    ScheduleSpec sliced{"seq1f1b", "", 4, 8, 1};
    sliced.sequence_slices = 4;
    for (const ScheduleSpec& spec :
         {ScheduleSpec{"chimera", "", 4, 8, 2}, ScheduleSpec{"dualpipe", "", 4, 8, 2}, sliced}) {
        const std::vector<double> losses = lossesOf(spec);
        for (std::size_t step = 0; step < plain.size(); ++step)
            EXPECT_NEAR(losses[step], plain[step], 1e-5 * plain[step]) << spec.name << ", step " << step;
    }
}

} // namespace
} // namespace bubblescope::runtime
