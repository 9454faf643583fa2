#include "runtime/run.h"

#include "core/base/exception_text.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/run_setup.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// Returns null if the run uses the whole device for all ranks; the summary then holds the reason.
std::unique_ptr<DividedDevice> divideDevice(const RunConfig& config, int ranks, RunSummary& summary) {
    if (!config.divide_device || !config.backend || ranks == 1) return nullptr;
    DeviceDivision& division = summary.division.emplace();
    Result<std::unique_ptr<DividedDevice>> divided = config.backend->divide(ranks);
    if (!divided.ok()) {
        division.why_not = divided.error().text();
        return nullptr;
    }
    division.processors = divided.value()->processors();
    division.of = divided.value()->allProcessors();
    return std::move(divided).value();
}

/// Fills in what the engine reports.
Status summarise(EngineResult& result, const RunConfig& config, RunSummary& summary) {
    for (const std::vector<double>& shares : result.losses)
        summary.losses.push_back(lossOf(shares));
    BUBBLESCOPE_ASSIGN(summary.weights_digest,
                       digestOf(result.stages, routes(config.schedule.placement), config.tensor_ranks));
    summary.memory = std::move(result.memory);
    summary.ops = result.ops;
    summary.late_ops = result.late_ops;
    summary.max_lateness = result.max_lateness;
    return {};
}

/// Writes the remaining records, even if the run failed; in that case the run's error takes precedence.
template <class Ran>
Status closeRecorder(profiler::Recorder* recorder, const Result<Ran>& ran) {
    Status written =
        recorder != nullptr ? recorder->close(ran.ok() ? std::string() : failureOf(ran.error())) : Status();
    return ran.ok() ? std::move(written) : Status(ran.error());
}

void noteFiles(const profiler::Recorder& recorder, RunSummary& summary) {
    summary.dropped_records = recorder.dropped();
    summary.files = recorder.files();
}

Result<RunSummary> runMovingHere(const RunConfig& config, JobControl& control) {
    BUBBLESCOPE_ASSIGN(const std::unique_ptr<profiler::Recorder> recorder, openRecorder(config));
    MonotonicClock clock;
    InProcessTransports transports(config.schedule.pp, clock, config.timeout);
    const EngineParts parts = engineParts(config, clock, transports.ends(), recorder.get(), nullptr);
    Result<MovingRunResult> ran = config.weights ? runTravellingWeights(config, *config.weights, parts, control)
                                                 : runMovingStages(config, *config.round, parts, control);
    BUBBLESCOPE_TRY(closeRecorder(recorder.get(), ran));
    RunSummary summary;
    BUBBLESCOPE_TRY(summarise(ran.value().engine, config, summary));
    if (recorder) noteFiles(*recorder, summary);
    summary.moving = {std::move(ran.value().last), std::move(ran.value().walls)};
    return summary;
}

Result<RunSummary> runHere(const RunConfig& config, JobControl& control) {
    const RunMesh mesh{config.schedule.pp, config.replicas, config.tensor_ranks};
    std::vector<Rank> ranks;
    for (int r = 0; r < mesh.ranks(); ++r)
        ranks.emplace_back(r);
    BUBBLESCOPE_ASSIGN(const std::unique_ptr<RunChecks> checks,
                       RunChecks::plan(config, static_cast<std::size_t>(mesh.ranks())));
    BUBBLESCOPE_TRY(checkDeviceMemory(config, ranks, checks.get()));
    BUBBLESCOPE_ASSIGN(const std::unique_ptr<profiler::Recorder> recorder, openRecorder(config));
    if (checks) checks->recordInto(recorder.get());
    MonotonicClock clock;
    recordKernels(config, recorder.get());
    RunSummary summary;
    const std::unique_ptr<DividedDevice> divided = divideDevice(config, mesh.ranks(), summary);
    InProcessTransports transports(mesh.ranks(), clock, config.timeout);
    EngineParts parts = engineParts(config, clock, transports.ends(), recorder.get(), checks.get(), divided.get());
    std::optional<OrderAdapter> adapter;
    if (config.adapt) {
        adapter.emplace(RunOrder{config.schedule, config.dispatch}, config.times, config.adapt_waits);
        parts.next_order = [&adapter](const StepTimeline& step) { return adapter->learn(step); };
    }
    Result<EngineResult> ran = runEngine(config, parts, control);
    if (adapter) summary.order_changes = adapter->changes();
    BUBBLESCOPE_TRY(closeRecorder(recorder.get(), ran));
    BUBBLESCOPE_TRY(summarise(ran.value(), config, summary));
    summary.updates_per_step = DataPlan(config.schedule).updates();
    if (checks) summary.checks = checks->summary();
    if (recorder) {
        noteFiles(*recorder, summary);
        if (config.kernels && config.backend) summary.kernels = config.kernels->counts();
    }
    return summary;
}

} // namespace

Result<RunSummary> runPipeline(const RunConfig& config, JobControl& control) {
    BUBBLESCOPE_TRY(checkConfig(config));
    try {
        return config.movesStages() ? runMovingHere(config, control) : runHere(config, control);
    } catch (const std::exception& e) { // out of memory or threads; failures of ranks are reported by the engine
        return runError(std::string("cannot set up the run: ") + exceptionText(e));
    }
}

} // namespace bubblescope::runtime
