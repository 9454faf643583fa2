#include "app/cli/lowering_options.h"

namespace bubblescope::cli {
namespace {

const std::string kLoweringGroup = "Sends, receives and weights";

} // namespace

void addLoweringOptions(Command command, LoweringRequest& request) {
    const std::string& group = kLoweringGroup;
    const Option lower = command
                             .addOption("--lower", request.lower,
                                        "Add the sends, receives and weight actions of a framework's runtime "
                                        "(torch; megatron or paddle for 1F1B and interleaved; deepspeed for 1F1B)")
                             .typeName("FRAMEWORK")
                             .oneOf(LoweringRequest::runtimeNames())
                             .group(group);
    command.addFlag("--defer-receives", request.defer_receives, "Post each receive just before its op (defer_pp_recv)")
        .needs(lower)
        .group(group)
        .rare();
    command
        .addOption(
            "--receives-ahead", request.receives_ahead,
            "Post each receive at most this many ops before the one that needs it (default: as early as PyTorch does)")
        .typeName("N")
        .needs(lower)
        .group(group)
        .rare();
    command
        .addOption("--max-active-stages", request.max_active_stages,
                   "Number of stages whose weights stay gathered on a rank (3)")
        .typeName("N")
        .needs(lower)
        .group(group)
        .rare();
    command
        .addOption("--unshard-lookahead", request.unshard_lookahead,
                   "Stages to gather ahead: full, auto, or a number per rank, such as 2,2,3,3 (default: full)")
        .typeName("LIST")
        .needs(lower)
        .group(group)
        .rare();
    command
        .addOption("--max-outstanding-sends", request.max_outstanding_sends,
                   "Largest number of pending sends per rank (default: unlimited)")
        .typeName("N")
        .needs(lower)
        .group(group)
        .rare();
    command
        .addFlag("--defer-reduce-grad-wait", request.defer_reduce_grad_wait,
                 "Wait for a gradient reduction only before the next one")
        .needs(lower)
        .group(group)
        .rare();
}

void addGatherTimeOptions(Command command, WeightTimes& times) {
    command
        .addParsed("--unshard", times.unshard, parseTime, "Time to gather a stage's weights, in parallel with ops (0)")
        .typeName("TIME")
        .group(kLoweringGroup)
        .rare();
    command.addParsed("--reduce-grad", times.reduce_grad, parseTime, "Time to reduce a stage's gradients (0)")
        .typeName("TIME")
        .group(kLoweringGroup)
        .rare();
}

void addNodesOption(Command command, std::optional<int>& nodes) {
    command.addOption("--nodes", nodes, "Nodes over which tawpipe distributes the ranks (1)")
        .range(1, 100'000)
        .typeName("N")
        .group(kLoweringGroup)
        .rare();
}

void addWeightTimeOptions(Command command, WeightTimes& times) {
    addGatherTimeOptions(command, times);
    addCopyTimeOptions(command, times);
}

void addCopyTimeOptions(Command command, WeightTimes& times) {
    command
        .addParsed("--host-copy", times.host_copy, parseTime,
                   "Time to copy a forward's activations to the host, or back (0)")
        .typeName("TIME")
        .group(kLoweringGroup)
        .rare();
    command
        .addParsed("--peer-copy", times.peer_copy, parseTime,
                   "Time to copy a forward's activations to another rank, or back (0)")
        .typeName("TIME")
        .group(kLoweringGroup)
        .rare();
}

} // namespace bubblescope::cli
