#include "app/cli/step_options.h"

namespace bubblescope::cli {

void addStepOptions(Command command, StepRequest& request, const std::string& about) {
    const std::string group = "Part of the run";
    command.addParsedList("--step", request.steps, parseStepRanges, about)
        .typeName("N,N-N,N/REPLICA")
        .delimiter(',')
        .group(group);
    command.addOption("--replica", request.replicas, "Only these data-parallel replicas (default: all)")
        .typeName("N")
        .delimiter(',')
        .group(group);
}

void addRankOption(Command command, StepRequest& request) {
    command.addOption("--rank", request.ranks, "Only these pipeline ranks (default: all)")
        .typeName("N")
        .delimiter(',')
        .group("Part of the run");
}

} // namespace bubblescope::cli
