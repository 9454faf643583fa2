#include "app/cli/check_options.h"
#include "app/cli/command.h"
#include "app/cli/command_line.h"
#include "app/cli/dispatch_options.h"
#include "app/cli/fail_on.h"
#include "app/cli/lowering_options.h"
#include "app/cli/model_options.h"
#include "app/cli/moving_stages.h"
#include "app/cli/output.h"
#include "app/cli/recorded_run.h"
#include "app/cli/run_comparison.h"
#include "app/cli/schedule_options.h"
#include "app/cli/stop_signals.h"
#include "app/cli/svg_options.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/source/existing_results.h"
#include "core/schedule/schedule_files.h"
#include "profiler/kernels/kernel_recorder.h"
#include "runtime/backend/backend.h"
#include "runtime/comm/process_transport.h"
#include "runtime/launch/launcher.h"
#include "runtime/run.h"
#ifdef BUBBLESCOPE_WITH_CUDA
#include "runtime/backend/cuda/cuda_backend.h"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace bubblescope::cli {
namespace {

/// Options that select the device on which `run` executes ops.
class BackendOption {
public:
    void add(Command command);

    [[nodiscard]] bool isCpu() const { return name_ == "cpu"; }
    /// Starts recording kernels, unless that is disabled or no rank uses a GPU. Call it before open(). Returns null if
    /// nothing is recorded; `reason` then receives the cause, unless the user disabled it.
    [[nodiscard]] std::shared_ptr<profiler::KernelRecorder> recordKernels(std::string& reason) const;
    /// True if ranks that share a GPU get separate multiprocessors, provided that the driver supports it.
    [[nodiscard]] bool dividesGpu() const { return !isCpu() && partition_.value_or("auto") == "auto"; }
    /// Returns null for the CPU. With `own_process`, each rank is a process, which selects a GPU by its local rank on
    /// the host. Errors: Usage for a backend that this build does not include, Run if there is no GPU.
    [[nodiscard]] Result<std::shared_ptr<runtime::Backend>> open(bool own_process) const;
    /// Error: Usage, if the run cannot use the attention that was requested.
    [[nodiscard]] Status checkAttention(const runtime::RunConfig& config) const;

private:
    std::string name_ = "cpu";
    std::optional<std::string> precision_; ///< bf16 by default
    std::optional<std::string> partition_; ///< auto by default
    std::optional<std::string> attention_; ///< auto by default
    std::optional<int> gpu_;
    bool graphs_ = false;
    bool no_kernels_ = false;
};

void BackendOption::add(Command command) {
    const std::string group = "GPU";
    command.addOption("--backend", name_, "Device that runs the ops: cpu, or cuda for GPUs (default: cpu)")
        .typeName("NAME")
        .suggests({"cpu", "cuda"})
        .group("Run");
    command.addOption("--gpu", gpu_, "GPU to use with --backend cuda (default: 0, or one per process)")
        .notNegative()
        .typeName("N")
        .group(group)
        .rare();
    command
        .addOption("--precision", precision_,
                   "Format of activations and weights on a GPU: bf16 (default) or fp32; the CPU computes in fp32")
        .oneOf({"bf16", "fp32"})
        .typeName("NAME")
        .group(group)
        .rare();
    command.addFlag("--cuda-graphs", graphs_, "With --backend cuda, launch the kernels of an op as one CUDA graph")
        .group(group)
        .rare();
    command
        .addOption("--gpu-partition", partition_,
                   "Divide a shared GPU's multiprocessors equally among its ranks: off, or auto (default: if the "
                   "driver supports it)")
        .oneOf({"auto", "off"})
        .typeName("NAME")
        .group(group)
        .rare();
    command
        .addOption("--attention", attention_,
                   "Kernels that compute attention in bf16: own, cudnn (loaded at run time), or auto (default; own, "
                   "until both have been measured)")
        .oneOf({"auto", "own", "cudnn"})
        .typeName("NAME")
        .group(group)
        .rare();
    command
        .addFlag("--no-kernels", no_kernels_,
                 "With --backend cuda, record only ops, timed by CUDA events, and no kernels (no CUPTI)")
        .group(group)
        .rare();
}

std::shared_ptr<profiler::KernelRecorder> BackendOption::recordKernels(std::string& reason) const {
    if (isCpu() || no_kernels_) return nullptr;
    return profiler::KernelRecorder::start(reason);
}

Result<std::shared_ptr<runtime::Backend>> BackendOption::open([[maybe_unused]] bool own_process) const {
    if (name_ == "cpu") {
        const std::string_view unused = gpu_          ? "--gpu"
                                        : graphs_     ? "--cuda-graphs"
                                        : precision_  ? "--precision"
                                        : partition_  ? "--gpu-partition"
                                        : attention_  ? "--attention"
                                        : no_kernels_ ? "--no-kernels"
                                                      : "";
        if (!unused.empty())
            return usageError(fmt::format("{} needs a GPU", unused), "add --backend cuda, or omit the option");
    }
    if (name_ == "cpu") return std::shared_ptr<runtime::Backend>();
    const bool exact = precision_ == "fp32";
    if (exact && attention_ == "cudnn")
        return usageError("--attention cudnn needs bf16", "omit --precision fp32, or use --attention own");
#ifdef BUBBLESCOPE_WITH_CUDA
    if (name_ == "cuda") {
        const int gpu = gpu_.value_or(own_process ? runtime::gpuOfProcess(rankOnHost().value_or(0)) : 0);
        const auto attention = attention_ == "cudnn" ? runtime::AttentionKernels::Cudnn
                               : attention_ == "own" ? runtime::AttentionKernels::Own
                                                     : runtime::AttentionKernels::Auto;
        BUBBLESCOPE_ASSIGN(auto backend,
                           runtime::openCudaBackend(gpu, exact ? runtime::Storage::Float : runtime::Storage::Bf16,
                                                    graphs_, attention));
        if (const std::string note = backend->attentionNote(); !exact && !note.empty()) printError(note);
        return backend;
    }
    return usageError(fmt::format("unknown backend '{}'", name_), "use --backend cpu or cuda");
#else
    return usageError(fmt::format("this build has no backend '{}'", name_),
                      "use --backend cpu; cuda needs a build with the CUDA toolkit");
#endif
}

Status BackendOption::checkAttention(const runtime::RunConfig& config) const {
    if (attention_ != "cudnn") return {};
    if (!config.backend->fusesAttention(config.model.width / config.model.heads))
        return usageError("--attention cudnn needs heads of 16, 32, 64 or 128 features",
                          "change --width or --heads, or use --attention own");
    const auto is_slice = [](const Op& op) { return op.sequence > 0; };
    const auto has_slices = [&](const std::vector<Op>& ops) { return std::ranges::any_of(ops, is_slice); };
    if (std::ranges::any_of(config.schedule.ranks, has_slices))
        return usageError("--attention cudnn does not work with slices of sequences", "use --attention own");
    return {};
}

struct RunArguments {
    ScheduleRequest schedule;
    std::vector<std::string> compare;
    SvgOptions svg;
    WeightTimes weights;
    std::optional<int> nodes; ///< only for tawpipe
    BackendOption backend;
    std::string transport;
    std::string out;
    std::optional<std::int64_t> size;
    int steps = 5;
    ModelOptions model;
    CheckOptions checks;
    bool no_pace = false;
    std::optional<TimeNs> pace_tolerance;
    int replicas = 1;
    int tensor_ranks = 1;
    std::vector<std::string> faults;
    DispatchPolicy dispatch;
    bool adapt = false;
    std::optional<TimeNs> timeout;
    bool json = false;
    std::vector<std::string> fail_on;
    const bool* force = nullptr; ///< true if --force was given
};

/// Rejects options that have no effect because stages do or do not belong to ranks.
Status checkMovingOptions(const RunArguments& options, const ProcessTeam* team) {
    if (!movesStages(options.schedule)) {
        const bool timed = options.weights.unshard > TimeNs{0} || options.weights.reduce_grad > TimeNs{0};
        if (timed || options.nodes)
            return usageError("--unshard, --reduce-grad and --nodes have no effect if stages belong to ranks",
                              "use roundpipe, weipipe or tawpipe");
        return {};
    }
    const std::string& name = options.schedule.spec.name;
    if (severalProcesses(team))
        return usageError(fmt::format("{} needs all ranks in one process", name), "start a single process");
    if (!options.compare.empty())
        return usageError(fmt::format("{} cannot be compared in a table", name), "run it alone");
    if (!options.fail_on.empty())
        return usageError(fmt::format("--fail-on has no effect with {}, whose run is not analysed", name),
                          "omit --fail-on");
    return {};
}

/// The placement of the ranks determines the transport. The option only confirms the user's
/// expectation.
Status checkTransport(const RunArguments& options, const ProcessTeam* team) {
    const std::string& name = options.transport;
    if (name == "nccl" && options.backend.isCpu())
        return usageError("--transport nccl connects GPUs, but the ranks are on the CPU", "add --backend cuda");
    if (name == "mpi" && !options.backend.isCpu())
        return usageError("--transport mpi needs ranks on the CPU", "use --transport nccl for GPUs");
    if (name == "mpi" && !severalProcesses(team))
        return usageError("--transport mpi needs one process per rank", "start it with mpirun -n RANKS");
    if (name == "inproc" && severalProcesses(team))
        return usageError("--transport inproc needs all ranks in one process", "start a single process");
    return {};
}

Result<std::int64_t> parseTraceSize(std::string_view text) {
    BUBBLESCOPE_ASSIGN(const std::int64_t bytes, parseBytes(text));
    constexpr std::int64_t kLeast = 1 << 16; // minimum, because each part repeats the description of the run
    if (bytes < kLeast)
        return usageError(fmt::format("--size {} is too small for a trace", text), "use at least 64KiB");
    return bytes;
}

/// Creates the configuration without the schedule.
Result<runtime::RunConfig> configure(const RunArguments& options, const ProcessTeam* team) {
    BUBBLESCOPE_TRY(checkTransport(options, team));
    runtime::RunConfig config;
    BUBBLESCOPE_ASSIGN(config.times, options.schedule.costs(TimeNs{5'000'000}));
    if (options.pace_tolerance) config.pace_tolerance = *options.pace_tolerance;
    if (options.size) config.trace_bytes = *options.size;
    if (options.timeout) config.timeout = *options.timeout;
    for (const std::string& fault : options.faults) {
        BUBBLESCOPE_ASSIGN(config.faults.emplace_back(), runtime::parseFault(fault));
    }
    BUBBLESCOPE_ASSIGN(config.model, options.model.config());
    config.replicas = options.replicas;
    config.tensor_ranks = options.tensor_ranks;
    std::string why_no_kernels;
    config.kernels = options.backend.recordKernels(why_no_kernels); // must happen before the driver starts
    BUBBLESCOPE_ASSIGN(config.backend, options.backend.open(severalProcesses(team)));
    if (!why_no_kernels.empty()) printError(why_no_kernels);
    BUBBLESCOPE_ASSIGN(config.aadiff,
                       options.checks.options(config.backend ? config.backend->device() : std::string()));
    config.divide_device = options.backend.dividesGpu() && !severalProcesses(team);
    config.steps = options.steps;
    config.paced = !options.no_pace;
    config.dispatch = options.dispatch;
    config.adapt = options.adapt;
    return config;
}

Result<runtime::RunConfig> planOne(const RunArguments& options, const ProcessTeam* team) {
    BUBBLESCOPE_ASSIGN(runtime::RunConfig config, configure(options, team));
    if (movesStages(options.schedule)) {
        BUBBLESCOPE_TRY(planMovingRun(options.schedule, options.weights, options.nodes, config));
        config.out_dir = options.out;
        BUBBLESCOPE_TRY(options.model.cutLayers(config.schedule, config.model));
        return config;
    }
    BUBBLESCOPE_ASSIGN(config.schedule, options.schedule.schedule(config.times));
    if (!options.schedule.file.empty()) {
        BUBBLESCOPE_ASSIGN(LoweredSchedule lowered, readLoweredFile(options.schedule.file));
        if (lowered.movesActivations()) config.actions = std::move(lowered.actions);
    }
    BUBBLESCOPE_TRY(options.schedule.checkUsed({&config.schedule, 1}));
    BUBBLESCOPE_TRY(options.model.cutLayers(config.schedule, config.model));
    BUBBLESCOPE_TRY(options.backend.checkAttention(config));
    return config;
}

/// Reports how a shared GPU was divided among the ranks.
void noteDivision(const runtime::RunSummary& summary) {
    if (!summary.division) return;
    const auto& [processors, of, why_not] = *summary.division;
    if (processors > 0) {
        printError(fmt::format("each rank had {} of the GPU's {} multiprocessors", processors, of));
    } else {
        printError(fmt::format("the ranks shared all of the GPU's multiprocessors: {}", why_not));
    }
}

CommandResult runOne(runtime::RunConfig config, const RunArguments& options, ProcessTeam* team) {
    if (config.movesStages()) return runMoving(config, options.svg, options.json);
    std::vector<RecordedRun> runs;
    BUBBLESCOPE_ASSIGN(runs.emplace_back(), recordRun(std::move(config), options.out, team));
    if (team != nullptr && !team->isRoot()) return 0;
    const RecordedRun& recorded = runs.front();
    printProblems(recorded.run.problems);
    noteDivision(recorded.training);
    BUBBLESCOPE_TRY(drawRuns(options.svg, runs));
    print(toDocument(recorded, options.json ? report::Reader::Programs : report::Reader::Text), options.json);
    if (!options.json && !options.out.empty()) {
        printText(fmt::format("\nTrace written to {0}; open it with `bubblescope view {0}`\n", options.out));
    }
    return failsOnAny(options.fail_on, recorded.report.anomalies) ? 1 : 0;
}

Result<std::vector<runtime::RunConfig>> planAll(const RunArguments& options, const ProcessTeam* team) {
    BUBBLESCOPE_ASSIGN(const runtime::RunConfig base, configure(options, team));
    BUBBLESCOPE_ASSIGN(std::vector<runtime::RunConfig> all,
                       planComparison({options.schedule, options.compare, options.model}, base.times, base));
    for (const runtime::RunConfig& config : all)
        BUBBLESCOPE_TRY(options.backend.checkAttention(config));
    return all;
}

/// Either all processes continue or none, because they may have different files.
template <class Outcome>
Outcome agreed(Outcome outcome, ProcessTeam* team) {
    if (team == nullptr) return outcome;
    BUBBLESCOPE_TRY(runtime::agree(outcome.ok() ? Status() : Status(outcome.error()), *team));
    return outcome;
}

/// Like CommandLine::prepare(), for the folders of a comparison.
Status prepareFolders(const std::vector<std::string>& folders, const RunArguments& options, const ProcessTeam* team) {
    if (options.out.empty() || (team != nullptr && !team->isRoot())) return {};
    for (const std::string& folder : folders)
        BUBBLESCOPE_TRY(*options.force ? removeAll(folder, kTraceEnding) : mustHoldNone(folder, kTraceEnding));
    return {};
}

CommandResult compare(const std::vector<runtime::RunConfig>& configs, const RunArguments& options, ProcessTeam* team) {
    const std::vector<std::string> folders = foldersOf(configs, options.out);
    BUBBLESCOPE_TRY(agreed(prepareFolders(folders, options, team), team));
    BUBBLESCOPE_ASSIGN(const std::vector<RecordedRun> runs, recordAll(configs, folders, team));
    if (team != nullptr && !team->isRoot()) return 0;
    noteDivision(runs.front().training);
    BUBBLESCOPE_TRY(drawRuns(options.svg, runs));
    print(comparisonDocument(runs, options.json), options.json);
    if (!options.json && !options.out.empty()) printText(fmt::format("Traces written to folders in {}\n", options.out));
    return std::ranges::any_of(
               runs, [&](const RecordedRun& each) { return failsOnAny(options.fail_on, each.report.anomalies); })
               ? 1
               : 0;
}

CommandResult run(const RunArguments& options, ProcessTeam* team) {
    // Several processes would have to agree on the last step, so their launcher ends them instead.
    std::optional<EndOnSignal> end;
    if (!severalProcesses(team)) end.emplace();
    BUBBLESCOPE_TRY(checkMovingOptions(options, team));
    const std::stop_token end_early = end ? end->token() : std::stop_token();
    if (const std::string note = options.model.note(); !note.empty() && (team == nullptr || team->isRoot()))
        printError(note);
    if (options.compare.empty()) {
        BUBBLESCOPE_ASSIGN(runtime::RunConfig config, agreed(planOne(options, team), team));
        config.end_early = end_early;
        return runOne(std::move(config), options, team);
    }
    BUBBLESCOPE_ASSIGN(std::vector<runtime::RunConfig> configs, agreed(planAll(options, team), team));
    for (runtime::RunConfig& config : configs)
        config.end_early = end_early;
    return compare(configs, options, team);
}

} // namespace

