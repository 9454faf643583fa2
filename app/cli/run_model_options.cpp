#include "app/cli/run_model_options.h"

#include "app/cli/load_watch.h"
#include "core/analysis/report.h"

#include <fmt/format.h>

namespace bubblescope::cli {

void RunModelOptions::add(Command command) {
    command.addOption("FILES", files_, "Trace files or directories").required();
    recognise_.addNames(command);
    steps_.add(command, "Only these steps (all but warm-up and outliers)");
    command.addOption("--layers", layers_, "How many layers each stage of the trace has")
        .typeName("N,N,…")
        .delimiter(',')
        .positive();
    command
        .addOption("--input-share", input_share_,
                   "Part of a whole backward that is the gradient for the input, where a schedule splits it (50)")
        .typeName("PERCENT")
        .range(0.0, 100.0);
    command
        .addOption("--max-error", max_error_,
                   "Give no answer where the replay is further off the steps that were measured (any)")
        .typeName("PERCENT")
        .range(0.0, 1e6);
}

Result<AlignedRun> RunModelOptions::load() const {
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, recognise_.options());
    JobControl control;
    BUBBLESCOPE_ASSIGN(Run recorded, watchLoad(control, [&] {
                           return loadRun({files_.begin(), files_.end()}, control, known_of);
                       }));
    return alignedRun(std::move(recorded));
}

Result<RunModel> RunModelOptions::model(const AlignedRun& run) const {
    BUBBLESCOPE_ASSIGN(const StepRequest request, steps_.request());
    BUBBLESCOPE_ASSIGN(const StepSelection selection, selectSteps(run.run.steps, request));
    return runModel(run.run, selection, run.clocks.bound());
}

std::vector<std::string> RunModelOptions::words() const {
    std::vector<std::string> words = files_;
    const RunModelOptions usual;
    const auto add = [&](const char* name, std::string value) {
        words.emplace_back(name);
        words.push_back(std::move(value));
    };
    for (std::string& word : recognise_.words())
        words.push_back(std::move(word));
    for (std::string& word : steps_.words())
        words.push_back(std::move(word));
    if (!layers_.empty()) add("--layers", fmt::format("{}", fmt::join(layers_, ",")));
    if (input_share_ != usual.input_share_) add("--input-share", fmt::format("{}", input_share_));
    if (max_error_) add("--max-error", fmt::format("{}", *max_error_));
    return words;
}

} // namespace bubblescope::cli
