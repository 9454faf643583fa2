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

/// How a framework is set to run an order.
struct OrderSetup {
    std::string framework;     ///< for people
    bool takes_file = false;   ///< it reads the order from PyTorch's CSV; else it makes the order itself
    std::string schedule_name; ///< the framework's name of a schedule, which has to be given with it
    struct Setting {
        std::string name;
        std::string value;
    };
    std::vector<Setting> settings;  ///< options of its command line, or keys of its configuration
    std::vector<std::string> notes; ///< what else has to hold, and what the framework does differently
};

/// What makes `framework` run this order, whose name says which family's it is (matchSchedule()). `file` is where the
/// framework will find the CSV.
///
/// torchtitan, its graph_pp and NeMo Automodel run a CSV with PyTorch's _PipelineScheduleRuntime, but deal stages to
/// ranks by the *name* of a schedule: a loop, or a V of two stages a rank. Megatron-core and DeepSpeed read no order:
/// they get settings where the order is one that they make.
///
/// Errors: Usage, with the reason why the framework cannot run the order.
[[nodiscard]] Result<OrderSetup> orderSetup(const Schedule& schedule, Framework framework, const std::string& file);

} // namespace bubblescope
