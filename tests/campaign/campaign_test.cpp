#include "tests/campaign/campaign.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

namespace bubblescope::campaign {
namespace {

/// Faults that cost a step less need not be told.
constexpr double kCostThatCounts = 0.03;

bool full() {
    const char* const size = std::getenv("BUBBLESCOPE_CAMPAIGN");
    return size != nullptr && std::string_view(size) == "full";
}

std::vector<ScheduleSpec> schedules() {
    return {{"1f1b", "", 4, 8, 1},  {"1f1b", "", 8, 16, 1}, {"fthenb", "", 4, 8, 1},    {"interleaved", "", 4, 8, 2},
            {"zb-h1", "", 4, 8, 1}, {"zb-v", "", 4, 8, 2},  {"dualpipev", "", 4, 10, 2}};
}

struct Row {
    int runs = 0;
    int due = 0; ///< that cost enough, or whose kind is told whatever it costs
    int told = 0;
    int blamed_first = 0; ///< of those told: what costs most is blamed on the right rank and op
};

bool toldWhateverItCosts(FaultKind kind) {
    return kind == FaultKind::WrongOrder || kind == FaultKind::DroppedRecord || kind == FaultKind::SkewedClock;
}

/// The first finding that a fault of this kind should be told by: what costs most, or the first of its kinds.
const Anomaly* leading(const RunReport& report, FaultKind kind) {
    for (const Anomaly& anomaly : report.anomalies) {
        const bool suits = kind == FaultKind::WrongOrder      ? anomaly.kind == AnomalyKind::OrderDeparture
                           : kind == FaultKind::DroppedRecord ? anomaly.kind == AnomalyKind::MissingOp
                           : kind == FaultKind::SkewedClock   ? anomaly.kind == AnomalyKind::ClockSkew
                                                              : anomaly.cost > TimeNs{0};
        if (suits) return &anomaly;
    }
    return nullptr;
}

std::string describe(const Job& job, const RunReport& report) {
    std::string text = fmt::format(
        "{} of {:.2f} on rank {} ({} -> {}), chunk {}, {} in step {}, cost {:.3f}; told:", faultName(job.fault.kind),
        job.fault.size, job.fault.rank.value, job.fault.rank.value, job.fault.peer.value, job.fault.chunk.value,
        opName(job.fault.op), job.fault.step, job.cost);
    for (const Anomaly& anomaly : report.anomalies)
        text += fmt::format("\n  {}: {}", anomalyKindName(anomaly.kind), anomaly.message);
    return text;
}

TEST(Campaign, NoFalseAlarmInCleanRuns) {
    const int runs = full() ? 420 : 56;
    int alarms = 0;
    for (int i = 0; i < runs; ++i) {
        const auto specs = schedules();
        const ScheduleSpec& spec = specs[static_cast<std::size_t>(i) % specs.size()];
        Job job = makeJob(spec, FaultKind::None, 1000 + static_cast<std::uint64_t>(i));
        const auto report = diagnoseRun(job.run);
        ASSERT_TRUE(report.ok()) << report.error().text();
        alarms += report.value().anomalies.empty() ? 0 : 1;
        EXPECT_TRUE(report.value().anomalies.empty()) << spec.name << " " << i << ": " << describe(job, report.value());
    }
    fmt::print("clean runs: {}, with a finding: {}\n", runs, alarms);
}

TEST(Campaign, FindsFaultsAndBlamesTheRightRankAndOp) {
    const int runs = full() ? 40 : 3; // of each schedule and kind
    std::map<int, Row> rows;
    std::uint64_t seed = 1;
    for (const ScheduleSpec& spec : schedules()) {
        for (int kind = 1; kind < kFaultKinds; ++kind) {
            for (int i = 0; i < runs; ++i) {
                Job job = makeJob(spec, static_cast<FaultKind>(kind), seed++);
                const auto report = diagnoseRun(job.run);
                ASSERT_TRUE(report.ok()) << report.error().text();
                Row& row = rows[kind];
                ++row.runs;
                if (job.cost < kCostThatCounts && !toldWhateverItCosts(job.fault.kind)) continue;
                ++row.due;
                const Anomaly* const first = leading(report.value(), job.fault.kind);
                const bool told = std::ranges::any_of(report.value().anomalies,
                                                      [&](const Anomaly& anomaly) { return blames(anomaly, job); });
                row.told += first != nullptr ? 1 : 0;
                row.blamed_first += first != nullptr && blames(*first, job) ? 1 : 0;
                if (!told || first == nullptr || !blames(*first, job))
                    fmt::print("{} seed {}: {}\n", spec.name, seed - 1, describe(job, report.value()));
            }
        }
    }
    fmt::print("{:<26}{:>6}{:>6}{:>9}{:>9}\n", "fault", "runs", "due", "found %", "blame %");
    int due = 0;
    int told = 0;
    int blamed = 0;
    for (const auto& [kind, row] : rows) {
        fmt::print("{:<26}{:>6}{:>6}{:>9.1f}{:>9.1f}\n", faultName(static_cast<FaultKind>(kind)), row.runs, row.due,
                   100.0 * row.told / std::max(1, row.due), 100.0 * row.blamed_first / std::max(1, row.told));
        due += row.due;
        told += row.told;
        blamed += row.blamed_first;
    }
    fmt::print("{:<26}{:>6}{:>6}{:>9.1f}{:>9.1f}\n", "all", "", due, 100.0 * told / due, 100.0 * blamed / told);
    EXPECT_GE(told, 0.99 * due);
    EXPECT_GE(blamed, 0.99 * told);
}

} // namespace
} // namespace bubblescope::campaign
