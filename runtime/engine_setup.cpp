#include "runtime/engine_setup.h"

#include "runtime/model/gpt_stage.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace bubblescope::runtime {
namespace {

RunInfo runInfo(const RunConfig& config) {
    RunInfo info = RunInfo::of("run", config.schedule);
    info.dp = config.replicas;
    info.tp = config.tensor_ranks;
    info.backend = config.backend ? config.backend->name() : "cpu";
    info.paced = config.paced;
    info.pace_tolerance = config.paced ? config.pace_tolerance : TimeNs{0};
    for (const Fault& fault : config.faults)
        info.faults += (info.faults.empty() ? "" : " ") + fault.text;
    return info;
}

} // namespace

Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config, std::vector<Rank> ranks) {
    std::unique_ptr<profiler::Recorder> recorder;
    if (config.out_dir.empty()) return recorder;
    profiler::RecorderConfig recording;
    recording.dir = config.out_dir;
    recording.info = runInfo(config);
    recording.ranks = std::move(ranks);
    constexpr int kParts = 4;
    if (config.trace_bytes > 0) recording.limits = {std::max<std::int64_t>(1, config.trace_bytes / kParts), kParts};
    if (config.backend) recording.process.device = config.backend->device();
    return profiler::Recorder::open(recording);
}

Result<std::unique_ptr<CheckSetup>> planChecksOf(const RunConfig& config, std::size_t ranks_here,
                                                 profiler::Recorder* recorder) {
    if (!config.aadiff) return std::unique_ptr<CheckSetup>();
    // Ranks of one process share a device, so that another one could tell no more than the one that found something.
    const std::size_t apart = config.backend ? 1 : ranks_here;
    const CheckSetup::Of of{config.schedule, config.times, config.model, config.paced, apart, config.out_dir};
    BUBBLESCOPE_ASSIGN(std::unique_ptr<CheckSetup> checks, CheckSetup::make(of, *config.aadiff));
    if (recorder == nullptr) return checks;
    checks->write = [recorder](Rank world, const CheckRecord& check) { recorder->addCheck(world, check); };
    return checks;
}

std::optional<RunSummary::Checks> summaryOf(const CheckSetup* checks) {
    if (checks == nullptr) return std::nullopt;
    return RunSummary::Checks{checks->study.plan().stepsToFull(), checks->holds};
}

EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                          profiler::Recorder* recorder, CheckSetup* checks) {
    EngineConfig engine{.schedule = config.schedule,
                        .times = config.times,
                        .steps = config.steps,
                        .pace_tolerance = config.paced ? std::optional(config.pace_tolerance) : std::nullopt,
                        .clock = clock,
                        .make_stage = [&model = config.model](
                                          const StageTask& task) { return std::make_unique<GptStage>(model, task); },
                        .devices = {},
                        .ranks = std::move(ranks),
                        .replicas = config.replicas,
                        .tensor_ranks = config.tensor_ranks,
                        .rings = {},
                        .faults = config.faults,
                        .die = {},
                        .after_step = {},
                        .bubble_hook = config.bubble_hook,
                        .checks = checks,
                        .end_early = config.end_early};
    if (config.backend) {
        engine.devices = {[&config] { return config.backend->openRank(); },
                          [&config](RankDevice& device, const StageTask& task) {
                              return config.backend->makeStage(device, config.model, task);
                          }};
    }
    if (recorder == nullptr) return engine;
    for (const Transport* const wires : engine.ranks)
        engine.rings.push_back(&recorder->ring(wires->rank()));
    engine.after_step = [recorder] {
        recorder->requestFlush();
        return recorder->status();
    };
    return engine;
}

double lossOf(const std::vector<double>& shares) {
    return std::accumulate(shares.begin(), shares.end(), 0.0);
}

} // namespace bubblescope::runtime
