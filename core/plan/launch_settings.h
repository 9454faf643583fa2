#pragma once

#include "core/plan/judge.h"

#include <string>
#include <vector>

namespace bubblescope::plan {

/// The settings with which a framework runs a layout.
struct LaunchSettings {
    std::string framework; ///< display name
    std::string missing;   ///< the reason why it cannot run the layout; there are then no settings
    struct Setting {
        std::string name;
        std::string value; ///< empty for a switch
    };
    std::vector<Setting> settings; ///< options of its command line, or keys of its configuration
};

/// Megatron-core, torchtitan, DeepSpeed and Paddle, in this order.
[[nodiscard]] std::vector<LaunchSettings> launchSettings(const Layout& layout, const Problem& problem);

} // namespace bubblescope::plan
