#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

enum class Framework : std::uint8_t { Torchtitan, GraphPp, Automodel, Megatron, DeepSpeed };

/// As on the command line: "torchtitan", "graph-pp", "automodel", "megatron", "deepspeed".
[[nodiscard]] std::optional<Framework> frameworkFromName(std::string_view name);
[[nodiscard]] const std::vector<std::string>& frameworkNames();

/// The configuration with which a framework runs an order.
struct OrderSetup {
    std::string framework;   ///< display name
    bool takes_file = false; ///< reads the order from PyTorch's CSV; otherwise the framework generates the order itself
    std::string schedule_name; ///< the framework's name of a schedule, which must be given with it
    struct Setting {
        std::string name;
        std::string value;
    };
    std::vector<Setting> settings;  ///< command-line options, or keys of its configuration
    std::vector<std::string> notes; ///< other requirements, and differences in the framework's behaviour
};

/// The setup with which `framework` runs this order. The order's name identifies its family (matchSchedule()). `file`
/// is the path at which the framework will find the CSV.
///
/// torchtitan, its graph_pp and NeMo Automodel run a CSV with PyTorch's _PipelineScheduleRuntime, but assign stages to
/// ranks by the *name* of a schedule: a loop, or a V of two stages per rank. Megatron-core and DeepSpeed cannot read an
/// order: they get settings if the order is one that they generate.
///
/// Errors: Usage, with the reason why the framework cannot run the order.
[[nodiscard]] Result<OrderSetup> orderSetup(const Schedule& schedule, Framework framework, const std::string& file);

} // namespace bubblescope
