#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/paragraph.h"
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

Json toJson(const AnomaliesArguments& options) {
    Json list = Json::array();
    if (options.thresholds) {
        for (const ThresholdInfo& info : thresholdTable()) {
            list.push_back({{"name", info.name},
                            {"value", defaultOf(info)},
                            {"unit", info.unit},
                            {"least", info.least},
                            {"most", info.most},
                            {"meaning", info.meaning}});
        }
        return {{"thresholds", list}};
    }
    for (const AnomalyKindInfo& info : anomalyKinds())
        list.push_back({{"name", info.name}, {"meaning", info.meaning}});
    return {{"anomalies", list}};
}

std::string toText(const AnomaliesArguments& options) {
    std::string out;
    if (options.thresholds) {
        if (options.markdown) out += "| name | value | unit | meaning |\n|---|---|---|---|\n";
        for (const ThresholdInfo& info : thresholdTable()) {
            out +=
                options.markdown
                    ? fmt::format("| `{}` | {} | {} | {} |\n", info.name, defaultOf(info), info.unit, info.meaning)
                    : paragraph(fmt::format("{:<20}{:>6} {:<22}", info.name, defaultOf(info), info.unit), info.meaning);
        }
        return out;
    }
    if (options.markdown) out += "| kind | told when |\n|---|---|\n";
    for (const AnomalyKindInfo& info : anomalyKinds()) {
        out += options.markdown ? fmt::format("| `{}` | {} |\n", info.name, info.meaning)
                                : paragraph(fmt::format("{:<23}", info.name), info.meaning);
    }
    return out;
}

} // namespace

void addAnomaliesCommand(Command app, Action& action) {
    const Command command = app.addCommand("anomalies", "List the kinds of findings of analyze, and their thresholds");
    const auto options = std::make_shared<AnomaliesArguments>();
    command.addFlag("--thresholds", options->thresholds, "The thresholds, with their units, in place of the kinds");
    command.addFlag("--markdown", options->markdown, "As a table in Markdown");
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] {
        action = [options]() -> CommandResult {
            if (options->json) {
                printJson(toJson(*options));
            } else {
                printText(toText(*options));
            }
            return 0;
        };
    });
}

} // namespace bubblescope::cli
