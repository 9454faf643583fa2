// Orders of ops from files.

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
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

} // namespace

void scheduleJson(std::string_view bytes) {
    const auto schedule = scheduleFromJson(bytes, kInput);
    if (!schedule.ok()) return checkError(schedule.error());
    const auto again = scheduleFromJson(scheduleToJson(schedule.value()), kInput);
    require(again.ok() && again.value().ranks == schedule.value().ranks, "a schedule that is written is read again");
    run(schedule.value());
}

void scheduleCsv(std::string_view bytes) {
    const auto schedule = scheduleFromCsv(bytes, kInput);
    if (!schedule.ok()) return checkError(schedule.error());
    const auto text = scheduleToCsv(schedule.value());
    require(text.ok(), "what was read from CSV can be written as CSV");
    const auto again = scheduleFromCsv(text.value(), kInput);
    require(again.ok() && again.value().ranks == schedule.value().ranks, "a schedule that is written is read again");
    run(schedule.value());
}

} // namespace bubblescope::fuzz
