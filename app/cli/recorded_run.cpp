#include "app/cli/recorded_run.h"

#include "app/cli/analysis_output.h"
#include "app/cli/table.h"
#include "core/aadiff/coverage.h"
#include "core/base/temporary_folder.h"
#include "runtime/comm/process_transport.h"
#include "runtime/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

namespace bubblescope::cli {
namespace {

Result<runtime::RunSummary> trainTogether(const runtime::RunConfig& config, JobControl& control, ProcessTeam& team) {
    runtime::ProcessRun ran = runtime::runOverProcesses(config, control, team);
    if (ran.summary.ok()) return std::move(ran.summary);
    const Error& error = ran.summary.error();
    // main() lets the root speak for all, but each process may have its own view of what ended a run.
    const bool says = error.kind == ErrorKind::Run && (!team.isRoot() || !ran.all_alive);
    if (says) printError(fmt::format("rank {}: {}", team.rank(), error.text()));
    if (!ran.all_alive) { // MPI would wait for the dead
        std::fflush(nullptr);
        std::_Exit(exitCode(error.kind));
    }
    return std::move(ran.summary);
}

Result<RecordedRun> recordInto(runtime::RunConfig config, const std::filesystem::path& folder, ProcessTeam* team) {
    config.out_dir = folder;
    JobControl control;
    BUBBLESCOPE_ASSIGN(runtime::RunSummary training, severalProcesses(team) ? trainTogether(config, control, *team)
                                                                            : runtime::runPipeline(config, control));
    if (severalProcesses(team) && !team->isRoot()) return RecordedRun{std::move(training), {}, {}};
    BUBBLESCOPE_ASSIGN(Run run, loadRun(training.files, control));
    BUBBLESCOPE_ASSIGN(DiagnosedRun diagnosed, diagnoseRun(std::move(run)));
    return RecordedRun{std::move(training), std::move(diagnosed.run), std::move(diagnosed.report)};
}

/// The root's temporary folder, of which all are told.
Result<RecordedRun> recordForNow(runtime::RunConfig config, ProcessTeam* team) {
    const bool makes = !severalProcesses(team) || team->isRoot();
    std::optional<TemporaryFolder> folder;
    Status made;
    if (makes) {
        auto result = TemporaryFolder::make(
            "bubblescope", runError("no temporary folder for the trace can be made", "give --out DIR"));
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

Json memoryJson(const std::vector<runtime::MemoryUse>& memory) {
    Json ranks = Json::array();
    for (const runtime::MemoryUse& rank : memory) {
        ranks.push_back({{"rank", ranks.size()},
                         {"weights_bytes", rank.weights},
                         {"gradients_bytes", rank.gradients},
                         {"optimizer_bytes", rank.optimizer},
                         {"activations_bytes", rank.activations}});
    }
    return ranks;
}

} // namespace

Result<RecordedRun> recordRun(runtime::RunConfig config, const std::string& out, ProcessTeam* team) {
    if (!out.empty()) return recordInto(std::move(config), out, team);
    return recordForNow(std::move(config), team);
}

Json toJson(const RecordedRun& recorded) {
    const runtime::RunSummary& training = recorded.training;
    Json document = analysisJson(recorded.run, recorded.report);
    document["training"] = {{"losses", training.losses},
                            {"weights_digest", digestText(training.weights_digest)},
                            {"peak_memory", memoryJson(training.memory)},
                            {"ops", training.ops},
                            {"late_ops", training.late_ops},
                            {"max_lateness_ns", training.max_lateness.count()},
                            {"dropped_records", training.dropped_records}};
    if (training.checks) {
        document["aadiff_plan"] = {
            {"steps_to_full", training.checks->steps_to_full ? Json(*training.checks->steps_to_full) : Json()},
            {"retimed", training.checks->retimed}};
        const std::vector<StepChecks> steps = checksByStep(recorded.run.checks, recorded.run.steps);
        const auto reached = stepsToCover(steps);
        document["aadiff_plan"]["steps_reached"] = reached ? Json(*reached) : Json();
        document["aadiff_plan"]["steps"] = Json::array();
        for (const StepChecks& step : steps) {
            document["aadiff_plan"]["steps"].push_back({{"index", step.step},
                                                        {"replica", step.replica},
                                                        {"planned", step.counts.planned()},
                                                        {"done", step.counts.done()},
                                                        {"aborted", step.counts.aborted},
                                                        {"skipped", step.counts.skipped},
                                                        {"mismatched", step.counts.mismatched},
                                                        {"units_covered", step.units},
                                                        {"delay_ns", step.delay.count()}});
        }
    }
    return document;
}

std::string trainingText(const runtime::RunSummary& training) {
    std::string out = "Loss by step:";
    for (const double loss : training.losses)
        out += fmt::format(" {:.6f}", loss);
    out += fmt::format("\nWeights' digest: {}\n", digestText(training.weights_digest));
    return out + "\n";
}

std::string stepChecksText(const RecordedRun& recorded) {
    const auto& plan = recorded.training.checks;
    const std::vector<StepChecks> steps = checksByStep(recorded.run.checks, recorded.run.steps);
    if (!plan || steps.empty()) return {};
    constexpr std::size_t kShown = 12;
    std::string out = "Checks by step\n";
    Table table(
        {{"step"}, {"planned"}, {"done"}, {"aborted"}, {"skipped"}, {"mismatched"}, {"units covered"}, {"delay"}});
    for (const StepChecks& step : std::span(steps).first(std::min(kShown, steps.size()))) {
        table.row({fmt::format("{}", step.step), fmt::format("{}", step.counts.planned()),
                   fmt::format("{}", step.counts.done()), fmt::format("{}", step.counts.aborted),
                   fmt::format("{}", step.counts.skipped), fmt::format("{}", step.counts.mismatched),
                   fmt::format("{}", step.units), formatTime(step.delay)});
    }
    out += table.text();
    if (steps.size() > kShown) out += fmt::format("  and {} steps more\n", steps.size() - kShown);
    const auto reached = stepsToCover(steps);
    out += fmt::format("Every layer of every op is planned within {}; all that was covered was within {}.{}\n\n",
                       plan->steps_to_full ? fmt::format("{} steps", *plan->steps_to_full) : "no number of steps",
                       reached ? fmt::format("{} steps", *reached) : "none",
                       plan->retimed ? " Ops are held back within their slack." : "");
    return out;
}

std::string digestText(std::uint64_t digest) {
    return fmt::format("{:016x}", digest);
}

} // namespace bubblescope::cli
