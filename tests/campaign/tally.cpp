#include "tests/campaign/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace bubblescope::campaign {
namespace {

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

void printRow(const std::string& name, const std::string& runs, int due, int told, int blamed) {
    fmt::print("{:<26}{:>6}{:>6}{:>9.1f}{:>9.1f}\n", name, runs, due, 100.0 * told / std::max(1, due),
               100.0 * blamed / std::max(1, told));
}

} // namespace

bool full() {
    const char* const size = std::getenv("BUBBLESCOPE_CAMPAIGN");
    return size != nullptr && std::string_view(size) == "full";
}

std::vector<ScheduleSpec> schedules() {
    return {{"1f1b", "", 4, 8, 1},  {"1f1b", "", 8, 16, 1}, {"fthenb", "", 4, 8, 1},    {"interleaved", "", 4, 8, 2},
            {"zb-h1", "", 4, 8, 1}, {"zb-v", "", 4, 8, 2},  {"dualpipev", "", 4, 10, 2}};
}

std::string describe(const Job& job, const RunReport& report) {
    std::string text = fmt::format(
        "{} of {:.2f} on rank {} ({} -> {}), chunk {}, {} in step {}, cost {:.3f}; told:", faultName(job.fault.kind),
        job.fault.size, job.fault.rank.value, job.fault.rank.value, job.fault.peer.value, job.fault.chunk.value,
        opName(job.fault.op), job.fault.step, job.cost);
    for (const Anomaly& anomaly : report.anomalies)
        text += fmt::format("\n  {}: {}", anomalyKindName(anomaly.kind), anomaly.message.text());
    return text;
}

void Tally::add(const Job& job, const RunReport& report, const std::string& where) {
    Row& row = rows_[job.fault.kind];
    ++row.runs;
    if (job.cost < kCostThatCounts && !toldWhateverItCosts(job.fault.kind)) return;
    ++row.due;
    const Anomaly* const first = leading(report, job.fault.kind);
    const bool told =
        std::ranges::any_of(report.anomalies, [&](const Anomaly& anomaly) { return blames(anomaly, job); });
    const bool blamed = first != nullptr && blames(*first, job);
    row.told += first != nullptr ? 1 : 0;
    row.blamed_first += blamed ? 1 : 0;
    if (!told || !blamed) fmt::print("{}: {}\n", where, describe(job, report));
}

void Tally::print() const {
    fmt::print("{:<26}{:>6}{:>6}{:>9}{:>9}\n", "fault", "runs", "due", "found %", "blame %");
    for (const auto& [kind, row] : rows_)
        printRow(faultName(kind), std::to_string(row.runs), row.due, row.told, row.blamed_first);
    printRow("all", "", due(), told(), blamedFirst());
}

int Tally::sum(int Row::*of) const {
    int all = 0;
    for (const auto& [kind, row] : rows_)
        all += row.*of;
    return all;
}

int Tally::due() const {
    return sum(&Row::due);
}
int Tally::told() const {
    return sum(&Row::told);
}
int Tally::blamedFirst() const {
    return sum(&Row::blamed_first);
}

} // namespace bubblescope::campaign
