#pragma once

#include "app/cli/command_line.h"
#include "core/timeline/step_selection.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// Selects the steps, replicas and ranks of a run that a command handles.
class StepOptions {
public:
    /// --step and --replica. `about` is the help of --step.
    void add(Command command, const std::string& about);
    /// And --rank, for commands that show ranks.
    void addRanks(Command command);

    [[nodiscard]] bool any() const { return !steps_.empty() || !replicas_.empty() || !ranks_.empty(); }
    /// Error: Usage, if the text is not a valid list of steps.
    [[nodiscard]] Result<StepRequest> request() const;
    /// The options as given, in the form that another command accepts.
    [[nodiscard]] std::vector<std::string> words() const;

private:
    std::vector<std::string> steps_;
    std::vector<int> replicas_;
    std::vector<int> ranks_;
};

} // namespace bubblescope::cli
