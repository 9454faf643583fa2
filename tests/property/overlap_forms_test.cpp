// Properties of schedules with overlapped pairs, two pipelines or split sequences, in addition to their closed forms,
// which
// split_form_grid_test.cpp compares with simulation: orders, peaks, domains, limits.

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/theory/analysis.h"
#include "core/theory/closed_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

struct Ratio {
    int forward;
    int backward;
};

CostModel costsOf(Ratio ratio, std::optional<int> pair = {}) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{ratio.forward}, TimeNs{ratio.backward}, {}, {}).value();
    if (pair) model.overlapped = TimeNs{*pair};
    return model;
}

/// The order is 1F1B's as Paddle's static pass builds it, with p−s warm-up forwards: taken apart, its pairs
/// cost exactly what 1F1B costs.
TEST(OverlapForms, PaddlesOrderTakenApartIsOneFOneB) {
    for (int p = 1; p <= 8; ++p) {
        for (const int m : {1, p, 2 * p + 1}) {
            Schedule schedule = makeSchedule({"1f1b-overlap", "paddle-mp", p, m, 1}).value();
            for (int s = 0; s < p; ++s) {
                std::vector<Op>& ops = schedule.ranks[Rank{s}.index()];
                const auto pairs = std::ranges::count_if(ops, [](const Op& op) { return op.overlapped; }) / 2;
                EXPECT_EQ(pairs, std::max(0, m - (p - s)));
                for (Op& op : ops)
                    op.overlapped = false;
            }
            const auto wall = [](const Schedule& order) { return simulate(order, costsOf({2, 4})).value().wall(); };
            EXPECT_EQ(wall(schedule), wall(makeSchedule({"1f1b", "", p, m, 1}).value())) << p << ' ' << m;
        }
    }
}

TEST(OverlapForms, HanayoTakesBackwardsFirstAndTheOldestFirst) {
    const Schedule schedule = makeSchedule({"hanayo", "", 3, 3, 2}).value();
    const char* const ranks[] = {
        "F0.0 F1.0 F2.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 B0.0 B1.0 B2.0",
        "F0.0 F1.0 F2.0 F0.1 F1.1 B0.1 F2.1 B1.1 B0.0 B2.1 B1.0 B2.0",
        "F0.0 F0.1 F1.0 F1.1 F2.0 F2.1 B0.1 B0.0 B1.1 B1.0 B2.1 B2.0",
    };
    for (std::size_t r = 0; r < 3; ++r) {
        std::string text;
        for (const Op& op : schedule.ranks[r])
            text += (text.empty() ? "" : " ") + opName(op);
        EXPECT_EQ(text, ranks[r]);
    }
    for (int p = 2; p <= 8; ++p) {
        for (const int v : {2, 4})
            EXPECT_EQ(std::ranges::max(peakActivations(makeSchedule({"hanayo", "", p, 3 * p, v}).value())), v * p);
    }
}

TEST(OverlapForms, AnalysisTellsPairsFromSingleOps) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{4}, {}, TimeNs{4}, TimeNs{3}).value();
    costs.overlapped = TimeNs{9};
    for (const ScheduleSpec& spec : {ScheduleSpec{"1f1b-overlap", "", 4, 16, 1},
                                     {"interleaved-overlap", "", 4, 16, 2},
                                     {"dualpipev", "", 4, 16, 2},
                                     {"dualpipe", "", 4, 16, 2}}) {
        const Schedule schedule = makeSchedule(spec).value();
        const StepAnalysis analysis = analyzeStep(simulate(schedule, costs).value(), schedule);
        ASSERT_TRUE(analysis.form) << spec.name << ": " << analysis.form_note;
        EXPECT_EQ(analysis.typical.forward, costs.times.forward);
        EXPECT_EQ(analysis.typical.backward, costs.times.backward);
        for (const RankAccount& rank : analysis.ranks)
            EXPECT_EQ(rank.bubble, rank.expected_bubble) << spec.name << " rank " << rank.rank.value;
    }
}

