#include "tests/campaign/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace bubblescope::campaign {
namespace {

bool toldWhateverItCosts(FaultKind kind) {
    return kind == FaultKind::WrongOrder || kind == FaultKind::DroppedRecord || kind == FaultKind::SkewedClock;
}

/// The first finding that should reveal a fault of this kind: the most expensive one, or the first of its kinds.
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

double medianOf(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// The saving per step that a finding states, as a share of the median step that has it.
double shareOf(const Anomaly& anomaly, const RunReport& report) {
    std::vector<double> walls;
    for (const StepAnalysis& step : report.steps) {
        const bool has = anomaly.kind == AnomalyKind::SlowOp ? step.index == anomaly.step
                                                             : step.index >= anomaly.step.value_or(step.index);
        if (has) walls.push_back(static_cast<double>(step.wall.count()));
    }
    return static_cast<double>(anomaly.cost.count()) / std::max(1.0, medianOf(std::move(walls)));
}

void printRow(const std::string& name, const std::string& runs, int due, int told, int blamed, double cost_error) {
    fmt::print("{:<26}{:>6}{:>6}{:>9.1f}{:>9.1f}{:>15.1f}\n", name, runs, due, 100.0 * told / std::max(1, due),
               100.0 * blamed / std::max(1, told), 100 * cost_error);
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
    if (blamed && first->cost > TimeNs{0} && job.cost > 0) {
        const double saved = 1 - 1 / (1 + job.cost); // of a step with the fault
        row.cost_errors.push_back(std::abs(shareOf(*first, report) / saved - 1));
    }
    if (!told || !blamed) fmt::print("{}: {}\n", where, describe(job, report));
}

void Tally::print() const {
    fmt::print("{:<26}{:>6}{:>6}{:>9}{:>9}{:>15}\n", "fault", "runs", "due", "found %", "blame %", "cost off by %");
    for (const auto& [kind, row] : rows_)
        printRow(faultName(kind), std::to_string(row.runs), row.due, row.told, row.blamed_first,
                 medianOf(row.cost_errors));
    printRow("all", "", due(), told(), blamedFirst(), costError());
}

double Tally::costError() const {
    std::vector<double> all;
    for (const auto& [kind, row] : rows_)
        all.insert(all.end(), row.cost_errors.begin(), row.cost_errors.end());
    return medianOf(std::move(all));
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
