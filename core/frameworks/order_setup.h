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

/// Parses a framework name from the command line: "torchtitan", "graph-pp", "automodel", "megatron", "deepspeed".
[[nodiscard]] std::optional<Framework> frameworkFromName(std::string_view name);
[[nodiscard]] const std::vector<std::string>& frameworkNames();

/// How to configure a framework to run an order.
struct OrderSetup {
    std::string framework;     ///< display name
    bool takes_file = false;   ///< true if the framework reads the order from PyTorch's CSV, false if it generates it
    std::string schedule_name; ///< name of a schedule in the framework, if one must be specified
    struct Setting {
        std::string name;
        std::string value;
    };
    std::vector<Setting> settings;  ///< command-line options or configuration keys to set
    std::vector<std::string> notes; ///< other requirements, and differences in how the framework runs the order
};

/// Configures `framework` to run this order. The name of the order identifies its family (matchSchedule()). `file` is
/// the path of the CSV as seen by the framework.
///
/// torchtitan, its graph_pp and NeMo Automodel run a CSV with PyTorch's _PipelineScheduleRuntime. However, these
/// programs assign stages to ranks according to the *name* of a schedule: a loop, or a V of two stages per rank.
/// Megatron-core and DeepSpeed cannot read an order; they only get settings, and only for orders that they generate.
///
/// Errors: Usage, with the reason, if the framework cannot run the order.
[[nodiscard]] Result<OrderSetup> orderSetup(const Schedule& schedule, Framework framework, const std::string& file);

} // namespace bubblescope