namespace {

void addOptions(const Command& command, Action& action, ProcessTeam* team, bool checks) {
    const auto options = std::make_shared<RunArguments>();
    options->force = &command.force();
    addScheduleOptions(command, options->schedule);
    addTimeOptions(command, options->schedule);
    addGatherTimeOptions(command, options->weights);
    addNodesOption(command, options->nodes);
    command.optionGroup("Run");
    command
        .addOption("--compare", options->compare,
                   "Also train the same model with these schedules: NAME, NAME/FLAVOR or /FLAVOR; prints a table")
        .typeName("LIST")
        .delimiter(',');
    options->backend.add(command);
    command
        .addOption("--transport", options->transport,
                   "Transport of tensors: inproc between threads, mpi between processes on the CPU, nccl between "
                   "processes with one GPU each (default: the one that fits)")
        .oneOf({"inproc", "mpi", "nccl"})
        .typeName("NAME")
        .rare();
    command.addOption("--steps", options->steps, "Training steps (5)").range(1, 1'000'000).typeName("N");
    const Option out =
        command.addOutput("--out", options->out, OutputKind::Traces, "Keep the trace files in this folder")
            .typeName("DIR");
    command
        .addParsed("--size", options->size, parseTraceSize,
                   "Size limit for a rank's trace (default: none); beyond it, the oldest quarter is dropped")
        .typeName("BYTES")
        .needs(out)
        .rare();
    const Option no_pace = command.addFlag("--no-pace", options->no_pace,
                                           "Run ops at full speed instead of pacing them to their nominal times");
    command
        .addParsed("--pace-tolerance", options->pace_tolerance, parseTime,
                   "Delay above which a paced op is recorded with its actual end time (10ms)")
        .typeName("TIME")
        .excludes(no_pace)
        .rare();
    command.addOption("--dp", options->replicas, "Data-parallel replicas of the pipeline (1)")
        .range(1, 1024)
        .typeName("N");
    command.addOption("--tp", options->tensor_ranks, "Tensor-parallel ranks of each stage (1); a divisor of --heads")
        .range(1, 1024)
        .typeName("N");
    command
        .addOption("--inject", options->faults,
                   "Inject a fault, such as slow:rank=2,factor=1.3 or link:0>1,latency=2ms; may be repeated")
        .typeName("FAULT")
        .repeatable();
    addDispatchOptions(command, options->dispatch);
    command
        .addFlag("--adapt", options->adapt,
                 "Change the order between steps if another order is shorter with the measured times")
        .group("Dispatch")
        .rare();
    command
        .addParsed("--timeout", options->timeout, parseTime,
                   "Abort the run if a rank keeps the others waiting longer than this (60s)")
        .typeName("TIME")
        .rare();
    command.addFlag("--json", options->json, "Print a JSON document");
    addFailOn(command, options->fail_on);
    options->checks.add(command, checks);
    options->model.add(command);
    options->svg.add(command);
    command.onParsed([&action, options, team] { action = [options, team] { return run(*options, team); }; });
}

} // namespace

void addRunCommand(Command app, Action& action, ProcessTeam* team) {
    const Command command =
        app.addCommand("run", "Train a small model with a pipeline schedule and explain its bubbles");
    command.examples({"run --schedule 1f1b --pp 4 --microbatches 8 --forward 5ms --backward 10ms --out my-run",
                      "run --schedule zb-h1 --pp 4 --microbatches 8 --inject slow:rank=2,factor=1.3"});
    addOptions(command, action, team, false);
}

void addCheckedRunCommand(Command aadiff, Action& action, ProcessTeam* team) {
    const Command command =
        aadiff.addCommand("run", "Train like `bubblescope run`, and recompute ops in its bubbles to check them");
    command.examples({"aadiff run --schedule 1f1b --pp 4 --microbatches 8 --forward 5ms --backward 10ms",
                      "aadiff run --schedule 1f1b --pp 4 --microbatches 8 --on-mismatch stop --out checked"});
    addOptions(command, action, team, true);
}

} // namespace bubblescope::cli
