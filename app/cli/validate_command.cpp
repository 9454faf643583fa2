#include "app/cli/command.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/transfer_options.h"
#include "core/graph/validate.h"
#include "core/report/results/validation.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

struct ValidateArguments {
    std::string file;
    std::optional<int> memory_limit;
    SendMode sends = SendMode::Asynchronous;
    MemoryRequest memory;
    bool json = false;
};

CommandResult check(const ValidateArguments& options) {
    BUBBLESCOPE_ASSIGN(const Schedule schedule, readScheduleFile(options.file));
    ValidateOptions rules;
    rules.memory_limit = options.memory_limit;
    rules.sends = options.sends;
    BUBBLESCOPE_ASSIGN(rules.memory, options.memory.use(schedule));
    rules.memory_budget = options.memory.budget;
    const auto problems = validate(schedule, rules);
    print(report::validationDocument(schedule, problems), options.json);
    if (!problems.empty())
        return inputError(options.file, fmt::format("{} problem(s) in this schedule", problems.size()));
    return 0;
}

} // namespace

void addValidateCommand(Command app, Action& action) {
    const Command command = app.addCommand("validate", "Check a schedule file: dependencies, deadlock, counts, memory");
    const auto options = std::make_shared<ValidateArguments>();
    command.addOption("FILE", options->file, "The order: JSON, as `schedule --json` prints it, or PyTorch's CSV")
        .required();
    command.examples({"validate order.json", "validate order.csv --memory-limit 8"});
    command.addOption("--memory-limit", options->memory_limit, "Most activations a rank may hold, in forward ops")
        .typeName("N");
    addMemoryOptions(command, options->memory);
    addSendModeOption(command, options->sends);
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return check(*options); }; });
}

} // namespace bubblescope::cli
