// Closed forms and peaks of the families along a V and of interleaved orders with split backwards, against
// simulation.

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/theory/closed_form.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

constexpr int kMaxRanks = 16;
constexpr int kMaxMicrobatches = 64;

CostModel costsOf(const OpTimes& times) {
    CostModel costs;
    costs.times = times;
    return costs;
}

ClosedForm formOf(const ScheduleSpec& spec, const OpTimes& times) {
    return closedForm(makeSchedule(spec).value(), costsOf(times)).value();
}

int comparePeaks(const ScheduleSpec& spec) {
    const Schedule schedule = makeSchedule(spec).value();
    const PeakForm form = closedForm(schedule, costsOf(spec.times)).value().peaks.value();
    const auto peaks = peakActivations(schedule);
    if (form.kind == FormKind::Exact) {
        EXPECT_EQ(form.values, peaks) << spec.name << " p=" << spec.pp << " m=" << spec.microbatches;
    }
    for (std::size_t r = 0; r < peaks.size(); ++r)
        EXPECT_LE(peaks[r], form.values[r]);
    return static_cast<int>(peaks.size());
}

TEST(VShapeForms, EqualTimesForVHalfAndVMin) {
    int compared = 0;
    for (int p = 1; p <= kMaxRanks; ++p) {
        for (int m = 1; m <= kMaxMicrobatches; ++m) {
            for (const auto& [family, least] : {std::pair("v-half", p + 2), std::pair("v-min", p + 1)}) {
                const ScheduleSpec spec{family, "", p, m, 2};
                EXPECT_EQ(formOf(spec, test::splitTimes(7, 7, 7)).exact(), m >= least);
                if (m >= least) compared += test::compareWithSimulation(spec, test::splitTimes(7, 7, 7));
                if (m == least) {
                    EXPECT_FALSE(formOf(spec, test::splitTimes(7, 7, 6)).exact());
                }
                compared += comparePeaks(spec);
            }
        }
    }
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 20'000);
}

TEST(VShapeForms, V1F1BWhereABackwardTakesTwoForwards) {
    int compared = 0;
    int bounds = 0;
    const OpTimes times = test::wholeTimes({3, 6});
    for (int p = 1; p <= kMaxRanks; ++p) {
        for (int m = 1; m <= kMaxMicrobatches; ++m) {
            const ScheduleSpec spec{"v-1f1b", "", p, m, 2};
            compared += comparePeaks(spec);
            const ClosedForm form = formOf(spec, times);
            if (form.exact()) {
                compared += test::compareWithSimulation(spec, times);
                continue;
            }
            const TimeNs end = simulate(makeSchedule(spec).value(), costsOf(times)).value().end;
            EXPECT_EQ(form.kind, FormKind::UpperBound);
            EXPECT_LE(end, form.makespan);
            EXPECT_LE(form.makespan - end, times.forward);
            ++bounds;
        }
        EXPECT_EQ(formOf({"v-1f1b", "", p, 2 * p, 2}, test::wholeTimes({3, 5})).kind, FormKind::LowerBound);
    }
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 15'000);
    EXPECT_EQ(bounds, 224);
}

TEST(SplitInterleavedForms, SailInGroupsOfHalfTheRanksOrMore) {
    int compared = 0;
    for (const auto& [f, i, w] : {std::array{1, 1, 1}, std::array{2, 3, 1}, std::array{3, 2, 5}, std::array{4, 3, 0}}) {
        for (int p = 2; p <= 12; ++p) {
            for (int group = (p + 1) / 2; group <= p; ++group) {
                if (group * (f + i + w) < p * std::max(f, i)) continue;
                for (int m = group; m <= 36; m += group) {
                    for (int v = 2; v <= 4; ++v) {
                        ScheduleSpec spec{"interleaved", "sail-sg", p, m, v, group};
                        spec.times = test::splitTimes(f, i, w);
                        compared += test::compareWithSimulation(spec, spec.times);
                    }
                }
            }
        }
    }
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(SplitInterleavedForms, SailOutsideItsDomainIsABound) {
    const auto kind = [](int m, int group, const OpTimes& times) {
        return formOf({"interleaved", "sail-sg", 6, m, 2, group}, times).kind;
    };
    EXPECT_EQ(kind(12, 3, test::splitTimes(1, 1, 1)), FormKind::Exact);
    EXPECT_EQ(kind(13, 3, test::splitTimes(1, 1, 1)), FormKind::LowerBound);
    EXPECT_EQ(kind(12, 2, test::splitTimes(1, 1, 1)), FormKind::LowerBound);
    EXPECT_EQ(kind(12, 3, test::splitTimes(1, 1, 3)), FormKind::LowerBound);
    EXPECT_EQ(kind(12, 3, test::splitTimes(9, 2, 2)), FormKind::LowerBound);
}

TEST(SplitInterleavedForms, PaddlesStaticPass) {
    int compared = 0;
    for (const auto& [f, i, w] : {std::array{1, 1, 1}, std::array{2, 3, 1}, std::array{3, 2, 5}, std::array{4, 3, 0}})
        for (int p = 1; p <= kMaxRanks; ++p)
            for (int v = 1; v <= 6; ++v)
                compared += test::compareWithSimulation({"interleaved", "paddle-static-split", p, p, v},
                                                        test::splitTimes(f, i, w));
    EXPECT_GT(compared, 3'000);
}

} // namespace
} // namespace bubblescope
