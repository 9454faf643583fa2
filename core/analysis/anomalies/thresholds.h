#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace bubblescope {

/// Limits for reporting anomalies. thresholdTable() contains their units and meanings. Users override limits by
/// name.
struct Thresholds {
    double least_cost = 0.02;
    double serious_cost = 0.1;
    double chance = 0.001;
    double stage_deviations = 6;
    double replica_ratio = 1.02;
    double onset_share = 0.03;
    double op_deviations = 8;
    double data_correlation = 0.7;
    double data_spread = 0.05;
    double link_ratio = 1.5;
    double exposed_comm = 0.05;
    double gradient_exchange = 0.05;
    double between_steps = 0.05;
    double host_starved = 0.05;
    double bubble_excess = 0.05;
    double device_gaps = 0.25;
    double warm_up = 1;
    double step_change_share = 0.1;
    double step_change_chance = 0.9;
    double step_change_hazard = 0.01;
    double memory_excess = 0.05;
    double clock_tolerance = 10;
    double clock_residual = 1000;
    double clock_spread = 50;
    double clock_drift = 200;
};

struct ThresholdInfo {
    std::string_view name; ///< the name that users specify: "cost.least"
    double Thresholds::*value;
    double least = 0; ///< allowed range
    double most = 0;
    std::string_view unit;
    std::string_view meaning;
};

/// The only table of thresholds, used for the manual, the command line and the code.
[[nodiscard]] std::span<const ThresholdInfo> thresholdTable();

/// Sets a threshold by name. Errors: Usage for unknown names and values outside the allowed range.
[[nodiscard]] Status setThreshold(Thresholds& thresholds, std::string_view name, double value);

/// Parses "NAME=VALUE" and sets it. Errors: Usage.
[[nodiscard]] Status setThreshold(Thresholds& thresholds, std::string_view assignment);

/// Reads overrides from a JSON object of names and numbers. Errors: Input, with the file and the problem.
[[nodiscard]] Status readThresholds(Thresholds& thresholds, const std::filesystem::path& file);

} // namespace bubblescope
