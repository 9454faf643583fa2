#include "app/cli/run_model_options.h"

#include "app/cli/load_options.h"
#include "app/cli/step_options.h"
#include "core/analysis/steps/run_analyzer.h"

namespace bubblescope::cli {

void addRunModelOptions(Command command, RunModelRequest& request) {
    command.addOption("FILES", request.files, "Trace files or folders; - is standard input").required();
    addNameOptions(command, request.recognise);
    addStepOptions(command, request.steps, "Use only these steps (default: all but warm-up and outliers)");
    command
        .addOption("--layers", request.layers,
                   "Layers per stage of the trace; or Megatron-core's layout, or DeepSpeed's parts (0,5,9)")
        .typeName("N,N,…");
    command
        .addOption(
            "--input-share", request.input_share,
            "Share of input gradients in the time of a whole backward, in percent, if the schedule splits it (50)")
        .typeName("PERCENT")
        .range(0.0, 100.0)
        .rare();
    command
        .addOption(
            "--max-error", request.max_error,
            "Make no prediction if the replay deviates from the measured steps by more than this (default: no limit)")
        .typeName("PERCENT")
        .range(0.0, 1e6)
        .rare();
}

Result<AlignedRun> loadAligned(const RunModelRequest& request) {
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, request.recognise.options());
    BUBBLESCOPE_ASSIGN(Run recorded, loadWatched(request.files, known_of));
    return alignedRun(std::move(recorded));
}

} // namespace bubblescope::cli
