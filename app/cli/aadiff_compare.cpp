#include "app/cli/command.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "core/aadiff/compare.h"
#include "core/recognise/run.h"
#include "core/report/results/digests.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct AadiffCompareArguments {
    std::string a;
    std::string b;
    std::vector<std::string> fail_on;
    bool json = false;
};

struct ComparedDigests {
    RecordedChecks a;
    RecordedChecks b;
    DigestComparison result;
};

bool failsOn(const DigestComparison& result, const std::string& what) {
    if (what == "unexpected") return result.unexpected();
    if (what == "uncompared") return result.only_a + result.only_b + result.contradictory > 0;
    return result.differing > 0;
}

CommandResult compare(const AadiffCompareArguments& options) {
    JobControl control;
    ComparedDigests compared;
    BUBBLESCOPE_ASSIGN(compared.a, watchLoad(control, [&] { return loadChecks({options.a}, control); }));
    BUBBLESCOPE_ASSIGN(compared.b, watchLoad(control, [&] { return loadChecks({options.b}, control); }));
    printProblems(compared.a.problems);
    printProblems(compared.b.problems);
    compared.result =
        compareDigests({compared.a.log.digests, compared.a.info}, {compared.b.log.digests, compared.b.info});
    if (compared.result.compared == 0) {
        return inputError(options.b,
                          fmt::format("has no digest in common with {} ({} there, {} here)", options.a,
                                      compared.a.log.digests.size(), compared.b.log.digests.size()),
                          "compare runs of one model that recorded the same steps");
    }
    const auto reader = options.json ? report::Reader::Programs : report::Reader::Text;
    print(report::digestsDocument(compared.a, compared.b, compared.result, reader), options.json);
    return std::ranges::any_of(options.fail_on, [&](const auto& what) { return failsOn(compared.result, what); }) ? 1
                                                                                                                  : 0;
}

} // namespace

void addAadiffCompareCommand(Command aadiff, Action& action) {
    const Command command = aadiff.addCommand(
        "compare", "Find the first value that differs between two recorded runs, and what it affects");
    const auto options = std::make_shared<AadiffCompareArguments>();
    command.examples({"aadiff compare before after", "aadiff compare before after --fail-on unexpected"});
    command.addOption("RUN_A", options->a, "A trace file or folder").required();
    command.addOption("RUN_B", options->b, "The other run").required();
    command
        .addOption("--fail-on", options->fail_on,
                   "Exit with 1 on any difference (difference), a difference where bits should be equal (unexpected), "
                   "or digests that could not be compared (uncompared)")
        .typeName("difference|unexpected|uncompared")
        .delimiter(',')
        .oneOf({"difference", "unexpected", "uncompared"});
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return compare(*options); }; });
}

} // namespace bubblescope::cli
