#include "app/cli/recorded_run.h"

#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "core/aadiff/coverage.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/temporary_folder.h"
#include "core/live/long_run.h"
#include "core/report/results/analysis.h"
#include "runtime/comm/process_transport.h"
#include "runtime/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

namespace bubblescope::cli {
namespace {

Result<runtime::RunSummary> trainTogether(const runtime::RunConfig& config, JobControl& control, ProcessTeam& team) {
    runtime::ProcessRun ran = runtime::runOverProcesses(config, control, team);
    if (ran.summary.ok()) return std::move(ran.summary);
    const Error& error = ran.summary.error();
    // In main(), only the root prints, but each process may have a different reason for the end of a run.
    const bool says = error.kind == ErrorKind::Run && (!team.isRoot() || !ran.all_alive);
    if (says) printError(fmt::format("rank {}: {}", team.rank(), error.text()));
    if (!ran.all_alive) { // MPI would wait for the process that died
        std::fflush(nullptr);
        std::_Exit(exitCode(error.kind));
    }
    return std::move(ran.summary);
}

/// `files` are the files that the run has left in the folder.
Result<DiagnosedRun> diagnoseRecording(const std::filesystem::path& folder,
                                       const std::vector<std::filesystem::path>& files, JobControl& control) {
    BUBBLESCOPE_ASSIGN(std::optional<DiagnosedRun> in_parts,
                       live::diagnoseLongRun({folder}, {}, WindowLimits{}, live::kLongRecording, control));
    if (in_parts) return std::move(*in_parts);
    BUBBLESCOPE_ASSIGN(Run run, loadRun(files, control));
    return diagnoseRun(std::move(run));
}

Result<RecordedRun> recordInto(runtime::RunConfig config, const std::filesystem::path& folder, ProcessTeam* team) {
    config.out_dir = folder;
    JobControl control;
    const auto train = [&] {
        return severalProcesses(team) ? trainTogether(config, control, *team) : runtime::runPipeline(config, control);
    };
    BUBBLESCOPE_ASSIGN(runtime::RunSummary training, watchWork(control, "Running", WorkUnit::Ops, train));
    if (severalProcesses(team) && !team->isRoot()) return RecordedRun{std::move(training), {}, {}};
    BUBBLESCOPE_ASSIGN(DiagnosedRun diagnosed, diagnoseRecording(folder, training.files, control));
    return RecordedRun{std::move(training), std::move(diagnosed.run), std::move(diagnosed.report)};
}

/// Records into the root's temporary folder, whose path is passed to all processes.
Result<RecordedRun> recordForNow(runtime::RunConfig config, ProcessTeam* team) {
    const bool makes = !severalProcesses(team) || team->isRoot();
    std::optional<TemporaryFolder> folder;
    Status made;
    if (makes) {
        auto result = TemporaryFolder::make(
            "bubblescope", runError("cannot create a temporary folder for the trace", "use --out DIR"));
        if (result.ok()) {
            folder.emplace(std::move(result).value());
        } else {
            made = std::move(result).error();
        }
    }
    std::filesystem::path path = folder ? folder->path() : std::filesystem::path();
    if (severalProcesses(team)) {
        BUBBLESCOPE_TRY(runtime::agree(made, *team));
        BUBBLESCOPE_ASSIGN(path, team->broadcast(path.string()));
    }
    BUBBLESCOPE_TRY(made);
    return recordInto(std::move(config), path, team);
}

report::Table memoryTable(const std::vector<runtime::MemoryUse>& memory) {
    using report::data;
    report::Table table("peak_memory", {data("rank"), data("weights_bytes"), data("gradients_bytes"),
                                        data("optimizer_bytes"), data("activations_bytes")});
    for (const runtime::MemoryUse& rank : memory)
        table.row(table.rows.size(), rank.weights, rank.gradients, rank.optimizer, rank.activations);
    return table;
}

/// Results of the checks in a run, per step.
report::Section checksByStepSection(const RecordedRun& recorded, report::Reader reader) {
    using report::column;
    report::Section section;
    section.key = "aadiff_plan";
    const auto& plan = recorded.training.checks;
    if (!plan) return section;
    const bool people = reader != report::Reader::Programs;
    const std::vector<StepChecks> steps = checksByStep(recorded.run.checks, recorded.run.steps);
    if (people && steps.empty()) return section;
    const auto reached = stepsToCover(steps);
    section.data("steps_to_full", plan->steps_to_full);
    section.data("retimed", plan->retimed);
    section.data("steps_reached", reached);
    section.line("Checks by step");
    report::Table table("steps", {column("index", "step"), report::data("replica"), column("planned", "planned"),
                                  column("done", "done"), column("aborted", "aborted"), column("skipped", "skipped"),
                                  column("mismatched", "mismatched"), column("units_covered", "units covered"),
                                  column("delay_ns", "delay")});
    table.most_in_text = 12;
    table.more = "and {} more steps";
    for (const StepChecks& step : steps) {
        table.row(step.step, step.replica, step.counts.planned(), step.counts.done(), step.counts.aborted,
                  step.counts.skipped, step.counts.mismatched, step.units, step.delay);
    }
    section.add(std::move(table));
    section.line(fmt::format(
        "{}.{}{}\n",
        plan->steps_to_full
            ? fmt::format("The plan checks every op of every layer within {} steps", *plan->steps_to_full)
            : "The plan leaves some ops of some layers unchecked",
        reached ? fmt::format(" This run covered everything that can be checked within {} steps.", *reached) : "",
        plan->retimed ? " Ops are delayed within their slack." : ""));
    return section;
}

} // namespace

Result<RecordedRun> recordRun(runtime::RunConfig config, const std::string& out, ProcessTeam* team) {
    if (!out.empty()) return recordInto(std::move(config), out, team);
    return recordForNow(std::move(config), team);
}

report::Section trainingData(const runtime::RunSummary& training) {
    report::Section section;
    section.key = "training";
    section.data("losses", training.losses);
    section.data("weights_digest", digestText(training.weights_digest));
    section.add(memoryTable(training.memory));
    section.data("ops", training.ops);
    section.data("late_ops", training.late_ops);
    section.data("max_lateness_ns", training.max_lateness);
    section.data("dropped_records", training.dropped_records);
    report::Value::List changes;
    for (const runtime::OrderChange& change : training.order_changes)
        changes.push_back(report::Value::Object{{"after_step", change.step},
                                                {"cause", change.cause},
                                                {"order", change.order},
                                                {"before_ns", change.before},
                                                {"expected_ns", change.expected}});
    if (!changes.empty()) section.data("order_changes", std::move(changes));
    if (training.kernels) {
        const profiler::KernelCounts& kernels = *training.kernels;
        section.data("kernels", report::Value::Object{{"work", kernels.work},
                                                      {"calls", kernels.calls},
                                                      {"foreign", kernels.foreign},
                                                      {"lost", kernels.lost}});
    }
    return section;
}

void addTraining(report::Section& document, const runtime::RunSummary& training) {
    std::string losses = training.updates_per_step > 1 ? "Loss by update:" : "Loss by step:";
    for (const double loss : training.losses)
        losses += fmt::format(" {:.6f}", loss);
    document.line(std::move(losses));
    document.line(fmt::format("Digest of the weights: {}", digestText(training.weights_digest)));
    for (const runtime::OrderChange& change : training.order_changes) {
        document.line(fmt::format("After step {}: {}; new order '{}', {} instead of {}", change.step, change.cause,
                                  change.order, formatTime(change.expected), formatTime(change.before)));
    }
    if (const auto& kernels = training.kernels) {
        document.line(fmt::format("Recorded {} kernels and copies, and {} calls{}{}", kernels->work, kernels->calls,
                                  kernels->foreign > 0 ? fmt::format("; {} without a rank", kernels->foreign) : "",
                                  kernels->lost > 0 ? fmt::format("; {} were lost", kernels->lost) : ""));
    }
    document.line("");
}

report::Document toDocument(const RecordedRun& recorded, report::Reader reader) {
    report::AnalysisOptions options;
    options.reader = reader;
    report::Document analysis = report::analysisDocument(recorded.run, recorded.report, options);
    report::Section checks = checksByStepSection(recorded, reader);
    if (reader == report::Reader::Programs) {
        analysis.add(trainingData(recorded.training));
        if (recorded.training.checks) analysis.add(std::move(checks));
        return analysis;
    }
    report::Document document;
    addTraining(document, recorded.training);
    document.add(std::move(checks));
    document.add(std::move<report::Section&>(analysis));
    return document;
}

std::string digestText(std::uint64_t digest) {
    return fmt::format("{:016x}", digest);
}

} // namespace bubblescope::cli
