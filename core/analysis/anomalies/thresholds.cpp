#include "core/analysis/anomalies/thresholds.h"

#include "core/base/field.h"
#include "core/base/input_file.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace bubblescope {

std::span<const ThresholdInfo> thresholdTable() {
    using T = Thresholds;
    static constexpr std::array kTable{
        ThresholdInfo{"cost.least", &T::least_cost, 0, 1, "share of the step", "minimum gain per step to report"},
        ThresholdInfo{"cost.serious", &T::serious_cost, 0, 1, "share of the step",
                      "cost per step above which a finding is serious"},
        ThresholdInfo{"chance", &T::chance, 0, 1, "probability",
                      "family-wise error rate of a statistical test: the probability of any false finding across all "
                      "its comparisons"},
        ThresholdInfo{"stage.deviations", &T::stage_deviations, 0, 1000, "median deviations",
                      "deviation of a slow stage from the median stage"},
        ThresholdInfo{"replica.ratio", &T::replica_ratio, 1, 1000, "ratio",
                      "time of a straggler relative to its peers in other replicas"},
        ThresholdInfo{"onset.share", &T::onset_share, 0, 1000, "share of the op times",
                      "sustained slowdown above which a rank is a straggler"},
        ThresholdInfo{"slow-op.deviations", &T::op_deviations, 0, 1000, "standard deviations",
                      "deviation of a slow op from the usual time of similar ops"},
        ThresholdInfo{"data.correlation", &T::data_correlation, 0, 1, "correlation",
                      "correlation of forward and backward times above which micro-batches count as unequal, on each "
                      "rank and across ranks"},
        ThresholdInfo{"data.spread", &T::data_spread, 0, 1000, "share of the op times",
                      "standard deviation of forward times above which micro-batches count as unequal"},
        ThresholdInfo{"link.ratio", &T::link_ratio, 1, 1000, "ratio",
                      "time of a slow link relative to the median link, or to its own earlier time"},
        ThresholdInfo{"communication.exposed", &T::exposed_comm, 0, 1, "share of the step",
                      "communication that compute waits for, excluding slow links; median over steps"},
        ThresholdInfo{"gradients.exchange", &T::gradient_exchange, 0, 1, "share of the step",
                      "time between the pipeline's end and the optimizers' start; median over steps"},
        ThresholdInfo{"steps.between", &T::between_steps, 0, 1, "share of the period",
                      "unexplained time between steps"},
        ThresholdInfo{"host.starved", &T::host_starved, 0, 1, "share of the step",
                      "time that a rank's process waits for a core; median over steps"},
        ThresholdInfo{"bubble.excess", &T::bubble_excess, 0, 1, "share of the step",
                      "idle time above the closed form; mean over ranks"},
        ThresholdInfo{"launch.gaps", &T::device_gaps, 0, 1, "share of the op",
                      "idle device time during a stage's ops; median over ops"},
        ThresholdInfo{"warm-up.steps", &T::warm_up, 0, 1e6, "steps",
                      "total excess time of the first steps, in units of a typical step"},
        ThresholdInfo{"step-change.share", &T::step_change_share, 0, 1000, "share of the step",
                      "smallest difference between step times before and after a change"},
        ThresholdInfo{"step-change.chance", &T::step_change_chance, 0, 1, "probability",
                      "posterior probability above which a change is accepted"},
        ThresholdInfo{"step-change.hazard", &T::step_change_hazard, 1e-9, 0.5, "probability",
                      "prior probability of a change at any step"},
        ThresholdInfo{"memory.excess", &T::memory_excess, 0, 1000, "share of the estimate",
                      "excess of peak memory over the estimate"},
        ThresholdInfo{"clock.tolerance", &T::clock_tolerance, 0, 1e9, "us",
                      "largest contradiction between events and recorded clocks at which the clocks are still trusted"},
        ThresholdInfo{"clock.residual", &T::clock_residual, 0, 1e9, "us",
                      "largest contradiction between events at which clocks are still aligned"},
        ThresholdInfo{"clock.spread", &T::clock_spread, 0, 1e9, "us",
                      "time within which all members leave a collective"},
        ThresholdInfo{"clock.drift", &T::clock_drift, 0, 1e5, "ppm", "largest drift between two clocks"},
    };
    return kTable;
}

Status setThreshold(Thresholds& thresholds, std::string_view name, double value) {
    const auto known = std::ranges::find(thresholdTable(), name, &ThresholdInfo::name);
    if (known == thresholdTable().end())
        return usageError(fmt::format("unknown threshold '{}'", name),
                          fmt::format("'bubblescope anomalies {}' lists them", optionOf(Field("thresholds"))));
    if (!(value >= known->least && value <= known->most)) {
        return usageError(fmt::format("threshold {} must be between {} and {} ({}), not {}", name, known->least,
                                      known->most, known->unit, value));
    }
    thresholds.*(known->value) = value;
    return {};
}

Status setThreshold(Thresholds& thresholds, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    const auto value = parseNumber<double>(equals == std::string_view::npos ? "" : assignment.substr(equals + 1));
    if (!value || !std::isfinite(*value))
        return usageError(fmt::format("'{}' is not a threshold", assignment),
                          "write NAME=NUMBER, such as cost.least=0.05");
    return setThreshold(thresholds, assignment.substr(0, equals), *value);
}

Status readThresholds(Thresholds& thresholds, const std::filesystem::path& file) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file.string()));
    BUBBLESCOPE_ASSIGN(
        const WrittenInput input,
        inputFrom(text, file.string(), "", "a JSON object of thresholds, such as {\"cost.least\": 0.05}"));
    for (const auto& [name, value] : input.document.items()) {
        if (!value.is_number()) return input.place.at(name).error("is not a number");
        const Status set = setThreshold(thresholds, name, value.get<double>());
        if (!set.ok()) return input.place.error(fmt::format("does not hold: {}", set.error().text()));
    }
    return {};
}

} // namespace bubblescope