TEST(OverlapForms, BoundsOutsideTheirDomain) {
    const auto form = [](const ScheduleSpec& spec, const CostModel& costs) {
        return closedForm(makeSchedule(spec).value(), costs).value().exact();
    };
    EXPECT_TRUE(form({"1f1b-overlap", "", 4, 4, 1}, costsOf({2, 4}, 5)));
    for (const char* name : {"1f1b-overlap", "interleaved-overlap"}) {
        const int v = name[0] == 'i' ? 2 : 1;
        EXPECT_FALSE(form({name, "", 4, 8, v}, costsOf({2, 4}, 3))) << "a pair shorter than its longer half";
        EXPECT_FALSE(form({name, "", 4, 8, v}, costsOf({2, 4}, 7))) << "a pair longer than both";
    }
    EXPECT_TRUE(form({"hanayo", "", 4, 8, 2}, costsOf({4, 2}))) << "t_f > t_b, p divides m";
    EXPECT_TRUE(form({"hanayo", "", 4, 3, 2}, costsOf({2, 4}))) << "m < p";
    EXPECT_FALSE(form({"hanayo", "", 4, 8, 2}, costsOf({2, 4}))) << "t_f < t_b";
    EXPECT_FALSE(form({"hanayo", "", 4, 9, 2}, costsOf({4, 2}))) << "t_f ≠ t_b, a part of a round";
    for (const char* name : {"dualpipe", "dualpipev"}) {
        const auto dual = [&](int f, int i, int w, int pair) {
            CostModel costs;
            costs.times = makeOpTimes(TimeNs{f}, {}, TimeNs{i}, TimeNs{w}).value();
            costs.overlapped = TimeNs{pair};
            return form({name, "", 4, 8, 1}, costs);
        };
        EXPECT_TRUE(dual(4, 4, 4, 8));
        EXPECT_TRUE(dual(4, 4, 5, 10)) << "W > t_f";
        EXPECT_TRUE(dual(4, 5, 3, 10)) << "I ≠ t_f";
        EXPECT_FALSE(dual(4, 4, 4, 7)) << "a pair shorter than a backward";
        EXPECT_FALSE(dual(4, 4, 4, 13)) << "a pair longer than both";
    }
}

TEST(OverlapForms, BoundsOfTheDomainsMatter) {
    // Just outside, the simulation departs from what the form would say.
    const auto wall = [](const ScheduleSpec& spec, const CostModel& costs) {
        return simulate(makeSchedule(spec).value(), costs).value().wall().count();
    };
    EXPECT_EQ(wall({"1f1b-overlap", "", 8, 24, 1}, costsOf({2, 4}, 5)), 8 * 6 + 23 * 5);
    EXPECT_NE(wall({"1f1b-overlap", "", 8, 24, 1}, costsOf({2, 4}, 1)), 8 * 6 + 23 * 1);

    CostModel late; // W > t_f
    late.times = makeOpTimes(TimeNs{2}, {}, TimeNs{2}, TimeNs{6}).value();
    const int both = 10;
    EXPECT_NE(wall({"dualpipev", "", 4, 9, 1}, late), 2 * 9 * both + 3 * (both + 8 - 3 * 6));
}

/// An all-reduce that an op shows alone is part of its time, and no form that cannot tell it apart claims to be exact.
TEST(OverlapForms, ExposedAllReducesHaveAFormWhereAllOpsShowThem) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{4}, {}, TimeNs{4}, TimeNs{4}).value();
    costs.all_reduce = TimeNs{1};
    costs.times.forward += costs.all_reduce;
    costs.times.input_grad += costs.all_reduce;
    for (const auto& [spec, exact] :
         {std::pair(ScheduleSpec{"stp", "", 4, 12, 2}, true), std::pair(ScheduleSpec{"1f1b", "", 4, 12, 1}, true),
          std::pair(ScheduleSpec{"zb-v", "handcrafted", 4, 12, 2}, true),
          std::pair(ScheduleSpec{"dualpipev", "", 4, 12, 2}, false),
          std::pair(ScheduleSpec{"1f1b-overlap", "", 4, 12, 1}, false)}) {
        const Schedule schedule = makeSchedule(spec).value();
        const ClosedForm form = closedForm(schedule, costs).value();
        const TimeNs wall = simulate(schedule, costs).value().wall();
        EXPECT_EQ(form.exact(), exact) << spec.name;
        EXPECT_TRUE(exact ? form.makespan == wall : form.makespan <= wall) << spec.name;
    }
}

