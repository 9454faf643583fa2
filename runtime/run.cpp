#include "runtime/run.h"

#include "profiler/recorder/recorder.h"
#include "runtime/check_config.h"
#include "runtime/device/host_clock.h"
#include "runtime/engine/engine.h"
#include "runtime/model/gpt_stage.h"
#include "runtime/trained_stages.h"
#include "runtime/transport/inproc/wires.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace bubblescope::runtime {
namespace {

RunInfo runInfo(const RunConfig& config) {
    RunInfo info = RunInfo::of("run", config.schedule);
    info.backend = "cpu";
    info.paced = config.paced;
    info.pace_tolerance = config.paced ? config.pace_tolerance : TimeNs{0};
    for (const Fault& fault : config.faults)
        info.faults += (info.faults.empty() ? "" : " ") + fault.text;
    return info;
}

Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config) {
    std::unique_ptr<profiler::Recorder> recorder;
    if (config.out_dir.empty()) return recorder;
    profiler::RecorderConfig recording;
    recording.dir = config.out_dir;
    recording.info = runInfo(config);
    return profiler::Recorder::open(recording);
}

EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                          profiler::Recorder* recorder) {
    EngineConfig engine{.schedule = config.schedule,
                        .times = config.times,
                        .steps = config.steps,
                        .pace_tolerance = config.paced ? std::optional(config.pace_tolerance) : std::nullopt,
                        .clock = clock,
                        .make_stage = [&model = config.model](
                                          const StageTask& task) { return std::make_unique<GptStage>(model, task); },
                        .ranks = std::move(ranks),
                        .replicas = config.replicas,
                        .rings = {},
                        .faults = config.faults,
                        .die = {},
                        .after_step = {}};
    if (recorder == nullptr) return engine;
    for (const Transport* const wires : engine.ranks)
        engine.rings.push_back(&recorder->ring(wires->rank()));
    engine.after_step = [recorder] {
        recorder->requestFlush();
        return recorder->status();
    };
    return engine;
}

Result<RunSummary> runHere(const RunConfig& config, JobControl& control) {
    BUBBLESCOPE_ASSIGN(const std::unique_ptr<profiler::Recorder> recorder, openRecorder(config));
    MonotonicClock clock;
    InProcessWires wires(config.schedule.pp * config.replicas, clock, config.timeout);
    Result<EngineResult> ran = runEngine(engineConfig(config, clock, wires.ends(), recorder.get()), control);
    // Whatever became of the run, what it recorded gets written; its own error tells more than this one.
    Status written = recorder ? recorder->close() : Status();
    if (!ran.ok()) return std::move(ran).error();
    if (!written.ok()) return std::move(written).error();

    EngineResult& result = ran.value();
    RunSummary summary;
    for (const std::vector<double>& shares : result.losses)
        summary.losses.push_back(std::accumulate(shares.begin(), shares.end(), 0.0));
    BUBBLESCOPE_ASSIGN(summary.weights_digest, digestOf(result.stages, routes(config.schedule.placement)));
    summary.memory = std::move(result.memory);
    summary.ops = result.ops;
    summary.late_ops = result.late_ops;
    summary.max_lateness = result.max_lateness;
    if (recorder) {
        summary.dropped_records = recorder->dropped();
        summary.files = recorder->files();
    }
    return summary;
}

} // namespace

Result<RunSummary> runPipeline(const RunConfig& config, JobControl& control) {
    BUBBLESCOPE_TRY(checkConfig(config));
    try {
        return runHere(config, control);
    } catch (const std::exception& e) { // memory or threads; failures of ranks are told by the engine
        return runError(std::string("the run cannot be made: ") + e.what());
    }
}

} // namespace bubblescope::runtime
