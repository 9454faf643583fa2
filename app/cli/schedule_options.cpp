#include "app/cli/schedule_options.h"

#include "app/cli/input_options.h"
#include "app/cli/transfer_options.h"
#include "core/families/registry.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
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

std::vector<std::string> InputOptions::valuesOf(const std::string& text) {
    std::error_code ignored;
    if (std::filesystem::exists(text, ignored)) return {text};
    std::vector<std::string> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        values.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return values;
}

void addScheduleOptions(Command command, ScheduleRequest& request, Listed listed, std::vector<SweepAxis>* axes) {
    const std::string group = "Schedule";
    const InputOptions inputs(command, request, axes);
    const auto common = [&](const Option& option) { return listed == Listed::Always ? option : option.rare(); };
    const auto nameOne = [compares = axes != nullptr](ScheduleRequest& into, const std::string& text) {
        if (compares)
            nameSchedule(into, text);
        else
            into.spec.name = text;
    };
    const Option name =
        common(inputs
                   .text(Field("schedule"), nameOne,
                         "Schedule, such as 1f1b; `bubblescope schedules` lists all. PyTorch's class names also work")
                   .typeName("NAME")
                   .suggests(familyNames())
                   .group(group));
    const Option file =
        inputs
            .text(
                Field("schedule_file"), [](ScheduleRequest& into, const std::string& path) { into.file = path; },
                "File with the order, instead of a schedule's name: JSON from `schedule --json`, or PyTorch's CSV")
            .typeName("FILE")
            .group(group);
    name.excludes(file);
    common(inputs
               .count(
                   Field("pp"), [](ScheduleRequest& into, int p) { into.spec.pp = p; }, "Pipeline ranks, p")
               .typeName("P")
               .excludes(file)
               .group(group));
    common(inputs
               .count(
                   Field("microbatches"), [](ScheduleRequest& into, int m) { into.spec.microbatches = m; },
                   "Micro-batches per step, m")
               .typeName("M")
               .excludes(file)
               .group(group));
    common(inputs
               .count(
                   Field("vpp"), [](ScheduleRequest& into, int v) { into.vpp = v; },
                   "Chunks per rank, v (default: 1, or what the schedule needs)")
               .typeName("V")
               .excludes(file)
               .group(group));
    common(inputs
               .text(
                   Field("flavor"), [](ScheduleRequest& into, const std::string& text) { into.spec.flavor = text; },
                   "Framework whose order to use, if frameworks differ")
               .typeName("NAME")
               .suggests(flavorNames())
               .excludes(file)
               .group(group));
    if (listed == Listed::InFullHelp) file.rare();
    inputs
        .count(
            Field("group_size"), [](ScheduleRequest& into, int size) { into.spec.group_size = size; },
            "Micro-batches per group (interleaved)")
        .typeName("N")
        .excludes(file)
        .group(group)
        .rare();
    inputs
        .count(
            Field("memory_limit"), [](ScheduleRequest& into, int limit) { into.spec.memory_limit = limit; },
            "Limit on activations per rank, counted in forward ops of one chunk (zb-v, zb-auto)")
        .typeName("N")
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
    inputs
        .count(
            Field("sequence_slices"), [](ScheduleRequest& into, int slices) { into.spec.sequence_slices = slices; },
            "Slices of each sequence (seq1f1b, seqpipe, seqvpp, seqsmartvpp)")
        .typeName("K")
        .excludes(file)
        .group(group)
        .rare();
    inputs
        .add(
            Field("encoders"), parseEncoders,
            [](ScheduleRequest& into, const EncoderRequest& encoders) {
                into.spec.encoders = encoders.ranks;
                into.encoder_times = encoders.times;
            },
            "Pipeline ranks of one or two encoders before the trunk, of the P ranks, with forward times and replicas "
            "per "
            "trunk replica (2:800us@dp4+1)")
        .typeName("P[:TIME][@dpK][+…]")
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

void addTimeOptions(Command command, ScheduleRequest& request, Listed listed, std::vector<SweepAxis>* axes) {
    const std::string group = "Times (with a unit: 5ms, 800us, 0.5s)";
    const InputOptions inputs(command, request, axes);
    const Option op_costs = command
                                .addOption("--op-costs", request.op_costs,
                                           "Take times from a cost model of a layer's operators; see `overlap`")
                                .typeName("FILE")
                                .group(group)
                                .rare();
    command
        .addOption("--pair-cuts", request.pair_cuts,
                   "Variant of `overlap` that --op-costs uses to interleave a pair (default: paddle)")
        .typeName("NAME")
        .needs(op_costs)
        .group(group)
        .rare();
    const Option file =
        inputs
            .text(
                Field("stage_times"), [](ScheduleRequest& into, const std::string& path) { into.stage_times = path; },
                "Op times per stage, as JSON or CSV")
            .typeName("FILE")
            .excludes(op_costs)
            .group(group);
    if (listed == Listed::InFullHelp) file.rare();
    const auto time = [&](Field field, auto set, const char* description) {
        const Option option =
            inputs.add(field, parseTime, set, description).typeName("TIME").excludes(file).group(group);
        return listed == Listed::Always ? option : option.rare();
    };
    time(
        Field("forward"), [](ScheduleRequest& into, TimeNs t) { into.forward = t; },
        "Time of a forward op (per chunk)");
    time(
        Field("backward"), [](ScheduleRequest& into, TimeNs t) { into.backward = t; },
        "Time of a whole backward op (default: twice the forward)");
    time(
        Field("input_grad"), [](ScheduleRequest& into, TimeNs t) { into.input_grad = t; },
        "Time of a backward op for the input")
        .rare();
    time(
        Field("weight_grad"), [](ScheduleRequest& into, TimeNs t) { into.weight_grad = t; },
        "Time of a backward op for the weights")
        .rare();
    inputs
        .add(
            Field("overlapped"), parseTime, [](ScheduleRequest& into, TimeNs t) { into.overlapped = t; },
            "Time of an overlapped forward and backward (default: their sum)")
        .typeName("TIME")
        .group(group)
        .rare();
    inputs
        .add(
            Field("all_reduce"), parseTime, [](ScheduleRequest& into, TimeNs t) { into.all_reduce = t; },
            "Tensor-parallel all-reduce, added to F and I ops that run alone; pairs and whole backwards hide it (0)")
        .typeName("TIME")
        .group(group)
        .rare();
    const Option comm = inputs
                            .add(
                                Field("comm"), parseTime, [](ScheduleRequest& into, TimeNs t) { into.spec.comm = t; },
                                "Latency of a transfer between ranks (0)")
                            .typeName("TIME")
                            .group(group);
    if (listed == Listed::InFullHelp) comm.rare();
    time(
        Field("loss"), [](ScheduleRequest& into, TimeNs t) { into.spec.loss = t; },
        "Extra time for the loss: the last stage's forward and each half of its backward take this much longer (0)")
        .rare();
}

void addSliceOptions(Command command, ScheduleRequest& request) {
    const Option attention = command
                                 .addOption("--attention", request.attention,
                                            "Fraction of a whole-sequence op's time that is attention, 0 to 1")
                                 .typeName("SHARE")
                                 .group("Transfers and single ops")
                                 .rare();
    command
        .addOption("--slices", request.slice_cut,
                   "How to split sequences: balanced (equal work), even (equal length; later slices take longer) or "
                   "redistributed (even, and ranks share attention work); --forward is the mean")
        .typeName("CUT")
        .suggests({"balanced", "even", "redistributed"})
        .needs(attention)
        .group("Transfers and single ops")
        .rare();
}

void addSimulationOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes) {
    addTransferOptions(command, request, axes);
    addSliceOptions(command, request);
    command
        .addOption("--op-times", request.op_times,
                   "Measured times of single ops, as JSON (such as from `simulate --json --ops`) or CSV")
        .typeName("FILE")
        .group("Transfers and single ops")
        .rare();
}

} // namespace bubblescope::cli
