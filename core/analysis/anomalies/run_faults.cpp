#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/change_point.h"
#include "core/analysis/statistics/robust.h"
#include "core/base/field.h"
#include "core/recognise/lost_records.h"

#include <algorithm>
#include <string>

// Findings about the complete run: its step times, clocks, records, memory and devices.
namespace bubblescope {

void findLongWarmUp(const AnomalyInput& input, Anomalies& found) {
    TimeNs longer{0};
    std::size_t count = 0;
    Cases cases;
    for (const SelectedStep& step : input.selection.steps()) {
        if (step.timelines.empty() || input.selection.whyAside(step.longest) != SetAside::WarmUp) continue;
        longer += step.time - input.selection.stepTime();
        cases.add(step.longest);
        ++count;
    }
    const auto typical = static_cast<double>(input.selection.stepTime().count());
    const double steps = typical > 0 ? static_cast<double>(longer.count()) / typical : 0;
    if (count == 0 || steps < input.limits.warm_up) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::LongWarmUp;
    anomaly.severity = Severity::Notice; // it happens once
    anomaly.step = input.selection.steps().front().index;
    input.setSeen(anomaly, cases);
    anomaly.evidence = {{"extra_time_ns", static_cast<double>(longer.count())},
                        {"warm_up_steps", static_cast<double>(count)},
                        {"typical_ns", typical}};
    anomaly.message = say(
        "warm-up takes {}: {} longer than the same number of typical steps, or the time of {:.1f} additional steps.",
        sayCounted("{} step", "{} steps", count), formatTime(longer), steps);
    anomaly.suggestion = say("This happens once per start. If jobs start often, cache compiled kernels and autotuning "
                             "results, and allocate memory before the first step. Record later steps.");
    found.push_back(std::move(anomaly));
}

void findStepTimeChanges(const AnomalyInput& input, Anomalies& found) {
    std::vector<int> steps;
    std::vector<double> walls;
    const auto& all = input.selection.steps();
    const auto aside = [&](const SelectedStep& step) {
        return !step.timelines.empty() && !input.selection.isSteady(step.longest);
    };
    // The last steps may be the start of a change.
    std::size_t settled = all.size();
    while (settled > 0 && aside(all[settled - 1]))
        --settled;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const SelectedStep& step = all[i];
        if (i < settled && aside(step)) continue;
        steps.push_back(step.index);
        walls.push_back(static_cast<double>(step.time.count()));
    }
    statistics::ChangeLimits limits;
    limits.probability = input.limits.step_change_chance;
    limits.hazard = input.limits.step_change_hazard;
    limits.least_share = input.limits.step_change_share;
    for (const statistics::Change& change : statistics::findChanges(walls, limits)) {
        if (std::abs(change.after - change.before) <= static_cast<double>(input.clocks.bound().count())) continue;
        const bool longer = change.after > change.before;
        const double ratio = change.after / change.before;
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::StepTimeChange;
        anomaly.severity = !longer                                      ? Severity::Notice
                           : ratio - 1 >= input.limits.serious_cost * 2 ? Severity::Serious
                                                                        : Severity::Warning;
        anomaly.step = steps[change.at];
        input.setLasting(anomaly, *anomaly.step);
        anomaly.evidence = {{"before_ns", change.before},
                            {"after_ns", change.after},
                            {"ratio", ratio},
                            {"probability", change.probability}};
        anomaly.message =
            say("steps take {} from step {} on, {} than the {} before.",
                formatTime(TimeNs{static_cast<std::int64_t>(change.after)}), steps[change.at],
                longer ? say("{:.1f} % more", 100 * (ratio - 1)) : say("{:.1f} % less", 100 * (1 - ratio)),
                formatTime(TimeNs{static_cast<std::int64_t>(change.before)}));
        anomaly.suggestion =
            longer ? say("Check which rank, link or op changed at that point. If all did, check the input sizes.")
                   : say("No action needed, unless the step time should be constant.");
        found.push_back(std::move(anomaly));
    }
}

