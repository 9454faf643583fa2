#include "app/cli/schedule_options.h"

#include "app/cli/transfer_options.h"

namespace bubblescope::cli {

void addScheduleOptions(Command command, ScheduleRequest& request) {
    const Option name =
        command.addOption("--schedule", request.name, "Schedule family, see `bubblescope schedules`").typeName("NAME");
    const Option file =
        command
            .addOption("--schedule-file", request.file,
                       "Schedule file instead: a JSON document as `schedule --json` prints it, or PyTorch's CSV")
            .typeName("FILE");
    name.excludes(file);
    command.addOption("--pp", request.pp, "Pipeline ranks, p").typeName("P").excludes(file);
    command.addOption("--microbatches", request.microbatches, "Micro-batches of a step, m")
        .typeName("M")
        .excludes(file);
    command.addOption("--vpp", request.vpp, "Chunks a rank, v (1)").typeName("V").excludes(file);
    command.addOption("--group-size", request.group_size, "Micro-batches that pass a chunk together (interleaved)")
        .typeName("N")
        .positive()
        .excludes(file);
    command
        .addOption("--memory-limit", request.memory_limit, "Activations a rank may hold, in forward ops of one chunk")
        .typeName("N")
        .positive()
        .excludes(file);
    command
        .addOption("--activation-sizes", request.activation_sizes,
                   "What a forward takes and its input and weight gradients free, in any unit (2,1,1)")
        .typeName("F,I,W")
        .delimiter(',')
        .expected(3)
        .excludes(file);
    command.addOption("--sequence-slices", request.sequence_slices, "Slices of each sequence (families that split it)")
        .typeName("K")
        .positive()
        .excludes(file);
    command.addOption("--flavor", request.flavor, "Whose order, where frameworks differ")
        .typeName("NAME")
        .excludes(file);
}

void addSizeOptions(Command command, ScheduleRequest& request) {
    command.addOption("--pp", request.pp, "Pipeline ranks, p").typeName("P").positive();
    command.addOption("--microbatches", request.microbatches, "Micro-batches of a step, m").typeName("M").positive();
    command.addOption("--vpp", request.vpp, "Chunks a rank, v (1)").typeName("V").positive();
}

void addTimeOptions(Command command, ScheduleRequest& request) {
    const Option op_costs = command
                                .addOption("--op-costs", request.op_costs,
                                           "Take the times from a cost model of a layer's operators, see `overlap`")
                                .typeName("FILE");
    command
        .addOption("--pair-cuts", request.pair_cuts,
                   "How --op-costs interleaves a pair: a variant of `overlap` (paddle)")
        .typeName("NAME")
        .needs(op_costs);
    const Option file =
        command.addOption("--stage-times", request.stage_times, "Times of each stage's ops instead, as JSON or CSV")
            .typeName("FILE")
            .excludes(op_costs);
    const auto time = [&](const char* name, std::optional<std::string>& text, const char* description) {
        command.addOption(name, text, description).typeName("TIME").excludes(file);
    };
    time("--forward", request.forward, "Time of one forward op (of one chunk)");
    time("--backward", request.backward, "Time of one whole backward op");
    time("--input-grad", request.input_grad, "Time of one backward op for the input");
    time("--weight-grad", request.weight_grad, "Time of one backward op for the weights");
    command.addOption("--overlapped", request.overlapped, "Time of an overlapped forward and backward (their sum)")
        .typeName("TIME");
    command.addOption("--comm", request.comm, "Latency of a transfer between ranks (0)").typeName("TIME");
    time("--loss", request.loss,
         "Time of the loss, by which the last stage's forward and either half of its backward take longer (0)");
}

void addSimulationOptions(Command command, ScheduleRequest& request) {
    addTransferOptions(command, request.transfers);
    command
        .addOption("--op-times", request.op_times,
                   "Measured times of single ops, as JSON (also of `simulate --json --ops`) or CSV")
        .typeName("FILE");
}

} // namespace bubblescope::cli
