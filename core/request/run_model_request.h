#pragma once

#include "core/analysis/report.h"
#include "core/analysis/whatif/scenario.h"
#include "core/request/recognise_request.h"
#include "core/timeline/step_selection.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A recorded run to be modelled, and information that its trace does not contain.
struct RunModelRequest {
    std::vector<std::string> files; ///< paths of files or folders
    RecogniseRequest recognise;
    StepRequest steps;
    std::string layers;              ///< per stage, such as "4,4,3", or a framework's layout; empty = unknown
    double input_share = 50;         ///< the input gradient's share of a complete backward, in percent
    std::optional<double> max_error; ///< per cent

    /// Builds the model of the requested steps. Errors: Usage, and those of runModel().
    [[nodiscard]] Result<RunModel> model(const Run& run, const RunClocks& clocks) const;
    /// Interprets `layers` for a run on `pp` ranks. Errors: Usage.
    [[nodiscard]] Result<ModelCut> cut(int pp) const;
    /// As above; if `layers` is empty, uses the layers reported by the run's framework. Errors: Usage.
    [[nodiscard]] Result<ModelCut> cut(const Run& run) const;
    /// Empty if the user specified no limit; every model is then accepted, and its error is reported.
    [[nodiscard]] std::optional<double> mostError() const {
        return max_error ? std::optional(*max_error / 100) : std::nullopt;
    }
    /// Files and options as arguments for another command.
    [[nodiscard]] std::vector<std::string> words() const;
};

} // namespace bubblescope