namespace {

void reportSkew(const AnomalyInput& input, Anomalies& found) {
    const RunClocks& clocks = input.clocks;
    if (clocks.method != ClockMethod::Aligned) return;
    const RankClock* worst = nullptr;
    for (const RankClock& rank : clocks.ranks) {
        const TimeNs off = std::chrono::abs(rank.fit.offset);
        const bool skewed = static_cast<double>(off.count()) > 1e3 * input.limits.clock_tolerance &&
                            off > rank.fit.bound; // below the error, nothing is reported
        if (skewed && (worst == nullptr || off > std::chrono::abs(worst->fit.offset))) worst = &rank;
    }
    if (worst == nullptr) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::ClockSkew;
    anomaly.severity = Severity::Notice; // it was corrected
    anomaly.rank = worst->rank;
    if (worst->replica != 0) anomaly.replica = worst->replica;
    anomaly.evidence = {{"offset_ns", static_cast<double>(worst->fit.offset.count())},
                        {"error_bound_ns", static_cast<double>(worst->fit.bound.count())},
                        {"drift_ppm", worst->fit.drift * 1e6},
                        {"residual_ns", static_cast<double>(clocks.residual.count())}};
    anomaly.message = say("the clock of rank {} differs by {} (± {}) from the first rank's clock; all times were "
                          "aligned to one clock before the analysis.",
                          worst->rank.value, formatTimeDelta(worst->fit.offset), formatTime(worst->fit.bound));
    anomaly.suggestion = say("Synchronise the hosts' clocks (PTP, or NTP with a nearby server) to reduce the error.");
    found.push_back(std::move(anomaly));
}

/// Reports the first rank of each clock that was set.
void reportSteps(const AnomalyInput& input, Anomalies& found) {
    if (input.clocks.method != ClockMethod::Aligned) return;
    std::vector<std::pair<std::string, TimeNs>> told; // ranks on one host share a clock
    for (const ClockStep& step : input.clocks.steps()) {
        const RankClock& clock = *step.clock;
        if (!clock.host.empty() && std::ranges::find(told, std::pair(clock.host, step.at)) != told.end()) continue;
        told.emplace_back(clock.host, step.at);
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::ClockSkew;
        anomaly.severity = Severity::Warning;
        anomaly.rank = clock.rank;
        if (clock.replica != 0) anomaly.replica = clock.replica;
        anomaly.when = TimeInterval{step.at - step.within, step.at + step.within};
        anomaly.evidence = {{"change_ns", static_cast<double>(step.size.count())},
                            {"at_ns", static_cast<double>(step.at.count())},
                            {"time_error_ns", static_cast<double>(step.within.count())},
                            {"error_bound_ns", static_cast<double>(clock.fit.bound.count())}};
        anomaly.message =
            say("the clock of rank {} was changed by {} during the run, at {} (± {}); times before and after were "
                "aligned separately.",
                clock.rank.value, formatTimeDelta(step.size), formatTime(step.at), formatTime(step.within));
        anomaly.suggestion =
            say("Configure the hosts' time service to slew clocks while jobs run, and to step them only at boot.");
        found.push_back(std::move(anomaly));
    }
}

void reportCausality(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found) {
    const TimeNs bound = input.clocks.bound() + TimeNs{static_cast<std::int64_t>(1e3 * input.limits.clock_tolerance)} +
                         2 * input.clocks.residual;
    std::size_t count = 0;
    TimeNs worst{0};
    Anomaly anomaly;
    Cases cases;
    for (const Backwards& transfer : transfers.backwards) {
        if (transfer.early <= bound) continue;
        ++count;
        cases.add(transfer.step);
        if (transfer.early <= worst) continue;
        worst = transfer.early;
        anomaly.rank = transfer.to;
        anomaly.peer = transfer.from;
        anomaly.step = input.run.steps[transfer.step].index;
        anomaly.when = TimeInterval{transfer.start, transfer.end};
    }
    if (count == 0) return;
    input.setSeen(anomaly, cases);
    anomaly.kind = AnomalyKind::CausalityViolation;
    anomaly.severity = Severity::Serious;
    anomaly.evidence = {{"transfers", static_cast<double>(count)},
                        {"worst_ns", static_cast<double>(worst.count())},
                        {"error_bound_ns", static_cast<double>(bound.count())}};
    anomaly.message =
        say("{}; the worst is on rank {} from rank {} in step {}: {} early (clock error: {}).",
            count == 1 ? say("a receive ends before its send starts")
                       : say("{} receives end before their sends start", count),
            anomaly.rank->value, anomaly.peer->value, *anomaly.step, formatTime(worst), formatTime(bound));
    anomaly.suggestion =
        say("Align the clocks ({}). If they are already aligned, the trace pairs sends with the wrong receives.",
            optionOf(Field("clocks"), "align"));
    found.push_back(std::move(anomaly));
}

} // namespace

