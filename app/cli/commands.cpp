#include "app/cli/command.h"

namespace bubblescope::cli {
namespace {

void addTerminalOptions(Command command, TerminalOptions& terminal) {
    command
        .addOption("--color", terminal.color,
                   "Colour the output: auto (only on a terminal; the default), always or never")
        .typeName("WHEN")
        .oneOf({"auto", "always", "never"})
        .group("Terminal")
        .rare();
    command.addOption("--pager", terminal.pager, "Show long reports with this command (default: $PAGER, or less)")
        .typeName("COMMAND")
        .group("Terminal")
        .rare();
    command.addFlag("--no-pager", terminal.no_pager, "Do not page long reports").group("Terminal").rare();
    command.addFlag("--wide", terminal.wide, "Print charts at full width, even beyond the terminal's width")
        .group("Terminal")
        .rare();
}

} // namespace

void addCommands(CommandLine& line, Action& action, ProcessTeam* team, TerminalOptions& terminal,
                 const Config& config) {
    const Command app = line.root();
    app.needsCommand(); // exactly one, because files may have the names of commands
    line.addToEvery([&terminal](Command command) { addTerminalOptions(command, terminal); });
    app.commandGroup("Inspect a run");
    addAnalyzeCommand(app, action);
    addWhatIfCommand(app, action);
    addAdviseCommand(app, action);
    addDiffCommand(app, action);
    addInfoCommand(app, action);
    addQueryCommand(app, action);
    addExtractCommand(app, action);
    addConvertCommand(app, action);
    addViewCommand(app, action);
    addAnomaliesCommand(app, action);
    addMcpCommand(app, action);
    app.commandGroup("Record and watch a run");
    addRunCommand(app, action, team);
    addRecordCommand(app, action);
    addEnvCommand(app, action);
    addAttachCommand(app, action);
    addMonitorCommand(app, action);
    addAadiffCommand(app, action, team);
    app.commandGroup("Plan a run");
    addSchedulesCommand(app, action);
    addScheduleCommand(app, action);
    addFormulaCommand(app, action);
    addSimulateCommand(app, action);
    addSearchCommand(app, action);
    addPlanCommand(app, action);
    addMemoryCommand(app, action);
    addPartitionCommand(app, action);
    addOverlapCommand(app, action);
    addFillCommand(app, action);
    addValidateCommand(app, action);
    app.commandGroup("Help and setup");
    addHelpCommand(app, action, line);
    addDemoCommand(app, action);
    addConfigCommand(app, action, config);
    addCompletionCommand(app, action, line);
}

} // namespace bubblescope::cli
