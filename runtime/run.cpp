#include "runtime/run.h"

#include "core/schedule/validate.h"
#include "profiler/recorder/recorder.h"
#include "runtime/device/host_clock.h"
#include "runtime/engine/engine.h"
#include "runtime/model/mlp_stage.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::runtime {
namespace {

Status checkNumbers(const RunConfig& config) {
    const ModelConfig& model = config.model;
    if (config.steps < 1) return usageError("a run needs at least one step");
    if (model.width < 1 || model.rows < 1 || model.layers_per_stage < 1) {
        return usageError("the model's width, rows and layers per stage must be at least 1");
    }
    if (!std::isfinite(model.learning_rate)) return usageError("the learning rate must be a finite number");
    if (config.pace_tolerance < TimeNs{0}) return usageError("the pacing tolerance must not be negative");
    const std::size_t named = config.times.stages.size();
    if (named != 0 && named != static_cast<std::size_t>(config.schedule.stages())) {
        return usageError(
            fmt::format("times are given for {} stages, the schedule has {}", named, config.schedule.stages()));
    }
    return {};
}

/// What the engine does not execute. The order itself may be fine.
Status checkFeatures(const Schedule& schedule) {
    const auto refuse = [&](std::string_view what) {
        return usageError(fmt::format("{} has {}, which this runtime does not execute", schedule.name, what),
                          "`bubblescope simulate` shows its timeline");
    };
    if (routes(schedule.placement) > 1) return refuse("two pipelines in opposite directions");
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops) {
            if (op.overlapped) return refuse("overlapped pairs of ops");
            if (op.sequence > 0) return refuse("split sequences");
        }
    }
    return {};
}

Status checkConfig(const RunConfig& config) {
    const std::vector<ScheduleProblem> problems = validate(config.schedule);
    if (!problems.empty()) {
        std::string message = "the schedule cannot be executed: " + problems.front().message;
        if (problems.size() > 1) message += fmt::format(" (and {} more problems)", problems.size() - 1);
        return inputError({}, std::move(message));
    }
    BUBBLESCOPE_TRY(checkFeatures(config.schedule));
    return checkNumbers(config);
}

RunInfo runInfo(const RunConfig& config) {
    RunInfo info = RunInfo::of("run", config.schedule);
    info.backend = "cpu";
    info.paced = config.paced;
    info.pace_tolerance = config.paced ? config.pace_tolerance : TimeNs{0};
    return info;
}

StageFactory stageFactory(const RunConfig& config) {
    return [&config](Stage stage) {
        return std::make_unique<MlpStage>(config.model, stage, config.schedule.stages(), config.schedule.microbatches);
    };
}

std::uint64_t digestOf(const std::vector<std::unique_ptr<StageModel>>& stages) {
    std::uint64_t hash = kFnvOffset;
    for (const auto& stage : stages)
        hash = stage->digest(hash);
    return hash;
}

/// One micro-batch through all stages and back.
void trainMicrobatch(std::vector<std::unique_ptr<StageModel>>& stages, Microbatch microbatch) {
    Tensor data;
    for (const auto& stage : stages)
        data = stage->forward(microbatch, std::move(data));
    for (std::size_t s = stages.size(); s-- > 0;) {
        data = stages[s]->backwardInput(microbatch, std::move(data));
        stages[s]->backwardWeight(microbatch);
    }
}

RunSummary trainReference(const RunConfig& config) {
    const StageFactory make_stage = stageFactory(config);
    std::vector<std::unique_ptr<StageModel>> stages;
    stages.reserve(static_cast<std::size_t>(config.schedule.stages()));
    for (int s = 0; s < config.schedule.stages(); ++s)
        stages.push_back(make_stage(Stage{s}));

    RunSummary summary;
    for (int step = 0; step < config.steps; ++step) {
        for (int m = 0; m < config.schedule.microbatches; ++m)
            trainMicrobatch(stages, Microbatch{m});
        for (const auto& stage : stages)
            stage->applyGradients();
        summary.losses.push_back(stages.back()->takeLoss());
    }
    summary.weights_digest = digestOf(stages);
    return summary;
}

} // namespace

Result<RunSummary> runPipeline(const RunConfig& config, JobControl& control) {
    BUBBLESCOPE_TRY(checkConfig(config));
    std::unique_ptr<profiler::Recorder> recorder;
    if (!config.out_dir.empty()) {
        profiler::RecorderConfig recording;
        recording.dir = config.out_dir;
        recording.info = runInfo(config);
        BUBBLESCOPE_ASSIGN(recorder, profiler::Recorder::open(recording));
    }

    MonotonicClock clock;
    EngineConfig engine{.schedule = config.schedule,
                        .times = config.times,
                        .steps = config.steps,
                        .pace_tolerance = config.paced ? std::optional(config.pace_tolerance) : std::nullopt,
                        .clock = clock,
                        .make_stage = stageFactory(config),
                        .rings = {},
                        .after_step = {}};
    if (recorder) {
        for (int r = 0; r < config.schedule.pp; ++r)
            engine.rings.push_back(&recorder->ring(Rank{r}));
        engine.after_step = [&recorder] {
            recorder->requestFlush();
            return recorder->status();
        };
    }
    Result<EngineResult> ran = runEngine(engine, control);
    // Whatever became of the run, what it recorded gets written; its own error tells more than this one.
    Status written = recorder ? recorder->close() : Status();
    if (!ran.ok()) return std::move(ran).error();
    if (!written.ok()) return std::move(written).error();

    EngineResult& result = ran.value();
    RunSummary summary;
    summary.losses = std::move(result.losses);
    summary.weights_digest = digestOf(result.stages);
    summary.ops = result.ops;
    summary.late_ops = result.late_ops;
    summary.max_lateness = result.max_lateness;
    if (recorder) {
        summary.dropped_records = recorder->dropped();
        summary.files = recorder->files();
    }
    return summary;
}

Result<RunSummary> runReference(const RunConfig& config) {
    BUBBLESCOPE_TRY(checkConfig(config));
    try {
        return trainReference(config);
    } catch (const std::exception& e) {
        return runError(std::string("the reference run failed: ") + e.what());
    }
}

} // namespace bubblescope::runtime
