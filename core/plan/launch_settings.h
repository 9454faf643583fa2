#pragma once

#include "core/plan/judge.h"

#include <string>
#include <vector>

namespace bubblescope::plan {

/// The settings with which a framework runs a given layout.
struct LaunchSettings {
    std::string framework; ///< display name
    std::string missing;   ///< reason why the framework cannot run the layout; `settings` is then empty
    struct Setting {
        std::string name;
        std::string value; ///< empty for a flag
    };
    std::vector<Setting> settings; ///< command-line options or configuration keys
};

/// Returns settings for Megatron-core, torchtitan, DeepSpeed and Paddle, in this order.
[[nodiscard]] std::vector<LaunchSettings> launchSettings(const Layout& layout, const Problem& problem);

} // namespace bubblescope::plan
