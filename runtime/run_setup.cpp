#include "runtime/run_setup.h"

#include "runtime/backend/cpu/cpu_stage.h"

#include <fmt/format.h>

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

EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                          profiler::Recorder* recorder, RunChecks* checks) {
    EngineConfig engine{
        .schedule = config.schedule,
        .times = config.times,
        .steps = config.steps,
        .pace_tolerance = config.paced ? std::optional(config.pace_tolerance) : std::nullopt,
        .clock = clock,
        .make_stage = [&model = config.model](const StageTask& task) { return makeCpuStage(model, task); },
        .devices = {},
        .ranks = std::move(ranks),
        .replicas = config.replicas,
        .tensor_ranks = config.tensor_ranks,
        .rings = {},
        .faults = config.faults,
        .die = {},
        .after_step = {},
        .bubble_hook = config.bubble_hook,
        .attach = checks != nullptr ? checks->attach() : AttachHooks(),
        .end_early = config.end_early};
    if (config.backend) {
        engine.devices = {[&config] { return config.backend->openRank(); },
                          [&config](RankDevice& device, const StageTask& task) {
                              return config.backend->makeStage(device, config.model, task);
                          }};
    }
    if (recorder == nullptr) return engine;
    for (const Transport* const transport : engine.ranks)
        engine.rings.push_back(&recorder->ring(transport->rank()));
    engine.after_step = [recorder] {
        recorder->requestFlush();
        return recorder->status();
    };
    return engine;
}

double lossOf(const std::vector<double>& shares) {
    return std::accumulate(shares.begin(), shares.end(), 0.0);
}

Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes) {
    const auto other = std::ranges::find_if(hashes, [&](std::uint64_t hash) { return hash != hashes.front(); });
    if (other == hashes.end()) return hashes.front();
    return runError(fmt::format("copies of the model have parted: {:016x} and {:016x}", hashes.front(), *other));
}

Result<std::uint64_t> digestOf(const TrainedStages& stages, int routes, int tensor_ranks) {
    std::vector<std::uint64_t> hashes;
    const auto sharers = static_cast<std::size_t>(tensor_ranks);
    for (std::size_t lane = 0; lane < stages.size(); lane += sharers) {
        const std::size_t first = hashes.size();
        hashes.resize(first + static_cast<std::size_t>(routes), kFnvOffset);
        for (std::size_t s = 0; s < stages[lane].size(); ++s) {
            std::uint64_t& hash = hashes[first + s % static_cast<std::size_t>(routes)];
            for (std::size_t tensor = 0; tensor < sharers; ++tensor)
                hash = stages[lane + tensor][s]->digest(hash);
        }
    }
    return oneDigest(hashes);
}

} // namespace bubblescope::runtime
