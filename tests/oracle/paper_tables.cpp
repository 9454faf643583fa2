#include "tests/oracle/paper_tables.h"

#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace bubblescope::test {
namespace {

std::vector<Json> allEntries() {
    return oracleDocument("papers/paper-tables.json").get<std::vector<Json>>();
}

} // namespace

const std::vector<PaperEntry>& paperEntries() {
    static const std::vector<PaperEntry> kEntries{
        {"ICLR Table 5 bubble rates", 12},
        {"ICLR Table 2 closed forms", 1},
        {"ICLR Table 1 FLOPs / activation memory", 1},
        {"ICLR Appendix H small m", 1},
        {"ICLR Section 5.4/B memory knee", 1},
        {"ICLR Table 4 measured throughput", 4},
        {"sail-sg README comparison table", 1},
        {"HF space description (controllable memory)", 1},
        {"arXiv figure memory limit vs bubble rate, ZB (heuristic)", 9},
        {"arXiv figure memory limit vs bubble rate, ZB-V (try_v_schedule)", 9},
        {"DualPipe README bubble table", 1},
        {"DualPipe README figure", 1},
        {"MindSpeed DualPipeV doc table", 1},
        {"Chimera bubble ratio", 1},
        {"BitPipe bubble ratio", 1},
        {"Victarry formula.py", 1},
        {"Megatron-LM interleaved legality", 1},
        {"deck: FThenB bubble positions", 1},
        {"deck: 1F1B bubble positions", 1},
        {"deck: unbalanced VPP", 1},
    };
    return kEntries;
}

std::vector<Json> paperEntriesOf(std::string_view what) {
    std::vector<Json> found;
    for (const Json& entry : allEntries()) {
        if (entry.at("what").get<std::string>().starts_with(what)) found.push_back(entry);
    }
    const auto listed = std::ranges::find(paperEntries(), what, &PaperEntry::what);
    EXPECT_NE(listed, paperEntries().end()) << what << " is in no list of entries";
    if (listed != paperEntries().end()) {
        EXPECT_EQ(static_cast<int>(found.size()), listed->entries) << what;
    }
    return found;
}

TEST(PaperTables, EveryEntryHasATest) {
    int entries = 0;
    for (const Json& entry : allEntries()) {
        const auto what = entry.at("what").get<std::string>();
        EXPECT_EQ(std::ranges::count_if(paperEntries(), [&](const PaperEntry& e) { return what.starts_with(e.what); }),
                  1)
            << what;
        ++entries;
    }
    EXPECT_EQ(entries, 50);
}

TimeNs paperTime(const Json& value, int scale) {
    return TimeNs{std::llround(value.get<double>() * scale)};
}

CostModel splitCosts(TimeNs forward, TimeNs input_grad, TimeNs weight_grad, TimeNs comm) {
    CostModel costs;
    costs.times = makeOpTimes(forward, {}, input_grad, weight_grad).value();
    costs.comm = comm;
    return costs;
}

StepTimeline runOf(ScheduleSpec spec, const CostModel& costs) {
    spec.times = costs.times;
    spec.comm = costs.comm;
    const auto schedule = makeSchedule(spec);
    EXPECT_TRUE(schedule.ok()) << schedule.error().text();
    if (!schedule.ok()) return {};
    auto step = simulate(schedule.value(), costs);
    EXPECT_TRUE(step.ok());
    return step.ok() ? std::move(step).value() : StepTimeline{};
}

} // namespace bubblescope::test
