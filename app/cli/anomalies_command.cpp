#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/anomalies/thresholds.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace bubblescope::cli {
namespace {

struct AnomaliesArguments {
    bool thresholds = false;
    bool json = false;
    bool markdown = false;
};

double defaultOf(const ThresholdInfo& info) {
    return Thresholds{}.*(info.value);
}

using report::data;

/// As text, a single column with padded names; as JSON, everything.
report::Document toDocument(bool thresholds) {
    report::Document document;
    report::Table table(thresholds ? "thresholds" : "anomalies", {data("name")});
    table.reader = report::Reader::Programs;
    if (thresholds) {
        for (const char* key : {"value", "unit", "least", "most", "meaning"})
            table.columns.push_back(data(key));
        for (const ThresholdInfo& info : thresholdTable()) {
            table.row(info.name, defaultOf(info), info.unit, info.least, info.most, info.meaning);
            document.paragraph(fmt::format("{:<20}{:>6} {:<22}", info.name, defaultOf(info), info.unit),
                               std::string(info.meaning));
        }
    } else {
        table.columns.push_back(data("meaning"));
        for (const AnomalyKindInfo& info : anomalyKinds()) {
            table.row(info.name, info.meaning);
            document.paragraph(fmt::format("{:<23}", info.name), std::string(info.meaning));
        }
    }
    document.add(std::move(table));
    return document;
}

std::string toMarkdown(bool thresholds) {
    std::string out =
        thresholds ? "| name | value | unit | meaning |\n|---|---|---|---|\n" : "| kind | reported when |\n|---|---|\n";
    if (thresholds) {
        for (const ThresholdInfo& info : thresholdTable())
            out += fmt::format("| `{}` | {} | {} | {} |\n", info.name, defaultOf(info), info.unit, info.meaning);
    } else {
        for (const AnomalyKindInfo& info : anomalyKinds())
            out += fmt::format("| `{}` | {} |\n", info.name, info.meaning);
    }
    return out;
}

} // namespace

void addAnomaliesCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("anomalies", "List the kinds of findings that `analyze` reports, and their thresholds");
    const auto options = std::make_shared<AnomaliesArguments>();
    command.examples({"anomalies", "anomalies --thresholds"});
    command.addFlag("--thresholds", options->thresholds, "List the thresholds and their units instead of the kinds");
    command.addFlag("--markdown", options->markdown, "Print a Markdown table").rare();
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] {
        action = [options]() -> CommandResult {
            if (options->markdown && !options->json)
                printText(toMarkdown(options->thresholds));
            else
                print(toDocument(options->thresholds), options->json);
            return 0;
        };
    });
}

} // namespace bubblescope::cli
