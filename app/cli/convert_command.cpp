#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/step_options.h"
#include "app/cli/trace_output.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/bytes.h"
#include "core/formats/chakra/writer.h"
#include "core/formats/kineto/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/existing_results.h"
#include "core/formats/source/standard_output.h"
#include "core/recognise/run.h"
#include "core/recognise/stated_values.h"
#include "core/report/svg/draw_trace.h"
#include "core/timeline/step_selection.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct ConvertArguments {
    std::vector<std::string> files; ///< the last one is the output
    std::string format;
    std::optional<TimeNs> from;
    std::optional<TimeNs> to;
    std::optional<double> width;
    StepRequest step;
    std::optional<std::int64_t> transfer_bytes;
    const bool* force = nullptr; ///< true if --force was given
};

Result<std::string> formatOf(const std::string& out) {
    if (const auto format = traceFormatOf(out)) return *format;
    return usageError(out == "-" ? std::string("the format is unknown: standard output has no file name")
                                 : fmt::format("the format cannot be determined from the name '{}'", out),
                      "use --to chrome, kineto, chakra, perfetto, csv or svg, or end the name in .json, .pftrace, .csv "
                      "or .svg, optionally with .gz or .zst");
}

/// The output is the last of the files, and a folder for some formats, so CommandLine::prepare() cannot check it.
Status prepareOutput(const std::string& format, const std::filesystem::path& out, bool force) {
    const std::string_view in_folder = format == "kineto" ? ".json" : format == "chakra" ? ".et" : "";
    if (out == kStandardOutput) {
        if (!in_folder.empty()) return usageError(format + " writes a folder, which cannot go to standard output");
        reserveStandardOutput();
    }
    if (!in_folder.empty()) return force ? removeAll(out, in_folder) : mustHoldNone(out, in_folder);
    return force ? Status() : mustBeNew(out);
}

/// Writes a step of the pipeline, not the raw slices.
CommandResult writeChakra(const ConvertArguments& options, const std::filesystem::path& folder) {
    const std::optional<std::int64_t> given = options.transfer_bytes;
    BUBBLESCOPE_ASSIGN(Run recorded, loadWatched({options.files.begin(), options.files.end() - 1}, {}));
    BUBBLESCOPE_ASSIGN(const AlignedRun aligned, alignedRun(std::move(recorded)));
    printProblems(aligned.run.problems);
    BUBBLESCOPE_ASSIGN(const StepSelection selection, selectSteps(aligned.run.steps, options.step));
    const StepTimeline& step = aligned.run.steps[selection.typicalTimeline()];
    const std::optional<std::int64_t> stated =
        given || !aligned.run.trace ? std::nullopt : statedTransferBytes(*aligned.run.trace);
    const std::int64_t bytes = given.value_or(stated.value_or(1));
    BUBBLESCOPE_TRY(chakra::writeStep(folder, step, bytes));
    fmt::print(stderr, "Step {} of {} ranks written to {}\n", step.index, step.pp, (folder / "rank.<R>.et").string());
    if (!given)
        fmt::print(stderr, "Every transfer has {}; set another size with --transfer-bytes\n",
                   stated ? formatBytes(bytes) + ", the usual size in the trace" : "1 byte");
    return 0;
}

CommandResult convert(const ConvertArguments& options) {
    if (options.files.size() < 2) return usageError("convert needs an input file and an output file");
    const std::filesystem::path out = options.files.back();
    std::string format = options.format;
    if (format.empty()) {
        BUBBLESCOPE_ASSIGN(format, formatOf(options.files.back()));
    }
    if (format != "svg" && (options.from || options.to || options.width))
        return usageError("--svg-from, --svg-to and --svg-width apply only to drawings",
                          "write an SVG: end the name in .svg or use --to svg");
    const auto stated = traceFormatOf(out);
    const bool same_ending = format == "kineto" && stated == "chrome"; // a folder may have any name
    if (stated && *stated != format && !same_ending && out != "-")
        return usageError(fmt::format("the name '{}' means {}, but --to is {}", out.string(), *stated, format),
                          "specify only one of them");
    BUBBLESCOPE_TRY(prepareOutput(format, out, *options.force));
    if (format == "chakra") return writeChakra(options, out);
    if (!options.step.empty() || options.transfer_bytes)
        return usageError("--step and --transfer-bytes need --to chakra");
    JobControl control;
    BUBBLESCOPE_ASSIGN(const ReadTraces read, watchLoad(control, [&] {
                           return readTraces({options.files.begin(), options.files.end() - 1}, control);
                       }));
    printProblems(read.problems);
    if (format == "svg") {
        BUBBLESCOPE_TRY(svg::writeTrace(
            out, *read.trace,
            {options.from.value_or(TimeNs{0}), options.to, options.width.value_or(svg::TraceDrawOptions{}.width)}));
        fmt::print(stderr, "Drawing written to {}\n", out.string());
        return 0;
    }
    if (format == "kineto") {
        BUBBLESCOPE_ASSIGN(const int files, watchTime("Writing", [&] { return kineto::writeRanks(out, *read.trace); }));
        fmt::print(stderr, "{} slices written to {}, in {} files\n", read.trace->sliceCount(), out.string(), files);
        return 0;
    }
    DiagnosticLog log;
    BUBBLESCOPE_TRY(watchTime("Writing", [&] { return writeTraceAs(format, out, *read.trace, log, read.problems); }));
    printProblems(log.entries());
    fmt::print(stderr, "{} slices written to {}\n", read.trace->sliceCount(), out.string());
    return 0;
}

} // namespace

void addConvertCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("convert", "Convert traces to another format, merge files, or draw their slices");
    const auto options = std::make_shared<ConvertArguments>();
    options->force = &command.force();
    command.examples({"convert trace.json.gz trace.pftrace", "convert rank0.json rank1.json both.svg"});
    command
        .addOption("FILES", options->files,
                   "Traces to read (- is standard input), then the file to write (- is standard output)")
        .required()
        .expected(2, 100000);
    command
        .addOption("--to", options->format,
                   "chrome (JSON), kineto (PyTorch's profiler), chakra (one step as an execution trace), perfetto, csv "
                   "or svg (default: by file name). kineto and chakra write a folder with one file per rank")
        .typeName("FORMAT")
        .oneOf({"chrome", "kineto", "chakra", "perfetto", "csv", "svg"});
    addStepOptions(command, options->step, "Step that --to chakra writes (default: the typical one)");
    command
        .addParsed("--transfer-bytes", options->transfer_bytes, parseBytes,
                   "Bytes per transfer for --to chakra (default: the usual size in the trace, or 1)")
        .typeName("SIZE");
    const std::string group = "Drawing";
    command.addParsed("--svg-from", options->from, parseTime, "Start the drawing this far into the trace (0)")
        .typeName("TIME")
        .group(group);
    command
        .addParsed("--svg-to", options->to, parseTime, "End the drawing this far into the trace (default: at its end)")
        .typeName("TIME")
        .group(group);
    command.addOption("--svg-width", options->width, "Width of the drawing in pixels (1200)")
        .typeName("PIXELS")
        .range(200, 20000)
        .group(group);
    command.onParsed([&action, options] { action = [options] { return convert(*options); }; });
}

} // namespace bubblescope::cli
