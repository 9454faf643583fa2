// 1F1B with encoders before a trunk: the closed forms against simulation, and the simulation against times that are
// computed from the definition of the dependencies alone.

#include "core/families/registry.h"
#include "core/graph/longest_path.h"
#include "core/graph/simulate.h"
#include "core/graph/step_graph.h"
#include "core/graph/step_replay.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule_files.h"
#include "core/theory/closed_form.h"
#include "core/timeline/transfers.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using test::checkForm;

ScheduleSpec specOf(Encoders encoders, int trunk, int microbatches) {
    ScheduleSpec spec{"1f1b", "", encoders.ranks() + trunk, microbatches};
    spec.encoders = encoders;
    return spec;
}

template <class Visit>
void eachSize(Visit visit) {
    for (int first = 1; first <= 4; ++first) {
        for (int second = 0; second <= 4; ++second) {
            for (int trunk = 1; trunk <= 5; ++trunk)
                visit(Encoders{first, second}, trunk);
        }
    }
}

TEST(EncoderForms, EqualSimulationOnEqualStages) {
    int compared = 0;
    eachSize([&](Encoders encoders, int trunk) {
        for (int m = 1; m <= 20; ++m) {
            const auto schedule = makeSchedule(specOf(encoders, trunk, m));
            ASSERT_TRUE(schedule.ok());
            EXPECT_TRUE(validate(schedule.value()).empty());
            for (const test::Ratio ratio : test::kRatios) {
                for (const int latency : {0, 1, 7}) {
                    CostModel costs;
                    costs.times = test::wholeTimes(ratio);
                    costs.comm = TimeNs{latency};
                    const test::FormCheck check = checkForm(schedule.value(), costs);
                    EXPECT_EQ(check.kind, FormKind::Exact);
                    compared += check.compared;
                }
            }
        }
    });
    test::reportCompared(compared);
    EXPECT_GT(compared, 100'000);
}

TEST(EncoderForms, EqualSimulationWhereTheLastStageIsSlowest) {
    std::mt19937 random(7);
    const auto time = [&random](int most) { return TimeNs{std::uniform_int_distribution<int>(1, most)(random)}; };
    int compared = 0;
    eachSize([&](Encoders encoders, int trunk) {
        for (int m = 1; m <= 12; ++m) {
            const auto schedule = makeSchedule(specOf(encoders, trunk, m));
            ASSERT_TRUE(schedule.ok());
            CostModel costs;
            for (int s = 0; s < schedule.value().pp; ++s) {
                OpTimes& times = costs.stages.emplace_back();
                times.forward = time(20);
                times.backward = time(20);
            }
            costs.stages.back().forward = TimeNs{17};
            costs.stages.back().backward = TimeNs{23};
            const test::FormCheck check = checkForm(schedule.value(), costs);
            EXPECT_EQ(check.kind, FormKind::Exact) << "m=" << m;
            compared += check.compared;
        }
    });
    EXPECT_GT(compared, 1'000);
}

TEST(EncoderForms, BoundElsewhere) {
    std::mt19937 random(9);
    const auto time = [&random] { return TimeNs{std::uniform_int_distribution<int>(1, 20)(random)}; };
    eachSize([&](Encoders encoders, int trunk) {
        const auto schedule = makeSchedule(specOf(encoders, trunk, 8));
        ASSERT_TRUE(schedule.ok());
        CostModel costs;
        for (int s = 0; s < schedule.value().pp; ++s) {
            OpTimes& times = costs.stages.emplace_back();
            times.forward = time();
            times.backward = time();
        }
        costs.stages.front().backward = TimeNs{60};
        EXPECT_EQ(checkForm(schedule.value(), costs).kind, FormKind::LowerBound);
    });
}

/// The bound is attained if each module has equal stages whose times are in the same proportion.
TEST(EncoderForms, BoundIsAttainedByEqualModules) {
    int compared = 0;
    eachSize([&](Encoders encoders, int trunk) {
        for (const int m : {1, 2, 3, 5, 8, 13}) {
            const auto schedule = makeSchedule(specOf(encoders, trunk, m));
            ASSERT_TRUE(schedule.ok());
            for (const test::Ratio ratio : test::kRatios) {
                for (const auto& [first, second] : {std::pair(2, 5), {8, 2}, {15, 3}, {9, 20}, {20, 20}}) {
                    CostModel costs;
                    for (int s = 0; s < schedule.value().pp; ++s) {
                        const int factor = s < encoders.first ? first : s < encoders.ranks() ? second : 10;
                        costs.stages.push_back(test::wholeTimes({factor * ratio.forward, factor * ratio.backward}));
                    }
                    const auto form = closedForm(schedule.value(), costs);
                    const auto step = simulate(schedule.value(), costs);
                    ASSERT_TRUE(form.ok() && step.ok());
                    EXPECT_EQ(form.value().makespan, step.value().wall())
                        << schedule.value().pp << ' ' << encoders.first << ' ' << encoders.second << " m=" << m << ' '
                        << first << ' ' << second;
                    ++compared;
                }
            }
        }
    });
    EXPECT_EQ(compared, 100 * 6 * 4 * 5);
}

/// Ends of all ops, from the definition: repeated until nothing changes.
class DefinedTimes {
public:
    DefinedTimes(const Schedule& schedule, Encoders encoders, const CostModel& costs)
        : schedule_(schedule), encoders_(encoders), costs_(costs) {
        for (bool changed = true; changed;)
            changed = pass();
    }
    [[nodiscard]] TimeNs end(int stage, const Op& op) { return ends_[{stage, op.kind, op.microbatch.value}]; }

private:
    [[nodiscard]] std::vector<int> inputsOf(int stage, OpKind kind) const {
        const int trunk = encoders_.ranks();
        std::vector<int> from;
        if (kind == OpKind::Forward) {
            if (stage == trunk) {
                from.push_back(encoders_.first - 1);
                if (encoders_.second > 0) from.push_back(trunk - 1);
            } else if (stage != 0 && stage != encoders_.first) {
                from.push_back(stage - 1);
            }
        } else if (stage == encoders_.first - 1 || stage == trunk - 1) {
            from.push_back(trunk);
        } else if (stage + 1 < schedule_.pp) {
            from.push_back(stage + 1);
        }
        return from;
    }
    bool pass() {
        bool changed = false;
        for (int s = 0; s < schedule_.pp; ++s) {
            TimeNs free{0};
            for (const Op& op : schedule_.ranks[Rank{s}.index()]) {
                TimeNs start = free;
                for (const int from : inputsOf(s, op.kind))
                    start = std::max(start, end(from, op) + costs_.comm);
                free = start + costs_.opTime(op.kind, Stage{s});
                TimeNs& known = ends_[{s, op.kind, op.microbatch.value}];
                changed |= known != free;
                known = free;
            }
        }
        return changed;
    }

    const Schedule& schedule_;
    Encoders encoders_;
    const CostModel& costs_;
    std::map<std::tuple<int, OpKind, int>, TimeNs> ends_;
};

TEST(EncoderPipelines, FollowTheirDependencies) {
    std::mt19937 random(11);
    const auto time = [&random] { return TimeNs{std::uniform_int_distribution<int>(1, 30)(random)}; };
    eachSize([&](Encoders encoders, int trunk) {
        const auto schedule = makeSchedule(specOf(encoders, trunk, 9));
        ASSERT_TRUE(schedule.ok());
        CostModel costs;
        costs.comm = TimeNs{4};
        for (int s = 0; s < schedule.value().pp; ++s) {
            OpTimes& times = costs.stages.emplace_back();
            times.forward = time();
            times.backward = time();
        }
        const auto step = simulate(schedule.value(), costs);
        ASSERT_TRUE(step.ok());
        DefinedTimes defined(schedule.value(), encoders, costs);
        for (int s = 0; s < schedule.value().pp; ++s) {
            for (const TimelineOp& op : step.value().ranks[Rank{s}.index()])
                EXPECT_EQ(op.end, defined.end(s, op.op)) << "stage " << s << ' ' << opName(op.op);
        }
        // Each micro-batch passes each border between stages once in both directions.
        const int borders = trunk - 1 + encoders.first + encoders.second;
        EXPECT_EQ(transfersBetweenRanks(step.value()).size(), static_cast<std::size_t>(2 * borders * 9));

        // The replay of the observed step ends with the step, and all its transfers are known.
        const StepGraph graph(step.value());
        EXPECT_EQ(graph.recorded_transfers, 2 * borders * 9);
        EXPECT_EQ(graph.estimated_transfers, 0);
        EXPECT_TRUE(std::ranges::all_of(graph.delay, [](TimeNs delay) { return delay == TimeNs{0}; }));
    });
}

TEST(EncoderPipelines, SurviveFiles) {
    for (const Encoders encoders : {Encoders{2, 0}, Encoders{2, 1}, Encoders{1, 3}}) {
        const auto schedule = makeSchedule(specOf(encoders, 3, 4));
        ASSERT_TRUE(schedule.ok());
        const auto read = scheduleFromJson(scheduleToJson(schedule.value()), "test");
        ASSERT_TRUE(read.ok()) << read.error().message;
        EXPECT_EQ(read.value().placement, schedule.value().placement);
        EXPECT_EQ(encodersOf(read.value().placement), encoders);
        EXPECT_EQ(read.value().ranks, schedule.value().ranks);
    }
    for (const char* const name :
         {"encoders-", "encoders-0", "encoders-2-", "encoders-2-0", "encoders-20000", "encoders-1-1-1"})
        EXPECT_FALSE(placementFromName(name)) << name;
}

TEST(EncoderPipelines, RejectWrongSizes) {
    Schedule wide = makeSchedule(specOf({2, 1}, 1, 4)).value();
    wide.placement = encoderPlacement({2, 2});
    EXPECT_FALSE(scheduleFromJson(scheduleToJson(wide), "test").ok());
    EXPECT_FALSE(makeSchedule(specOf({2, 1}, 0, 4)).ok());
    EXPECT_FALSE(makeSchedule(specOf({0, 2}, 3, 4)).ok());
    Schedule schedule = makeSchedule(specOf({2, 1}, 1, 4)).value();
    schedule.placement = encoderPlacement({2, 2});
    EXPECT_FALSE(validate(schedule).empty());
    schedule.placement = encoderPlacement({2, 1});
    ValidateOptions options;
    options.sends = SendMode::Paired;
    ASSERT_FALSE(validate(schedule, options).empty());
    EXPECT_EQ(validate(schedule, options).front().kind, "sends");
    // Without the first encoder's last op, the trunk cannot run.
    schedule.ranks[1].pop_back();
    EXPECT_EQ(validate(schedule).front().kind, "missing");
}

} // namespace
} // namespace bubblescope
