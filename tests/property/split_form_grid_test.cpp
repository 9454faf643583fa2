// Every closed form of the families that split the backward, overlap ops, cut the sequence or go two ways, against
// simulation: all sizes that a family accepts up to p = 16, m = 64 and v = 6, over time ratios with the weight
// gradient from 0 to above the forward, pairs from their longer half to both, and slow transfers (but see test::inGrid
// and test::timesInGrid). One test case per family, flavor and p.

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

CostModel costsOf(int forward, int input_grad, int weight_grad, int comm = 0) {
    CostModel costs;
    costs.times = test::splitTimes(forward, input_grad, weight_grad);
    costs.comm = TimeNs{comm};
    return costs;
}

/// t_f:t_b of 1:1, 1:2, 2:3 and 3:1 with different shares of the weight gradient, one of each first; then weight
/// gradients longer than all else.
std::vector<CostModel> splitCosts() {
    return {costsOf(4, 2, 2), costsOf(3, 3, 3), costsOf(4, 3, 3), costsOf(6, 1, 1), costsOf(4, 4, 0),
            costsOf(4, 1, 3), costsOf(3, 5, 1), costsOf(3, 2, 4), costsOf(4, 5, 1), costsOf(4, 1, 5),
            costsOf(6, 2, 0), costsOf(6, 0, 2), costsOf(2, 5, 6), costsOf(5, 2, 6), costsOf(3, 3, 7)};
}

void addTransfers(std::vector<CostModel>& all) {
    for (const CostModel& slow : {costsOf(6, 6, 4, 1), costsOf(6, 7, 5, 2), costsOf(6, 8, 2, 2), costsOf(3, 3, 5, 3)})
        all.push_back(slow);
}

std::vector<CostModel> transferCosts(const ScheduleSpec& spec) {
    std::vector<CostModel> all = splitCosts();
    if (spec.flavor == "torch") all.resize(1); // the same order as another flavor's
    addTransfers(all);
    return all;
}

/// With many chunks one split for each ratio.
std::vector<CostModel> chunkedCosts(const ScheduleSpec& spec) {
    std::vector<CostModel> all = splitCosts();
    if (spec.vpp > 2) all.resize(4);
    if (spec.vpp <= 3) addTransfers(all);
    return all;
}

/// Each with pairs as long as the longer half and as both halves; the first also with one in between.
std::vector<CostModel> pairCosts(const std::vector<CostModel>& times) {
    std::vector<CostModel> all;
    for (CostModel costs : times) {
        const TimeNs longer = std::max(costs.times.forward, costs.times.backward);
        const TimeNs both = costs.times.forward + costs.times.backward;
        if (all.empty()) {
            costs.overlapped = (longer + both) / 2;
            all.push_back(costs);
        }
        for (const TimeNs pair : {longer, both}) {
            costs.overlapped = pair;
            all.push_back(costs);
        }
    }
    return all;
}

std::vector<CostModel> wholePairs(const ScheduleSpec& spec) {
    std::vector<CostModel> times = splitCosts();
    times.resize(spec.vpp > 3 ? 2 : 4);
    for (const int comm : {1, 20})
        times.push_back(costsOf(4, 3, 3, comm));
    return pairCosts(times);
}

std::vector<CostModel> splitPairs(const ScheduleSpec& spec) {
    std::vector<CostModel> times = splitCosts();
    if (spec.flavor == "torch" || spec.flavor == "paddle") times.resize(1); // the same order as deepseek's
    times.push_back(costsOf(4, 3, 3, 1));
    return pairCosts(times);
}

/// Without all-reduces, and with short, long and very long ones that pairs hide.
std::vector<CostModel> exposedCosts(const ScheduleSpec& /*spec*/) {
    std::vector<CostModel> all;
    for (const int exposed : {0, 1, 3, 20}) {
        for (CostModel costs : splitCosts()) {
            costs.all_reduce = TimeNs{exposed};
            costs.times.forward += costs.all_reduce;
            costs.times.input_grad += costs.all_reduce;
            all.push_back(costs);
        }
    }
    all.push_back(costsOf(4, 3, 3, 1));
    return all;
}

std::vector<CostModel> wholeCosts(const ScheduleSpec& /*spec*/) {
    std::vector<CostModel> all = splitCosts();
    all.resize(4);
    for (const int comm : {1, 3, 30})
        all.push_back(costsOf(4, 3, 3, comm));
    all.push_back(costsOf(4, 2, 2, 3));
    return all;
}

std::vector<CostModel> slicedCosts(const ScheduleSpec& /*spec*/) {
    std::vector<CostModel> all = splitCosts();
    all.resize(4);
    all.push_back(costsOf(4, 3, 3, 1));
    return all;
}

/// Beyond whole rounds one ratio with a form and one without.
std::vector<CostModel> hanayoCosts(const ScheduleSpec& spec) {
    if (spec.microbatches % spec.pp == 0 || spec.microbatches <= spec.pp) return wholeCosts(spec);
    return {costsOf(4, 2, 2), costsOf(4, 3, 3)};
}

// Where a family claims an exact form for more than one rank; elsewhere it must give a bound.

bool always(const ScheduleSpec& /*spec*/, const CostModel& /*costs*/) {
    return true;
}

bool freeTransfers(const ScheduleSpec& /*spec*/, const CostModel& costs) {
    return costs.comm.count() == 0;
}

bool shortWeights(const OpTimes& t) {
    return t.weight_grad <= std::min(t.forward, t.input_grad);
}