/// The step of a trace tells the all-reduce from the pairs that hide it.
TEST(OverlapForms, AnalysisFindsWhatPairsHide) {
    for (const int exposed : {0, 3}) {
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{10}, {}, TimeNs{11}, TimeNs{9}).value();
        costs.all_reduce = TimeNs{exposed};
        costs.times.forward += costs.all_reduce;
        costs.times.input_grad += costs.all_reduce;
        const Schedule schedule = makeSchedule({"stp", "", 4, 12, 2}).value();
        const StepAnalysis analysis = analyzeStep(simulate(schedule, costs).value(), schedule);
        ASSERT_TRUE(analysis.form) << analysis.form_note;
        EXPECT_TRUE(analysis.form->exact());
        for (const RankAccount& rank : analysis.ranks)
            EXPECT_EQ(rank.bubble, rank.expected_bubble) << "rank " << rank.rank.value;
    }
}

TEST(OverlapPeaks, ActivationsAreTheKnownOnes) {
    const auto peaks = [](const ScheduleSpec& spec) { return peakActivations(makeSchedule(spec).value()); };
    for (int p = 2; p <= 8; p += 2) {
        const int m = 3 * p;
        const auto combined = peaks({"1f1b-overlap", "", p, m, 1});
        const auto interleaved = peaks({"interleaved-overlap", "", p, m, 3});
        const auto chimera = peaks({"chimera", "", p, m, 1});
        const auto bitpipe = peaks({"bitpipe", "", p, m, 1});
        ScheduleSpec sliced{"seq1f1b", "", p, m, 1};
        sliced.sequence_slices = 3;
        const auto seq = peaks(sliced);
        const auto dual = peaks({"dualpipe", "", p, m, 1});
        const auto dual_v = peaks({"dualpipev", "", p, m, 1});
        const auto stp = peaks({"stp", "", p, m, 1});
        for (int s = 0; s < p; ++s) {
            const std::size_t r = Rank{s}.index();
            EXPECT_EQ(combined[r], 2 * (p - s - 1) + 2);
            EXPECT_EQ(interleaved[r], 2 * (p - s - 1) + 2 * p + 2);
            EXPECT_EQ(seq[r], p - s - 1 + 3) << "slices";
            EXPECT_EQ(dual[r], p + 1);
            EXPECT_EQ(dual_v[r], 2 * p + 1);
            EXPECT_EQ(stp[r], 3 * p + std::max(1, s)) << "3p between two pairs";
        }
        EXPECT_EQ(*std::ranges::min_element(chimera), p / 2 + 1);
        EXPECT_EQ(*std::ranges::max_element(chimera), p);
        EXPECT_EQ(*std::ranges::min_element(bitpipe), 3 * p / 2 + 1);
        EXPECT_EQ(*std::ranges::max_element(bitpipe), 2 * p);
    }
}

TEST(OverlapLimits, RefusalsSayWhatToGive) {
    const std::pair<ScheduleSpec, const char*> cases[] = {
        {{"1f1b-overlap", "", 2, 4, 2}, "interleaved-overlap"},
        {{"interleaved-overlap", "", 2, 4, 1}, "vpp=2"},
        {{"interleaved-overlap", "", 4, 6, 2}, "use 4 or 8"},
        {{"interleaved-overlap", "", 2, 4, 2, 4}, "group_size"},
        {{"dualpipev", "", 4, 7, 2}, "use 8 or more"},
        {{"dualpipev", "", 4, 8, 3}, "omit vpp"},
        {{"stp", "", 4, 10, 2}, "microbatches=11 or more"},
        {{"stp", "", 4, 12, 3}, "omit vpp"},
        {{"dualpipe", "", 3, 8, 2}, "even number of ranks"},
        {{"dualpipe", "", 4, 9, 2}, "use 10"},
        {{"dualpipe", "", 4, 6, 2}, "use 8"},
        {{"seq1f1b", "", 4, 6, 1, 0, 0, 0}, "sequence slices"},
        {{"seq1f1b", "", 4, 6, 1, 0, 0, 5000}, "use 1 to 4096"},
        {{"seq1f1b", "", 64, 100'000, 1, 0, 0, 4096}, "200 million"},
        {{"chimera", "", 3, 6, 1}, "even number of ranks"},
        {{"chimera", "", 4, 6, 1}, "use 4 or 8"},
        {{"bitpipe", "", 4, 8, 2}, "omit vpp"},
        {{"hanayo", "", 4, 8, 3}, "vpp=2 for one wave"},
    };
    for (const auto& [spec, text] : cases) {
        const auto schedule = makeSchedule(spec);
        ASSERT_FALSE(schedule.ok()) << spec.name;
        EXPECT_EQ(schedule.error().kind, ErrorKind::Usage);
        EXPECT_NE(schedule.error().text().find(text), std::string::npos) << schedule.error().text();
    }
}

} // namespace
} // namespace bubblescope
