#pragma once

#include "app/cli/command_line.h"
#include "app/cli/load_options.h"
#include "app/cli/step_options.h"
#include "core/analysis/whatif/scenario.h"
#include "core/recognise/run.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// Options of commands that model a recorded run: the trace, its steps, and what is not in it.
class RunModelOptions {
public:
    void add(Command command);

    /// With its ranks on one clock.
    [[nodiscard]] Result<Run> load() const;
    /// Of the steps asked for.
    [[nodiscard]] Result<RunModel> model(const Run& run) const;
    [[nodiscard]] ModelCut cut() const { return {layers_, input_share_ / 100}; }
    [[nodiscard]] double mostError() const { return max_error_ / 100; }
    /// The options as given, to be given to another command.
    [[nodiscard]] std::vector<std::string> words() const;

private:
    std::vector<std::string> files_;
    RecogniseOptions recognise_;
    StepOptions steps_;
    std::vector<int> layers_;
    double input_share_ = 50;
    double max_error_ = 100 * kMaxFitError;
};

} // namespace bubblescope::cli
