// Every closed form of the families with whole backwards against simulation: all sizes that a family accepts up to
// p = 16, m = 64, v = 6, at four time ratios (but see test::inGrid and test::timesInGrid). The simulation knows nothing
// of the forms; consolidation gathers its idle time. One test case per family, flavor and p.

#include "core/families/registry.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using test::checkForm;
using test::FormCheck;
using test::kRatios;

struct Case {
    std::string family;
    std::string flavor;
    int pp;

    friend std::ostream& operator<<(std::ostream& out, const Case& c) {
        return out << c.family << ' ' << c.flavor << " p=" << c.pp;
    }
};

/// Whether the family claims an exact form; elsewhere it must give a bound or refuse what deadlocks.
bool mustBeExact(const ScheduleSpec& spec) {
    const bool remainder_last = spec.flavor == "unbalanced" || spec.flavor == "paddle-static";
    return spec.vpp == 1 || !remainder_last || spec.microbatches % spec.pp == 0 || spec.pp == 1;
}

/// Orders that differ from another flavor's in the names of micro-batches or in the sizes of groups are taken at every
/// third m; the sizes at hand are reached through the other flavors.
bool taken(const Case& c, int m) {
    static constexpr std::string_view kSampled[] = {"torch", "merged", "paddle-dynamic",
                                                    "paddle-dynamic-best-unbalanced"};
    return std::ranges::find(kSampled, c.flavor) == std::end(kSampled) || m % 3 == c.pp % 3;
}

class FormGrid : public testing::TestWithParam<Case> {};

TEST_P(FormGrid, EqualsSimulation) {
    const Case& c = GetParam();
    int compared = 0;
    int bounds = 0;
    int refused = 0;
    for (int v = 1; v <= 6; ++v) {
        for (int m = 1; m <= 64; ++m) {
            const ScheduleSpec spec{c.family, c.flavor, c.pp, m, v};
            const auto schedule = makeSchedule(spec);
            if (!schedule.ok() || !taken(c, m)) continue;
            for (std::size_t i = 0; i < kRatios.size(); ++i) {
                if (!test::timesInGrid(c.pp, m + v, i)) continue;
                CostModel costs;
                costs.times = test::wholeTimes(kRatios[i]);
                const FormCheck check = checkForm(schedule.value(), costs);
                EXPECT_EQ(!check.refused && check.kind == FormKind::Exact, mustBeExact(spec)) << c << " m=" << m;
                compared += check.compared;
                bounds += !check.refused && check.kind != FormKind::Exact ? 1 : 0;
                refused += check.refused ? 1 : 0;
            }
        }
    }
    RecordProperty("bounds", bounds);
    RecordProperty("refused", refused);
    test::reportCompared(compared);
    EXPECT_GT(compared, 0);
}

std::vector<Case> allCases() {
    std::vector<Case> cases;
    const auto add = [&](const char* family, const char* flavor, int least = 1) {
        for (int p = least; p <= 16; ++p)
            if (test::inGrid(p)) cases.push_back({family, flavor, p});
    };
    add("fthenb", "");
    add("1f1b", "");
    add("eager-1f1b", "");
    add("looped-bfs", "breadth-first");
    add("looped-bfs", "torch");
    add("interleaved-fthenb", "", 3);
    add("vpp-balanced-memory", "", 3);
    for (const char* const flavor : {"megatron", "torch", "paddle-static", "balanced", "merged", "unbalanced"})
        add("interleaved", flavor);
    for (const char* const flavor : {"paddle-dynamic", "paddle-dynamic-best-unbalanced"})
        add("interleaved", flavor, 3);
    return cases;
}

std::string caseName(const testing::TestParamInfo<Case>& info) {
    std::string name = info.param.family + "_" + info.param.flavor + "_p" + std::to_string(info.param.pp);
    std::ranges::replace(name, '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(WholeBackwards, FormGrid, testing::ValuesIn(allCases()), caseName);

} // namespace
} // namespace bubblescope
