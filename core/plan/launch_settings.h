#pragma once

#include "core/plan/judge.h"

#include <string>
#include <vector>

namespace bubblescope::plan {

/// What a framework is given to run a layout.
struct LaunchSettings {
    std::string framework; ///< for people
    std::string missing;   ///< why it cannot run the layout; then there are no settings
    struct Setting {
        std::string name;
        std::string value; ///< empty: a switch
    };
    std::vector<Setting> settings; ///< options of its command line, or keys of its configuration
};

/// Megatron-core, torchtitan, DeepSpeed and Paddle, in this order.
[[nodiscard]] std::vector<LaunchSettings> launchSettings(const Layout& layout, const Problem& problem);

} // namespace bubblescope::plan
