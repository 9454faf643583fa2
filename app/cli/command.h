#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace bubblescope::cli {

/// What a command has to say to the shell: 0, or 1 for a finding that --fail-on asked to fail on.
/// Errors travel as Error and become exit codes 2, 3 and 4 in main.
using CommandResult = Result<int>;

/// Commands add themselves to `app` and put into `action` what to do once the line is parsed.
using Action = std::function<CommandResult()>;

void addScheduleCommand(CLI::App& app, Action& action);
void addSchedulesCommand(CLI::App& app, Action& action);
void addFormulaCommand(CLI::App& app, Action& action);
void addSimulateCommand(CLI::App& app, Action& action);
void addMemoryCommand(CLI::App& app, Action& action);
void addValidateCommand(CLI::App& app, Action& action);
void addOverlapCommand(CLI::App& app, Action& action);
void addPartitionCommand(CLI::App& app, Action& action);
/// `team`: the processes that are the ranks of a run, or null.
void addRunCommand(CLI::App& app, Action& action, ProcessTeam* team);
void addConvertCommand(CLI::App& app, Action& action);
void addInfoCommand(CLI::App& app, Action& action);
/// `team`: the processes that share the work, or null.
void addAnalyzeCommand(CLI::App& app, Action& action, ProcessTeam* team);
void addAnomaliesCommand(CLI::App& app, Action& action);
void addDiffCommand(CLI::App& app, Action& action);
void addAdviseCommand(CLI::App& app, Action& action);
void addWhatIfCommand(CLI::App& app, Action& action);
void addAadiffCommand(CLI::App& app, Action& action);
void addViewCommand(CLI::App& app, Action& action);

} // namespace bubblescope::cli
