#include "app/cli/order_output.h"

#include "core/formats/source/replacing_file.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <filesystem>

namespace bubblescope::cli {

void OrderOutput::add(Command command) {
    command
        .addOutput("--out", out_, OutputKind::File,
                   "Write the order: as PyTorch's CSV if the name ends in .csv, otherwise as JSON", {".csv", ".json"})
        .typeName("FILE");
    command
        .addOption("--for", framework_,
                   "Print the settings to run the order in this framework: torchtitan, graph-pp, automodel, megatron "
                   "or deepspeed")
        .typeName("FRAMEWORK")
        .oneOf(frameworkNames());
}

Result<std::optional<OrderSetup>> OrderOutput::write(const Schedule& schedule) const {
    return write(LoweredSchedule{schedule, {}});
}

Result<std::optional<OrderSetup>> OrderOutput::write(const LoweredSchedule& lowered) const {
    std::optional<OrderSetup> setup;
    if (const auto framework = frameworkFromName(framework_)) {
        BUBBLESCOPE_ASSIGN([[maybe_unused]] const Execution runnable, prepareExecution(lowered.order));
        BUBBLESCOPE_ASSIGN(setup, orderSetup(lowered.order, *framework, out_.empty() ? "order.csv" : out_));
    }
    if (out_.empty()) return setup;
    std::string text;
    if (setup && setup->takes_file) {
        if (out_.ends_with(".json"))
            return usageError(
                fmt::format("--for {} writes PyTorch's CSV, but the name {} is for JSON", framework_, out_),
                "end the name in .csv");
        BUBBLESCOPE_ASSIGN(text, scheduleToCsv(lowered.order));
    } else if (std::filesystem::path(out_).extension() == ".csv") {
        BUBBLESCOPE_ASSIGN(text, scheduleToCsv(lowered));
    } else {
        text = scheduleToJson(lowered) + "\n";
    }
    ReplacingFile file(out_);
    file.write(text);
    BUBBLESCOPE_TRY(file.commit());
    return setup;
}

std::string OrderOutput::writtenLine() const {
    return out_.empty() ? std::string{} : fmt::format("\nOrder written to {}\n", out_);
}

void addSetup(report::Section& document, const std::optional<OrderSetup>& setup) {
    if (!setup) {
        document.data("framework", {});
        return;
    }
    report::Value::Object settings;
    document.line(fmt::format("{} {}:", setup->framework,
                              setup->takes_file ? "runs this order with" : "generates this order itself, with"));
    for (const OrderSetup::Setting& setting : setup->settings) {
        const bool option = setting.name.starts_with("--");
        document.line(fmt::format("  {}{}{}", setting.name, option ? " " : ": ", setting.value));
        settings.push_back({setting.name, setting.value});
    }
    for (const std::string& note : setup->notes)
        document.paragraph("- ", note);
    document.data("framework", report::Value::Object{{"name", setup->framework},
                                                     {"schedule", setup->schedule_name},
                                                     {"takes_file", setup->takes_file},
                                                     {"settings", std::move(settings)},
                                                     {"notes", setup->notes}});
}

} // namespace bubblescope::cli