bool delayedWeights(const ScheduleSpec& spec, const CostModel& costs) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    if (costs.comm.count() == 0) return m >= p || spec.vpp == 1;
    const bool enough = spec.vpp == 1 ? m >= 2 * p - 1 : m % p == 0 && m >= 2 * p;
    return enough && shortWeights(costs.times) && 2 * costs.comm <= costs.times.weight_grad;
}

bool zbH2(const ScheduleSpec& spec, const CostModel& costs) {
    const bool hidden =
        2 * costs.comm <= costs.times.forward || (costs.comm <= costs.times.weight_grad && shortWeights(costs.times));
    return costs.comm.count() == 0 || (spec.microbatches >= 2 * spec.pp - 1 && hidden);
}

bool zbV(const ScheduleSpec& spec, const CostModel& costs) {
    return costs.comm.count() == 0 && spec.microbatches >= 2 * spec.pp - 1;
}

bool hanayo(const ScheduleSpec& spec, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const bool rounds = spec.microbatches % spec.pp == 0;
    if (costs.comm.count() > 0) return rounds && t.forward == t.backward && costs.comm <= t.forward;
    return spec.microbatches <= spec.pp || t.forward == t.backward || (rounds && t.forward > t.backward);
}

struct Family {
    const char* name;
    const char* flavor;
    std::vector<int> chunks; ///< or slices of the sequence
    std::vector<CostModel> (*costs)(const ScheduleSpec& spec);
    bool (*exact)(const ScheduleSpec& spec, const CostModel& costs);
};

const std::vector<Family>& families() {
    static const std::vector<Family> all{
        {"zb-h1", "handcrafted", {1}, transferCosts, delayedWeights},
        {"zb-h1", "paddle", {1}, transferCosts, freeTransfers},
        {"zb-h2", "", {1}, transferCosts, zbH2},
        {"interleaved-zb", "", {2, 3, 4, 5, 6}, chunkedCosts, delayedWeights},
        {"zb-v", "handcrafted", {2}, transferCosts, zbV},
        {"zb-v", "torch", {2}, transferCosts, zbV},
        {"1f1b-overlap", "combined", {1}, wholePairs, always},
        {"1f1b-overlap", "paddle-mp", {1}, wholePairs, always},
        {"interleaved-overlap", "", {2, 3, 4, 5, 6}, wholePairs, always},
        {"dualpipe", "", {2}, splitPairs, freeTransfers},
        {"dualpipev", "deepseek", {2}, splitPairs, freeTransfers},
        {"dualpipev", "torch", {2}, splitPairs, freeTransfers},
        {"dualpipev", "paddle", {2}, splitPairs, freeTransfers},
        {"stp", "", {2}, exposedCosts, freeTransfers},
        {"chimera", "", {2}, wholeCosts, always},
        {"bitpipe", "", {4}, wholeCosts, always},
        {"hanayo", "", {2, 4, 6}, hanayoCosts, hanayo},
        {"seq1f1b", "", {1, 3}, slicedCosts, freeTransfers},
    };
    return all;
}

struct Case {
    const Family* family;
    int pp;

    friend std::ostream& operator<<(std::ostream& out, const Case& c) {
        return out << c.family->name << ' ' << c.family->flavor << " p=" << c.pp;
    }
};

ScheduleSpec specOf(const Case& c, int m, int chunks) {
    ScheduleSpec spec{c.family->name, c.family->flavor, c.pp, m, chunks};
    if (spec.name == "seq1f1b") {
        spec.vpp = 1;
        spec.sequence_slices = chunks;
    }
    return spec;
}

class SplitFormGrid : public testing::TestWithParam<Case> {};

TEST_P(SplitFormGrid, EqualsSimulation) {
    const Case& c = GetParam();
    int compared = 0;
    int bounds = 0;
    for (const int chunks : c.family->chunks) {
        for (int m = 1; m <= 64; ++m) {
            const ScheduleSpec spec = specOf(c, m, chunks);
            const auto schedule = makeSchedule(spec);
            if (!schedule.ok()) continue;
            const std::vector<CostModel> all_costs = c.family->costs(spec);
            for (std::size_t i = 0; i < all_costs.size(); ++i) {
                if (!test::timesInGrid(c.pp, m, i)) continue;
                const CostModel& costs = all_costs[i];
                const FormCheck check = checkForm(schedule.value(), costs);
                const bool exact = !check.refused && check.kind == FormKind::Exact;
                EXPECT_EQ(exact, c.pp == 1 || c.family->exact(spec, costs)) << c << " m=" << m << " v=" << chunks;
                compared += check.compared;
                bounds += exact ? 0 : 1;
            }
        }
    }
    RecordProperty("bounds", bounds);
    test::reportCompared(compared);
    EXPECT_GT(compared, 0);
}

std::vector<Case> allCases() {
    std::vector<Case> cases;
    for (const Family& family : families()) {
        const std::string name = family.name;
        const bool even = name == "dualpipe" || name == "chimera" || name == "bitpipe";
        for (int p = even ? 2 : 1; p <= 16; p += even ? 2 : 1)
            if (test::inGrid(p)) cases.push_back({&family, p});
    }
    return cases;
}

std::string caseName(const testing::TestParamInfo<Case>& info) {
    const Case& c = info.param;
    std::string name = std::string(c.family->name) + "_" + c.family->flavor + "_p" + std::to_string(c.pp);
    std::ranges::replace(name, '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(SplitAndTwoWay, SplitFormGrid, testing::ValuesIn(allCases()), caseName);

} // namespace
} // namespace bubblescope
