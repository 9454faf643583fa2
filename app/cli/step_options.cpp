#include "app/cli/step_options.h"

namespace bubblescope::cli {

void addStepOptions(Command command, StepTexts& texts, const std::string& about) {
    const std::string group = "What of the run";
    command.addOption("--step", texts.steps, about).typeName("N,N-N,N/REPLICA").delimiter(',').group(group);
    command.addOption("--replica", texts.replicas, "Only these data-parallel replicas (all)")
        .typeName("N")
        .delimiter(',')
        .group(group);
}

void addRankOption(Command command, StepTexts& texts) {
    command.addOption("--rank", texts.ranks, "Show these pipeline ranks only (all)")
        .typeName("N")
        .delimiter(',')
        .group("What of the run");
}

} // namespace bubblescope::cli
