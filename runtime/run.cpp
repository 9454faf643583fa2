#include "runtime/run.h"

#include "core/schedule/validate.h"
#include "profiler/recorder/recorder.h"
#include "runtime/device/host_clock.h"
#include "runtime/engine/engine.h"
#include "runtime/model/gpt_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace bubblescope::runtime {
namespace {

Status checkModel(const RunConfig& config) {
    const ModelConfig& model = config.model;
    if (model.width < 1 || model.heads < 1 || model.sequence < 1 || model.batch < 1 || model.layers_per_stage < 1)
        return usageError("the model's width, heads, sequence, batch and layers must be at least 1");
    if (model.width % model.heads != 0) {
        return usageError(fmt::format("a width of {} cannot be shared by {} heads", model.width, model.heads),
                          "the width must be a multiple of the heads");
    }
    const int places = DataPlan(config.schedule).places();
    if (!model.cut.empty() && model.cut.size() != static_cast<std::size_t>(places)) {
        return usageError(fmt::format("layers are given for {} stages, the model has {}", model.cut.size(), places));
    }
    if (std::ranges::any_of(model.cut, [](int layers) { return layers < 0; }))
        return usageError("a stage cannot have fewer than no layers");
    const AdamWConfig& adamw = model.optimizer;
    for (const float value : {adamw.learning_rate, adamw.beta1, adamw.beta2, adamw.epsilon, adamw.weight_decay}) {
        if (!std::isfinite(value) || value < 0)
            return usageError("the optimizer's numbers must be finite and not negative");
    }
    if (adamw.beta1 >= 1 || adamw.beta2 >= 1) return usageError("the optimizer's betas must be below 1");
    return {};
}

Status checkNumbers(const RunConfig& config) {
    if (config.steps < 1) return usageError("a run needs at least one step");
    BUBBLESCOPE_TRY(checkModel(config));
    if (config.pace_tolerance < TimeNs{0}) return usageError("the pacing tolerance must not be negative");
    const std::size_t named = config.times.stages.size();
    if (named != 0 && named != static_cast<std::size_t>(config.schedule.stages())) {
        return usageError(
            fmt::format("times are given for {} stages, the schedule has {}", named, config.schedule.stages()));
    }
    return {};
}

Status checkSlices(const RunConfig& config) {
    const int slices = DataPlan(config.schedule).slices();
    if (config.model.sequence >= slices) return {};
    return usageError(
        fmt::format("a sequence of {} tokens cannot be cut into {} slices", config.model.sequence, slices),
        fmt::format("give {} tokens or more", slices));
}

Status checkConfig(const RunConfig& config) {
    const std::vector<ScheduleProblem> problems = validate(config.schedule);
    if (!problems.empty()) {
        std::string message = "the schedule cannot be executed: " + problems.front().message;
        if (problems.size() > 1) message += fmt::format(" (and {} more problems)", problems.size() - 1);
        return inputError({}, std::move(message));
    }
    BUBBLESCOPE_TRY(checkNumbers(config));
    return checkSlices(config);
}

RunInfo runInfo(const RunConfig& config) {
    RunInfo info = RunInfo::of("run", config.schedule);
    info.backend = "cpu";
    info.paced = config.paced;
    info.pace_tolerance = config.paced ? config.pace_tolerance : TimeNs{0};
    return info;
}

StageFactory stageFactory(const ModelConfig& model, const DataPlan& plan) {
    return [&](Stage stage) { return std::make_unique<GptStage>(model, plan.taskOf(stage)); };
}

using Stages = std::vector<std::unique_ptr<StageModel>>; ///< by stage

/// Of the model; of two copies, which must be equal, of either.
Result<std::uint64_t> digestOf(const Stages& stages, int routes) {
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(routes), kFnvOffset);
    for (std::size_t s = 0; s < stages.size(); ++s) {
        std::uint64_t& hash = hashes[s % hashes.size()];
        hash = stages[s]->digest(hash);
    }
    if (hashes.front() != hashes.back()) {
        return runError(
            fmt::format("the two copies of the model have parted: {:016x} and {:016x}", hashes.front(), hashes.back()));
    }
    return hashes.front();
}

/// The reference: no pipeline, one thread, the order in which DataPlan sums.
class Reference {
public:
    Reference(const RunConfig& config, const DataPlan& plan) : plan_(plan) {
        const StageFactory make_stage = stageFactory(config.model, plan);
        for (int s = 0; s < config.schedule.stages(); ++s)
            stages_.push_back(make_stage(Stage{s}));
    }

    /// One step; returns its loss.
    double train() {
        for (int route = 0; route < plan_.routes(); ++route)
            trainRoute(route);
        for (int place = 0; place < plan_.places(); ++place)
            update(place);
        double loss = 0.0;
        for (int route = 0; route < plan_.routes(); ++route)
            loss += at(plan_.places() - 1, route).takeLoss();
        return loss;
    }

    [[nodiscard]] const Stages& stages() const { return stages_; }

private:
    StageModel& at(int place, int route) { return *stages_[Stage{place * plan_.routes() + route}.index()]; }

    /// All micro-batches of a pipeline, one after the other: forward slice by slice, then back.
    void trainRoute(int route) {
        const std::vector<Piece> pieces = plan_.taskOf(Stage{route}).pieces;
        const auto slices = static_cast<std::size_t>(plan_.slices());
        for (std::size_t first = 0; first < pieces.size(); first += slices) {
            for (std::size_t i = slices; i-- > 0;)
                forward(route, pieces[first + i]);
            for (std::size_t i = 0; i < slices; ++i)
                backward(route, pieces[first + i]);
        }
    }

    void forward(int route, Piece piece) {
        Tensor data;
        for (int place = 0; place < plan_.places(); ++place)
            data = at(place, route).forward(piece, std::move(data));
    }

    void backward(int route, Piece piece) {
        Tensor data;
        for (int place = plan_.places(); place-- > 0;) {
            data = at(place, route).backwardInput(piece, std::move(data));
            at(place, route).backwardWeight(piece);
        }
    }

    void update(int place) {
        Tensor sum = at(place, 0).takeGradient();
        for (int route = 1; route < plan_.routes(); ++route)
            sum += at(place, route).takeGradient();
        for (int route = 0; route < plan_.routes(); ++route)
            at(place, route).applyGradient(sum);
    }

    const DataPlan& plan_;
    Stages stages_;
};

Result<RunSummary> trainReference(const RunConfig& config) {
    const DataPlan plan(config.schedule);
    Reference reference(config, plan);
    RunSummary summary;
    for (int step = 0; step < config.steps; ++step)
        summary.losses.push_back(reference.train());
    BUBBLESCOPE_ASSIGN(summary.weights_digest, digestOf(reference.stages(), plan.routes()));
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

    const DataPlan plan(config.schedule);
    MonotonicClock clock;
    EngineConfig engine{.schedule = config.schedule,
                        .times = config.times,
                        .steps = config.steps,
                        .pace_tolerance = config.paced ? std::optional(config.pace_tolerance) : std::nullopt,
                        .clock = clock,
                        .make_stage = stageFactory(config.model, plan),
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
    BUBBLESCOPE_ASSIGN(summary.weights_digest, digestOf(result.stages, plan.routes()));
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

Result<RunSummary> runReference(const RunConfig& config) {
    BUBBLESCOPE_TRY(checkConfig(config));
    try {
        return trainReference(config);
    } catch (const std::exception& e) {
        return runError(std::string("the reference run failed: ") + e.what());
    }
}

} // namespace bubblescope::runtime
