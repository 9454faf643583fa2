#include "app/cli/schedule_options.h"

#include "app/cli/transfer_options.h"
#include "core/families/registry.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::cli {

namespace {

std::vector<std::string> familyNames() {
    std::vector<std::string> names;
    for (const ScheduleFamily& family : scheduleFamilies())
        names.emplace_back(family.name);
    return names;
}

std::vector<std::string> flavorNames() {
    std::vector<std::string> names;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : family.flavors) {
            if (std::ranges::find(names, flavor) == names.end()) names.emplace_back(flavor);
        }
    }
    return names;
}

} // namespace

void addScheduleOptions(Command command, ScheduleRequest& request, Listed listed) {
    const std::string group = "Schedule";
    const auto common = [&](const Option& option) { return listed == Listed::Always ? option : option.rare(); };
    const Option name = common(
        command
            .addOption("--schedule", request.spec.name,
                       "Schedule, such as 1f1b; `bubblescope schedules` lists all. PyTorch's class names also work")
            .typeName("NAME")
            .suggests(familyNames())
            .group(group));
    const Option file = command
                            .addOption("--schedule-file", request.file,
                                       "File with the order instead: JSON from `schedule --json`, or PyTorch's CSV")
                            .typeName("FILE")
                            .group(group);
    name.excludes(file);
    common(command.addOption("--pp", request.spec.pp, "Pipeline ranks, p").typeName("P").excludes(file).group(group));
    common(command.addOption("--microbatches", request.spec.microbatches, "Micro-batches per step, m")
               .typeName("M")
               .excludes(file)
               .group(group));
    common(command.addOption("--vpp", request.vpp, "Chunks per rank, v (1, or as the schedule requires)")
               .typeName("V")
               .excludes(file)
               .group(group));
    common(command.addOption("--flavor", request.spec.flavor, "Framework whose order to use, where they differ")
               .typeName("NAME")
               .suggests(flavorNames())
               .excludes(file)
               .group(group));
    if (listed == Listed::InFullHelp) file.rare();
    command.addOption("--group-size", request.spec.group_size, "Micro-batches per group (interleaved)")
        .typeName("N")
        .positive()
        .excludes(file)
        .group(group)
        .rare();
    command
        .addOption("--memory-limit", request.spec.memory_limit,
                   "Limit of activations per rank, in forward ops of one chunk")
        .typeName("N")
        .positive()
        .excludes(file)
        .group(group)
        .rare();
    command
        .addOption("--activation-sizes", request.activation_sizes,
                   "Memory that a forward allocates and that its input and weight gradients free, in any unit (2,1,1)")
        .typeName("F,I,W")
        .delimiter(',')
        .expected(3)
        .excludes(file)
        .group(group)
        .rare();
    command
        .addOption("--sequence-slices", request.spec.sequence_slices,
                   "Slices per sequence (for schedules that split it)")
        .typeName("K")
        .positive()
        .excludes(file)
        .group(group)
        .rare();
}

void addSizeOptions(Command command, ScheduleRequest& request) {
    const std::string group = "Schedule";
    command.addOption("--pp", request.spec.pp, "Pipeline ranks, p").typeName("P").positive().group(group);
    command.addOption("--microbatches", request.spec.microbatches, "Micro-batches per step, m")
        .typeName("M")
        .positive()
        .group(group);
    command.addOption("--vpp", request.vpp, "Chunks per rank, v (1)").typeName("V").positive().group(group);
}

void addTimeOptions(Command command, ScheduleRequest& request, Listed listed) {
    const std::string group = "Times (with a unit: 5ms, 800us, 0.5s)";
    const Option op_costs = command
                                .addOption("--op-costs", request.op_costs,
                                           "Take times from a cost model of a layer's operators, see `overlap`")
                                .typeName("FILE")
                                .group(group)
                                .rare();
    command
        .addOption("--pair-cuts", request.pair_cuts,
                   "How --op-costs interleaves a pair: a variant of `overlap` (paddle)")
        .typeName("NAME")
        .needs(op_costs)
        .group(group)
        .rare();
    const Option file =
        command.addOption("--stage-times", request.stage_times, "Op times per stage instead, as JSON or CSV")
            .typeName("FILE")
            .excludes(op_costs)
            .group(group);
    if (listed == Listed::InFullHelp) file.rare();
    const auto time = [&](const char* name, auto& value, const char* description) {
        const Option option =
            command.addParsed(name, value, parseTime, description).typeName("TIME").excludes(file).group(group);
        return listed == Listed::Always ? option : option.rare();
    };
    time("--forward", request.forward, "Time of a forward op (of one chunk)");
    time("--backward", request.backward, "Time of a whole backward op (twice the forward)");
    time("--input-grad", request.input_grad, "Time of a backward op for the input").rare();
    time("--weight-grad", request.weight_grad, "Time of a backward op for the weights").rare();
    command
        .addParsed("--overlapped", request.overlapped, parseTime,
                   "Time of an overlapped forward and backward (their sum)")
        .typeName("TIME")
        .group(group)
        .rare();
    const Option comm =
        command.addParsed("--comm", request.spec.comm, parseTime, "Latency of a transfer between ranks (0)")
            .typeName("TIME")
            .group(group);
    if (listed == Listed::InFullHelp) comm.rare();
    time("--loss", request.spec.loss,
         "Extra time of the loss: the last stage's forward and each half of its backward take this much longer (0)")
        .rare();
}

void addSimulationOptions(Command command, ScheduleRequest& request) {
    addTransferOptions(command, request.transfers);
    command
        .addOption("--op-times", request.op_times,
                   "Measured times of single ops, as JSON (such as from `simulate --json --ops`) or CSV")
        .typeName("FILE")
        .group("Transfers and single ops")
        .rare();
}

} // namespace bubblescope::cli
