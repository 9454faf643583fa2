// Bytes as a schedule document, through validation and simulation.

#include "core/schedule/schedule_json.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"
#include "core/timeline/text_chart.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bubblescope;
    const auto schedule = scheduleFromJson({reinterpret_cast<const char*>(data), size}, "input");
    if (!schedule.ok()) return 0;
    const bool valid = validate(schedule.value()).empty();
    CostModel costs;
    costs.times = {TimeNs{1}, TimeNs{2}, TimeNs{1}, TimeNs{1}, TimeNs{1}};
    const auto step = simulate(schedule.value(), costs);
    if (step.ok() != valid) std::abort();
    if (step.ok()) (void)textChart(step.value());
    return 0;
}
