#pragma once

#include "app/cli/command_line.h"
#include "app/cli/config.h"
#include "app/cli/terminal.h"
#include "core/base/process_team.h"
#include "core/base/result.h"

#include <functional>
#include <string>

namespace bubblescope::cli {

/// Exit code of a successful command: 0, or 1 if --fail-on includes the kind of a finding. Errors are returned as
/// Error; main() turns them into exit codes 2, 3 and 4.
using CommandResult = Result<int>;

/// Each command adds itself to `app`. The selected command stores the function to run in `action`.
using Action = std::function<CommandResult()>;

void addScheduleCommand(Command app, Action& action);
void addSchedulesCommand(Command app, Action& action);
void addFormulaCommand(Command app, Action& action);
void addSimulateCommand(Command app, Action& action);
void addMemoryCommand(Command app, Action& action);
void addValidateCommand(Command app, Action& action);
void addOverlapCommand(Command app, Action& action);
void addPartitionCommand(Command app, Action& action);
void addSearchCommand(Command app, Action& action);
void addFillCommand(Command app, Action& action);
void addPlanCommand(Command app, Action& action);
/// `team` holds the processes that are the ranks of a run, or is null.
void addRunCommand(Command app, Action& action, ProcessTeam* team);
/// Adds `run --aadiff` as a subcommand of `aadiff`.
void addCheckedRunCommand(Command aadiff, Action& action, ProcessTeam* team);
void addConvertCommand(Command app, Action& action);
void addInfoCommand(Command app, Action& action);
void addQueryCommand(Command app, Action& action);
void addExtractCommand(Command app, Action& action);
void addAnalyzeCommand(Command app, Action& action);
void addAnomaliesCommand(Command app, Action& action);
void addDiffCommand(Command app, Action& action);
void addAdviseCommand(Command app, Action& action);
void addWhatIfCommand(Command app, Action& action);
void addAadiffCommand(Command app, Action& action, ProcessTeam* team);
/// Adds `compare` as a subcommand of `aadiff`.
void addAadiffCompareCommand(Command aadiff, Action& action);
void addMonitorCommand(Command app, Action& action);
void addViewCommand(Command app, Action& action);
void addRecordCommand(Command app, Action& action);
void addEnvCommand(Command app, Action& action);
void addAttachCommand(Command app, Action& action);
void addHelpCommand(Command app, Action& action, const CommandLine& line);
void addCompletionCommand(Command app, Action& action, const CommandLine& line);
void addDemoCommand(Command app, Action& action);
void addMcpCommand(Command app, Action& action);
void addConfigCommand(Command app, Action& action, const Config& config);

/// Adds all of the commands above and the terminal options. `terminal` and `config` must outlive `line`. `config` is
/// filled in after this call, because its sections contain the names of commands.
void addCommands(CommandLine& line, Action& action, ProcessTeam* team, TerminalOptions& terminal, const Config& config);

} // namespace bubblescope::cli
