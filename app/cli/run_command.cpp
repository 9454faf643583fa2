#include "app/cli/analysis_output.h"
#include "app/cli/command.h"
#include "app/cli/schedule_options.h"
#include "runtime/run.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace bubblescope::cli {
namespace {

struct Options {
    ScheduleOptions schedule;
    std::string backend = "cpu";
    std::string out;
    int steps = 5;
    runtime::ModelConfig model;
    bool no_pace = false;
    std::string pace_tolerance;
    bool json = false;
};

/// Where a run without --out records, so that it can be analysed all the same; gone afterwards.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> make() {
        std::string path = (std::filesystem::temp_directory_path() / "bubblescope-XXXXXX").string();
        if (mkdtemp(path.data()) == nullptr)
            return runError("no temporary folder for the trace can be made", "give --out DIR");
        return TemporaryFolder(path);
    }
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

Result<runtime::RunConfig> configure(const Options& options) {
    if (options.backend != "cpu") {
        return usageError(fmt::format("this build has no backend '{}'", options.backend), "use --backend cpu");
    }
    runtime::RunConfig config;
    BUBBLESCOPE_ASSIGN(config.times, options.schedule.costs(TimeNs{5'000'000}));
    BUBBLESCOPE_ASSIGN(config.schedule, options.schedule.schedule(config.times));
    if (!options.pace_tolerance.empty()) {
        BUBBLESCOPE_ASSIGN(config.pace_tolerance, parseTime(options.pace_tolerance));
    }
    config.model = options.model;
    config.steps = options.steps;
    config.paced = !options.no_pace;
    return config;
}

std::string trainingText(const runtime::RunSummary& summary) {
    std::string out = "Loss by step:";
    for (const double loss : summary.losses)
        out += fmt::format(" {:.6f}", loss);
    return out + fmt::format("\nWeights' digest: {:016x}\n\n", summary.weights_digest);
}

Json trainingJson(const runtime::RunSummary& summary) {
    return {{"losses", summary.losses},
            {"weights_digest", fmt::format("{:016x}", summary.weights_digest)},
            {"ops", summary.ops},
            {"late_ops", summary.late_ops},
            {"max_lateness_ns", summary.max_lateness.count()},
            {"dropped_records", summary.dropped_records}};
}

CommandResult execute(runtime::RunConfig config, const Options& options) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const runtime::RunSummary summary, runtime::runPipeline(config, control));
    BUBBLESCOPE_ASSIGN(const Run run, loadRun(summary.files, control));
    const RunReport report = analyzeRun(run);
    printProblems(run.problems);
    if (options.json) {
        Json document = analysisJson(run, report);
        document["training"] = trainingJson(summary);
        printJson(document);
        return 0;
    }
    printText(trainingText(summary) + analysisText(run, report, {}));
    if (!options.out.empty()) {
        printText(fmt::format("\nTrace written to {0}; look at it with `bubblescope view {0}`\n", options.out));
    }
    return 0;
}

CommandResult run(const Options& options) {
    BUBBLESCOPE_ASSIGN(runtime::RunConfig config, configure(options));
    if (!options.out.empty()) {
        config.out_dir = options.out;
        return execute(std::move(config), options);
    }
    BUBBLESCOPE_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
    config.out_dir = folder.path();
    return execute(std::move(config), options);
}

} // namespace

void addRunCommand(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("run", "Train a small model with a pipeline schedule and account for its bubbles");
    const auto options = std::make_shared<Options>();
    options->schedule.addSchedule(*command);
    options->schedule.addTimes(*command);
    command->add_option("--backend", options->backend, "Where ops execute: cpu")->type_name("NAME");
    command->add_option("--steps", options->steps, "Training steps (5)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--out", options->out, "Keep the trace files in this directory")->type_name("DIR");
    command->add_flag("--no-pace", options->no_pace, "Let ops take as long as their maths, not their nominal time");
    command
        ->add_option("--pace-tolerance", options->pace_tolerance,
                     "Lateness above which a paced op ends when it really did (10ms)")
        ->type_name("TIME");
    command->add_option("--width", options->model.width, "Features of the model")
        ->check(CLI::Range(1, 8192))
        ->type_name("N");
    command->add_option("--layers", options->model.layers_per_stage, "Layers in each chunk")
        ->check(CLI::Range(1, 1000))
        ->type_name("N");
    command->add_option("--rows", options->model.rows, "Samples of a micro-batch")
        ->check(CLI::Range(1, 65536))
        ->type_name("N");
    command->add_option("--seed", options->model.seed, "Seed of weights and data")->type_name("N");
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
