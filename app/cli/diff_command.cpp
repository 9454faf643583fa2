#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/output.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/report/results/comparison.h"

#include <algorithm>
#include <memory>

namespace bubblescope::cli {
namespace {

struct DiffArguments {
    std::string a;
    std::string b;
    RecogniseRequest recognise;
    std::vector<std::string> fail_on;
    CompareLimits limits;
    bool json = false;
};

bool failsOn(const RunComparison& result, const std::string& what) {
    if (what == "slower") return result.step_changed && result.step.shift.count() > 0;
    if (what == "order") return !result.order_changes.empty();
    return result.step_changed || !result.changes.empty() || !result.ops.empty() || !result.order_changes.empty();
}

CommandResult diff(const DiffArguments& options) {
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, options.recognise.options());
    const auto load = [&](const std::string& file) -> Result<Run> {
        BUBBLESCOPE_ASSIGN(Run recorded, loadWatched({file}, known_of));
        BUBBLESCOPE_ASSIGN(AlignedRun aligned, alignedRun(std::move(recorded)));
        return std::move(aligned.run);
    };
    BUBBLESCOPE_ASSIGN(const Run a, load(options.a));
    BUBBLESCOPE_ASSIGN(const Run b, load(options.b));
    printProblems(a.problems);
    printProblems(b.problems);
    const RunComparison result = compareRuns(a, b, options.limits);
    print(report::comparisonDocument(a, b, result, options.json ? report::Reader::Programs : report::Reader::Text),
          options.json);
    return std::ranges::any_of(options.fail_on, [&](const auto& what) { return failsOn(result, what); }) ? 1 : 0;
}

} // namespace

void addDiffCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("diff", "Compare two runs op by op: what changed, by how much, and whether it is significant");
    const auto options = std::make_shared<DiffArguments>();
    command.examples({"diff before after", "diff before after --fail-on slower"});
    command.addOption("A", options->a, "The run before the change: a trace file or folder").required();
    command.addOption("B", options->b, "The run after").required();
    addNameOptions(command, options->recognise);
    command
        .addOption("--alpha", options->limits.alpha,
                   "Significance level: the probability of reporting a change between two identical runs (0.05)")
        .typeName("P")
        .range(0.0001, 0.5);
    command
        .addOption("--least", options->limits.least_share,
                   "Smallest change to report: as a share of the op's or transfer's time, or of the step time for idle "
                   "time and single ops (0.005)")
        .typeName("SHARE")
        .range(0.0, 1.0);
    command
        .addOption("--fail-on", options->fail_on,
                   "Exit with 1 if the step is slower (slower), the order differs (order) or anything changed (change)")
        .typeName("slower|order|change")
        .delimiter(',')
        .oneOf({"slower", "order", "change"});
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return diff(*options); }; });
}

} // namespace bubblescope::cli
