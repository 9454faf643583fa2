// Orders of ops from files.

#include "core/graph/simulate.h"
#include "core/graph/simulate_lowered.h"
#include "core/graph/validate_lowered.h"
#include "core/schedule/schedule_files.h"
#include "core/timeline/text_chart.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace bubblescope::fuzz {
namespace {

void run(const Schedule& schedule) {
    const bool valid = validate(schedule).empty();
    CostModel costs;
    costs.times = {TimeNs{1}, TimeNs{2}, TimeNs{1}, TimeNs{1}, TimeNs{1}};
    const auto step = simulate(schedule, costs);
    require(step.ok() == valid, "what is valid can be simulated, and nothing else");
    if (step.ok()) (void)textChart(step.value());
}

void runLowered(const LoweredSchedule& lowered) {
    CostModel costs;
    costs.times = {TimeNs{1}, TimeNs{2}, TimeNs{1}, TimeNs{1}, TimeNs{1}};
    for (const CommunicatorKind kind : {CommunicatorKind::One, CommunicatorKind::Edge, CommunicatorKind::Tag}) {
        const QueueModel queues{{kind, {}}, 0, false};
        const LoweredValidation found = validateLowered(lowered, {}, queues);
        const auto step = simulateLowered(lowered, costs, queues);
        if (step.ok()) require(found.problems.empty(), "what can be simulated has no problem");
        if (found.problems.empty() && found.hang) require(step.ok(), "what cannot hang can be simulated");
    }
}

} // namespace

void scheduleJson(std::string_view bytes) {
    const auto lowered = loweredFromJson(bytes, kInput);
    if (lowered.ok()) runLowered(lowered.value());
    const auto schedule = scheduleFromJson(bytes, kInput);
    if (!schedule.ok()) return checkError(schedule.error());
    const auto again = scheduleFromJson(scheduleToJson(schedule.value()), kInput);
    require(again.ok() && again.value().ranks == schedule.value().ranks, "a schedule that is written is read again");
    run(schedule.value());
}

void scheduleCsv(std::string_view bytes) {
    const auto lowered = loweredFromCsv(bytes, kInput);
    if (lowered.ok()) {
        runLowered(lowered.value());
        if (const auto text = scheduleToCsv(lowered.value()); text.ok()) {
            const auto again = loweredFromCsv(text.value(), kInput);
            require(again.ok() && again.value().actions == lowered.value().actions, "actions are read again");
        }
    }
    const auto schedule = scheduleFromCsv(bytes, kInput);
    if (!schedule.ok()) return checkError(schedule.error());
    const auto text = scheduleToCsv(schedule.value());
    require(text.ok(), "what was read from CSV can be written as CSV");
    const auto again = scheduleFromCsv(text.value(), kInput);
    require(again.ok() && again.value().ranks == schedule.value().ranks, "a schedule that is written is read again");
    run(schedule.value());
}

} // namespace bubblescope::fuzz
