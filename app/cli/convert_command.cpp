#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/io/chrome/writer.h"
#include "core/io/csv/writer.h"
#include "core/io/perfetto/write_trace.h"
#include "core/io/read_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct Options {
    std::vector<std::string> files; ///< the last one is written
    std::string format;
};

Result<std::string> formatOf(const std::filesystem::path& out) {
    const std::string extension = out.extension().string();
    if (extension == ".json") return std::string("chrome");
    if (extension == ".pftrace" || extension == ".perfetto-trace") return std::string("perfetto");
    if (extension == ".csv") return std::string("csv");
    return usageError(fmt::format("'{}' does not tell a format", out.string()),
                      "end it in .json, .pftrace or .csv, or say --to chrome, perfetto or csv");
}

Status write(const std::string& format, const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log) {
    if (format == "chrome") return chrome::writeChrome(file, trace, log);
    if (format == "perfetto") return perfetto::writeTrace(file, trace, log);
    return csv::writeSlices(file, trace);
}

CommandResult convert(const Options& options) {
    if (options.files.size() < 2) return usageError("convert needs a file to read and one to write");
    const std::filesystem::path out = options.files.back();
    std::string format = options.format;
    if (format.empty()) {
        BUBBLESCOPE_ASSIGN(format, formatOf(out));
    }
    JobControl control;
    BUBBLESCOPE_ASSIGN(const ReadTraces read, readTraces({options.files.begin(), options.files.end() - 1}, control));
    DiagnosticLog log;
    BUBBLESCOPE_TRY(write(format, out, *read.trace, log));
    printProblems(read.problems);
    printProblems(log.entries());
    fmt::print(stderr, "{} slices written to {}\n", read.trace->sliceCount(), out.string());
    return 0;
}

} // namespace

void addConvertCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("convert", "Write traces in another format, several files as one");
    const auto options = std::make_shared<Options>();
    command->add_option("FILES", options->files, "Traces to read (- is standard input), then the file to write")
        ->required()
        ->expected(2, 100000);
    command
        ->add_option("--to", options->format, "chrome (JSON), perfetto or csv; by the ending of the name if not given")
        ->check(CLI::IsMember({"chrome", "perfetto", "csv"}));
    command->callback([&action, options] { action = [options] { return convert(*options); }; });
}

} // namespace bubblescope::cli
