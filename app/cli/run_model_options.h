#pragma once

#include "app/cli/command_line.h"
#include "app/cli/load_options.h"
#include "app/cli/step_options.h"
#include "core/analysis/report.h"
#include "core/analysis/whatif/scenario.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// Options of commands that model a recorded run: the trace, its steps, and what is not in it.
class RunModelOptions {
public:
    void add(Command command);

    /// With the ranks' clocks aligned, as `analyze` does.
    [[nodiscard]] Result<AlignedRun> load() const;
    /// Of the steps asked for.
    [[nodiscard]] Result<RunModel> model(const AlignedRun& run) const;
    [[nodiscard]] ModelCut cut() const { return {layers_, input_share_ / 100}; }
    /// None unless it was asked for: there is always an answer, with its error.
    [[nodiscard]] std::optional<double> mostError() const {
        return max_error_ ? std::optional(*max_error_ / 100) : std::nullopt;
    }
    /// The options as given, to be given to another command.
    [[nodiscard]] std::vector<std::string> words() const;

private:
    std::vector<std::string> files_;
    RecogniseOptions recognise_;
    StepOptions steps_;
    std::vector<int> layers_;
    double input_share_ = 50;
    std::optional<double> max_error_;
};

} // namespace bubblescope::cli
