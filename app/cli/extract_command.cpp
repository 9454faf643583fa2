#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "core/analysis/extract_file.h"
#include "core/base/bytes.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/existing_results.h"
#include "core/formats/source/file_bytes.h"
#include "core/report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope::cli {
namespace {

namespace fs = std::filesystem;

struct ExtractArguments {
    std::vector<std::string> files;
    std::string out;
    RecogniseRequest recognise;
    bool json = false;
    const bool* force = nullptr; ///< true if --force was given
};

/// A file to extract, and the name of its extract below the output folder.
struct Input {
    fs::path file;
    fs::path out;
};

Result<std::vector<Input>> inputsOf(const ExtractArguments& options) {
    std::vector<Input> inputs;
    for (const std::string& name : options.files) {
        if (name == kStandardInput) {
            inputs.push_back({name, fs::path(options.out) / extractName("stdin")});
            continue;
        }
        BUBBLESCOPE_ASSIGN(const std::vector<InputFile> found, findTraceFiles({name}));
        std::error_code failed;
        const bool folder = fs::is_directory(name, failed);
        for (const InputFile& file : found) {
            const fs::path below = folder ? file.path.lexically_relative(name) : file.path.filename();
            inputs.push_back({file.path, fs::path(options.out) / extractName(below)});
        }
    }
    std::vector<fs::path> outs;
    for (const Input& input : inputs)
        outs.push_back(input.out);
    std::ranges::sort(outs);
    if (const auto twice = std::ranges::adjacent_find(outs); twice != outs.end()) {
        return usageError(fmt::format("two input files would be written to {}", twice->string()),
                          "extract them into two folders");
    }
    return inputs;
}

std::string describe(const ExtractedFile& done) {
    if (!done.copied.empty()) return fmt::format("copied, since it {}", done.copied);
    const auto size = [](std::uint64_t bytes) { return formatBytes(static_cast<std::int64_t>(bytes)); };
    if (done.bytes_before == 0)
        return fmt::format("{}, {} of {} slices kept", size(done.bytes), done.slices, done.slices_before);
    return fmt::format("{} of {} ({:.2g} %), {} of {} slices kept", size(done.bytes), size(done.bytes_before),
                       100 * static_cast<double>(done.bytes) /
                           static_cast<double>(std::max<std::uint64_t>(1, done.bytes_before)),
                       done.slices, done.slices_before);
}

Result<ExtractedFile> extractOne(const Input& input, const ExtractArguments& options, const LoadOptions& known_of) {
    if (!*options.force) BUBBLESCOPE_TRY(mustBeNew(input.out));
    std::error_code failed;
    fs::create_directories(input.out.parent_path(), failed);
    if (failed) {
        return inputError(input.out.parent_path().string(),
                          fmt::format("cannot create the folder: {}", failed.message()));
    }
    JobControl control;
    const bool once = input.file == kStandardInput; // a copy would require reading the input again
    return watchWork(control, fmt::format("Extracting {}", once ? "standard input" : input.file.filename().string()),
                     WorkUnit::Bytes, [&] {
                         return once ? extractAnyFile(input.file, input.out, known_of, control)
                                     : extractFile(input.file, input.out, known_of, control);
                     });
}

CommandResult extract(const ExtractArguments& options) {
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, options.recognise.options());
    BUBBLESCOPE_ASSIGN(const std::vector<Input> inputs, inputsOf(options));
    report::Document document;
    report::Table table("files", {report::data("path"), report::data("extract"), report::data("bytes_before"),
                                  report::data("bytes"), report::data("slices_before"), report::data("slices"),
                                  report::data("copied")});
    std::optional<Error> first_error;
    for (const Input& input : inputs) {
        const Result<ExtractedFile> done = extractOne(input, options, known_of);
        if (!done.ok()) {
            if (done.error().kind == ErrorKind::Usage) return done.error();
            // The other files are still extracted; the last error ends the command.
            if (first_error) printError(*first_error);
            first_error = done.error();
            continue;
        }
        const ExtractedFile& file = done.value();
        const bool sized = input.file != kStandardInput;
        table.row(input.file.string(), input.out.string(), sized ? report::Value(file.bytes_before) : report::Value(),
                  file.bytes, file.slices_before, file.slices, !file.copied.empty());
        document.line(fmt::format("{}: {}", input.out.string(), describe(file)));
    }
    document.add(std::move(table));
    print(document, options.json);
    if (first_error) return *first_error;
    return 0;
}

} // namespace

void addExtractCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("extract", "Reduce raw traces to small files that produce the same analysis results");
    const auto options = std::make_shared<ExtractArguments>();
    options->force = &command.force();
    command.examples(
        {"extract trace-rank0.json.gz --out extracts", "extract traces --out extracts --rules rules.json"});
    command.addOption("FILES", options->files, "Trace files or folders; one extract per file; - is standard input")
        .required();
    command.addOption("--out", options->out, "Output folder; several processes may share it")
        .typeName("FOLDER")
        .required();
    command.addOption("--rules", options->recognise.rules, "Also recognise op names by these rules; see the manual")
        .typeName("FILE")
        .rare();
    command.addFlag("--json", options->json, "List the extracts as a JSON document");
    command.onParsed([&action, options] { action = [options] { return extract(*options); }; });
}

} // namespace bubblescope::cli
