#include "app/cli/step_options.h"

#include <fmt/format.h>

namespace bubblescope::cli {

void StepOptions::add(Command command, const std::string& about) {
    command.addOption("--step", steps_, about).typeName("N,N-N,N/REPLICA").delimiter(',');
    command.addOption("--replica", replicas_, "Only these data-parallel replicas (all)").typeName("N").delimiter(',');
}

void StepOptions::addRanks(Command command) {
    command.addOption("--rank", ranks_, "Show these pipeline ranks only (all)").typeName("N").delimiter(',');
}

Result<StepRequest> StepOptions::request() const {
    StepRequest request;
    request.replicas = replicas_;
    request.ranks = ranks_;
    if (!steps_.empty()) {
        BUBBLESCOPE_ASSIGN(request.steps, parseStepRanges(fmt::format("{}", fmt::join(steps_, ","))));
    }
    return request;
}

std::vector<std::string> StepOptions::words() const {
    std::vector<std::string> words;
    const auto add = [&](const char* name, const auto& values) {
        if (values.empty()) return;
        words.emplace_back(name);
        words.push_back(fmt::format("{}", fmt::join(values, ",")));
    };
    add("--step", steps_);
    add("--replica", replicas_);
    add("--rank", ranks_);
    return words;
}

} // namespace bubblescope::cli
