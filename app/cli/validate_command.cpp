#include "app/cli/command.h"
#include "app/cli/lowering_options.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/queue_options.h"
#include "app/cli/transfer_options.h"
#include "core/formats/source/replacing_file.h"
#include "core/graph/validate_lowered.h"
#include "core/report/results/validation.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::cli {
namespace {

struct ValidateArguments {
    std::string file;
    std::optional<int> memory_limit;
    SendMode sends = SendMode::Asynchronous;
    MemoryRequest memory;
    LoweringRequest lowering;
    QueueRequest queues;
    std::string svg;
    bool part = false;
    bool json = false;
};

/// Actions in the file or, if there are none and queues must be checked, the actions that PyTorch would generate.
Result<LoweredSchedule> lowered(const ValidateArguments& options) {
    BUBBLESCOPE_ASSIGN(LoweredSchedule read, readLoweredFile(options.file));
    LoweringRequest lowering = options.lowering;
    if (!read.hasTransfers() && options.queues.given() && !lowering.wanted()) lowering.lower = "torch";
    if (!lowering.wanted() || !validate(read.order, {}).empty()) return read;
    return lowering.lowered(std::move(read.order), {});
}

Status drawHang(const ValidateArguments& options, const LoweredValidation& found) {
    if (options.svg.empty()) return {};
    if (!found.hang || !found.hang->hangs()) {
        fmt::print(stderr, "No hang was found, so {} was not written.\n", options.svg);
        return {};
    }
    ReplacingFile file(options.svg);
    file.write(report::cycleDrawing(*found.hang));
    return file.commit();
}

CommandResult check(const ValidateArguments& options) {
    BUBBLESCOPE_ASSIGN(const LoweredSchedule schedule, lowered(options));
    ValidateOptions rules;
    rules.memory_limit = options.memory_limit;
    rules.sends = options.sends;
    BUBBLESCOPE_ASSIGN(rules.memory, options.memory.use(schedule.order));
    rules.memory_budget = options.memory.budget;
    if (schedule.movesActivations() && (rules.memory || rules.memory_limit))
        return usageError("validate cannot check the memory of an order that moves activations",
                          "check the memory with simulate --memory-model");
    BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(schedule.order));
    LoweredValidation found = validateLowered(schedule, rules, queues);
    if (options.part) {
        std::erase_if(found.problems, [](const ScheduleProblem& problem) {
            return problem.kind == "missing" || problem.kind == "transfer";
        });
    }
    report::Document document = report::validationDocument(schedule, found);
    if (found.hang) report::addVerdicts(document, found, queues, verdictsOfAll(schedule, queues));
    print(document, options.json);
    BUBBLESCOPE_TRY(drawHang(options, found));
    if (!found.problems.empty())
        return inputError(options.file, found.problems.size() == 1
                                            ? std::string("1 problem in this schedule")
                                            : fmt::format("{} problems in this schedule", found.problems.size()));
    return 0;
}

} // namespace

void addValidateCommand(Command app, Action& action) {
    const Command command = app.addCommand(
        "validate", "Check a schedule file for missing ops, broken dependencies, deadlocks and memory use");
    const auto options = std::make_shared<ValidateArguments>();
    command.addOption("FILE", options->file, "The order: JSON from `schedule --json`, or PyTorch's CSV").required();
    command.examples({"validate order.json", "validate order.csv --communicators one"});
    command.addOption("--memory-limit", options->memory_limit, "Limit on activations per rank, counted in forward ops")
        .typeName("N");
    addMemoryOptions(command, options->memory);
    command.addFlag("--part", options->part,
                    "The file contains only part of a step: do not report missing ops or transfers");
    addSendModeOption(command, options->sends);
    addLoweringOptions(command, options->lowering);
    addQueueOptions(command, options->queues, false);
    command.addOutput("--svg", options->svg, OutputKind::File, "Draw the cycle of a hang as an SVG file", {".svg"})
        .typeName("FILE");
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return check(*options); }; });
}

} // namespace bubblescope::cli
