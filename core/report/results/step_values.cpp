#include "core/report/results/step_values.h"

#include <fmt/format.h>

namespace bubblescope::report {

Value::Object stepValuesOf(const StepValues& values) {
    Value::Object object;
    if (values.loss) object.push_back({"loss", *values.loss});
    for (const auto& [name, member] : kStepCounts)
        if (values.*member) object.push_back({std::string(name), *(values.*member)});
    return object;
}

std::string lossText(double loss) {
    return fmt::format("{:.5g}", loss);
}

} // namespace bubblescope::report
