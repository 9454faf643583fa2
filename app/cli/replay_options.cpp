#include "app/cli/replay_options.h"

#include <fmt/format.h>

namespace bubblescope::cli {

void ReplayOptions::add(CLI::App& command) {
    command.add_option("FILES", files_, "Trace files or directories")->required();
    command.add_option("--step", steps_, "Only these steps (all)")->type_name("N")->delimiter(',');
    command.add_option("--layers", layers_, "How many layers each stage of the trace has")
        ->type_name("N,N,…")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command
        .add_option("--input-share", input_share_,
                    "Part of a whole backward that is the gradient for the input, where a schedule splits it (50)")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0));
    command.add_option("--max-error", max_error_, "How far the replay may be off the steps that were measured (5)")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 1e6));
}

Result<Run> ReplayOptions::load() const {
    JobControl control;
    return loadRun({files_.begin(), files_.end()}, control);
}

std::vector<std::string> ReplayOptions::words() const {
    std::vector<std::string> words = files_;
    const ReplayOptions usual;
    const auto add = [&](const char* name, std::string value) {
        words.emplace_back(name);
        words.push_back(std::move(value));
    };
    if (!steps_.empty()) add("--step", fmt::format("{}", fmt::join(steps_, ",")));
    if (!layers_.empty()) add("--layers", fmt::format("{}", fmt::join(layers_, ",")));
    if (input_share_ != usual.input_share_) add("--input-share", fmt::format("{}", input_share_));
    if (max_error_ != usual.max_error_) add("--max-error", fmt::format("{}", max_error_));
    return words;
}

} // namespace bubblescope::cli
