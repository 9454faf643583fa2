#pragma once

#include "core/analysis/report.h"
#include "core/analysis/whatif/scenario.h"
#include "core/request/recognise_request.h"
#include "core/timeline/step_selection.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A recorded run that is to be modelled, and what is not in its trace.
struct RunModelRequest {
    std::vector<std::string> files; ///< or directories
    RecogniseRequest recognise;
    StepRequest steps;
    std::string layers;              ///< of each stage: "4,4,3", or a framework's layout; empty: not known
    double input_share = 50;         ///< per cent of a whole backward that is the gradient for the input
    std::optional<double> max_error; ///< per cent

    /// Of the steps asked for. Errors: Usage, and those of runModel().
    [[nodiscard]] Result<RunModel> model(const Run& run, const RunClocks& clocks) const;
    /// What `layers` means for a run on `pp` ranks. Errors: Usage.
    [[nodiscard]] Result<ModelCut> cut(int pp) const;
    /// The same, or else what the run's framework states. Errors: Usage.
    [[nodiscard]] Result<ModelCut> cut(const Run& run) const;
    /// None unless it was asked for: there is always an answer, with its error.
    [[nodiscard]] std::optional<double> mostError() const {
        return max_error ? std::optional(*max_error / 100) : std::nullopt;
    }
    /// Files and options, to be given to another command.
    [[nodiscard]] std::vector<std::string> words() const;
};

} // namespace bubblescope
