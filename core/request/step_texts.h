#pragma once

#include "core/base/result.h"
#include "core/timeline/step_selection.h"

#include <string>
#include <vector>

namespace bubblescope {

/// The steps, replicas and ranks of a run that a user asks for, in the words of the command line.
struct StepTexts {
    std::vector<std::string> steps; ///< "3", "5-9", "809/0"
    std::vector<int> replicas;
    std::vector<int> ranks;

    [[nodiscard]] bool any() const { return !steps.empty() || !replicas.empty() || !ranks.empty(); }
    /// Error: Usage, if a text is not a valid list of steps.
    [[nodiscard]] Result<StepRequest> request() const;
    /// As options, in the form that another command accepts.
    [[nodiscard]] std::vector<std::string> words() const;
};

} // namespace bubblescope