void findClockFaults(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found) {
    reportSkew(input, found);
    reportSteps(input, found);
    reportCausality(input, transfers, found);
}

void findLostRecords(const AnomalyInput& input, Anomalies& found) {
    for (const Diagnostic& problem : input.run.problems) {
        if (!meansLostRecords(problem)) continue;
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::LostRecords;
        anomaly.severity = Severity::Warning;
        anomaly.evidence = {{"count", static_cast<double>(problem.count)}};
        anomaly.message = say("{}: {} ({}, {}).", problem.where, problem.message, problem.kind,
                              problem.count == 1 ? say("once") : say("{} times", problem.count));
        anomaly.suggestion = say("Times near the lost records may be wrong. Record with larger buffers, and let the "
                                 "recorder finish before the job ends.");
        found.push_back(std::move(anomaly));
    }
}

void findMemoryFaults(const AnomalyInput& input, Anomalies& found) {
    if (input.memory_estimate.empty()) return;
    const auto& peaks = input.slices.memory_peaks;
    for (std::size_t file = 0; file < peaks.size(); ++file) {
        if (!peaks[file]) continue;
        const double peak = *peaks[file];
        const auto global = input.run.inputs()[file].rank;
        if (!global || static_cast<std::size_t>(*global) >= input.memory_estimate.size()) continue;
        const auto estimate = static_cast<double>(input.memory_estimate[static_cast<std::size_t>(*global)]);
        if (estimate <= 0 || peak <= estimate * (1 + input.limits.memory_excess)) continue;
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::MemoryAboveEstimate;
        anomaly.severity = Severity::Warning;
        anomaly.rank = Rank{*global};
        anomaly.evidence = {{"peak_bytes", peak}, {"estimated_bytes", estimate}, {"ratio", peak / estimate}};
        anomaly.message = say("rank {} peaks at {:.0f} bytes, {:.2f} × its estimate of {:.0f}.", *global, peak,
                              peak / estimate, estimate);
        anomaly.suggestion = say("Check the sizes in the memory model. It does not include fragmentation or the "
                                 "communication library's buffers.");
        found.push_back(std::move(anomaly));
    }
}

void findLaunchBound(const AnomalyInput& input, Anomalies& found) {
    constexpr std::size_t kFewestOps = 4;
    for (const auto& [stage, gaps] : input.slices.device_gaps) {
        const double fraction = statistics::median(gaps.fractions);
        if (gaps.fractions.size() < kFewestOps || fraction < input.limits.device_gaps) continue;
        const auto& [rank, chunk] = stage;
        const TimeNs idle = gaps.idle / static_cast<std::int64_t>(input.run.steps.size());
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::LaunchBound;
        anomaly.severity = Severity::Warning;
        anomaly.rank = rank;
        anomaly.chunk = chunk;
        input.setLasting(anomaly);
        anomaly.evidence = {{"chunk", chunk.value},
                            {"gap_share", fraction},
                            {"idle_per_step_ns", static_cast<double>(idle.count())},
                            {"ops", static_cast<double>(gaps.fractions.size())}};
        anomaly.message = say("the device of rank {} idles {:.0f} % of the time during ops of chunk {} ({} per step): "
                              "the host launches kernels more slowly than they run.",
                              rank.value, 100 * fraction, chunk.value, formatTime(idle));
        anomaly.suggestion =
            say("Use CUDA graphs, compile the model, or fuse small kernels; look for synchronising calls in the ops.");
        found.push_back(std::move(anomaly));
    }
}

} // namespace bubblescope
