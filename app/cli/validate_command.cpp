#include "app/cli/command.h"
#include "app/cli/lowering_options.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/queue_options.h"
#include "app/cli/transfer_options.h"
#include "core/graph/validate_lowered.h"
#include "core/report/results/validation.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

namespace bubblescope::cli {
namespace {

struct ValidateArguments {
    std::string file;
    std::optional<int> memory_limit;
    SendMode sends = SendMode::Asynchronous;
    MemoryRequest memory;
    LoweringRequest lowering;
    QueueRequest queues;
    bool json = false;
};

/// The file's actions; if it has none and queues are asked about, PyTorch's.
Result<LoweredSchedule> lowered(const ValidateArguments& options) {
    BUBBLESCOPE_ASSIGN(LoweredSchedule read, readLoweredFile(options.file));
    LoweringRequest lowering = options.lowering;
    if (!read.hasTransfers() && options.queues.given() && !lowering.wanted()) lowering.lower = "torch";
    if (!lowering.wanted() || !validate(read.order, {}).empty()) return read;
    return lowering.lowered(std::move(read.order), {});
}

CommandResult check(const ValidateArguments& options) {
    BUBBLESCOPE_ASSIGN(const LoweredSchedule schedule, lowered(options));
    ValidateOptions rules;
    rules.memory_limit = options.memory_limit;
    rules.sends = options.sends;
    BUBBLESCOPE_ASSIGN(rules.memory, options.memory.use(schedule.order));
    rules.memory_budget = options.memory.budget;
    BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(schedule.order));
    const LoweredValidation found = validateLowered(schedule, rules, queues);
    report::Document document = report::validationDocument(schedule, found);
    if (found.hang) report::addVerdicts(document, found, queues, verdictsOfAll(schedule, queues));
    print(document, options.json);
    if (!found.problems.empty())
        return inputError(options.file, fmt::format("{} problem(s) in this schedule", found.problems.size()));
    return 0;
}

} // namespace

void addValidateCommand(Command app, Action& action) {
    const Command command = app.addCommand("validate", "Check a schedule file: dependencies, deadlock, counts, memory");
    const auto options = std::make_shared<ValidateArguments>();
    command.addOption("FILE", options->file, "The order: JSON, as `schedule --json` prints it, or PyTorch's CSV")
        .required();
    command.examples({"validate order.json", "validate order.csv --communicators one"});
    command.addOption("--memory-limit", options->memory_limit, "Most activations a rank may hold, in forward ops")
        .typeName("N");
    addMemoryOptions(command, options->memory);
    addSendModeOption(command, options->sends);
    addLoweringOptions(command, options->lowering);
    addQueueOptions(command, options->queues);
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return check(*options); }; });
}

} // namespace bubblescope::cli
