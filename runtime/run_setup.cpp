#include "runtime/run_setup.h"

#include "core/base/field.h"
#include "core/base/hash.h"
#include "core/graph/moving_stages.h"
#include "core/graph/moving_weights.h"
#include "core/graph/validate.h"
#include "core/schedule/action_check.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_ways.h"
#include "core/schedule/weight_versions.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/faults/fault.h"
#include "runtime/model/stage_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

Status checkModel(const RunConfig& config) {
    const ModelConfig& model = config.model;
    if (model.width < 1 || model.heads < 1 || model.sequence < 1 || model.batch < 1 || model.layers_per_stage < 1)
        return usageError("the model's width, heads, sequence, batch and layers must be at least 1");
    if (model.width % model.heads != 0) {
        return usageError(fmt::format("a width of {} cannot be divided among {} heads", model.width, model.heads),
                          "the width must be a multiple of the number of heads");
    }
    if (model.heads % config.tensor_ranks != 0) {
        return usageError(
            fmt::format("{} heads cannot be divided among {} tensor-parallel ranks", model.heads, config.tensor_ranks),
            fmt::format("all ranks need equal numbers of heads: change {} or {}", Field("heads"), Field("tp")));
    }
    const int places = DataPlan(config.schedule).places();
    if (!model.cut.empty() && model.cut.size() != static_cast<std::size_t>(places)) {
        return usageError(
            fmt::format("layers are given for {} stages, but the model has {}", model.cut.size(), places));
    }
    if (std::ranges::any_of(model.cut, [](int layers) { return layers < 0; }))
        return usageError("a stage cannot have a negative number of layers");
    const OptimizerConfig& rule = model.optimizer;
    for (const float value : {rule.learning_rate, rule.beta1, rule.beta2, rule.epsilon, rule.weight_decay}) {
        if (!std::isfinite(value) || value < 0)
            return usageError("the optimizer's parameters must be finite and not negative");
    }
    if (rule.beta1 >= 1 || rule.beta2 >= 1) return usageError("the optimizer's betas must be below 1");
    if (rule.rule != OptimizerConfig::Rule::AdamW && config.backend)
        return usageError("GPUs train with AdamW only", "choose another optimizer only for ranks on the CPU");
    if (rule.rule == OptimizerConfig::Rule::Muon && config.tensor_ranks > 1)
        return usageError("Muon needs whole matrices, but tensor-parallel ranks divide them",
                          fmt::format("omit {}, or use another optimizer", Field("tp")));
    return {};
}

/// Checks the options that are combined with updates of the weights within a step.
Status checkUpdates(const RunConfig& config) {
    if (!updatesWithinStep(config.schedule)) return {};
    if (const Result<WeightVersions> versions = weightVersions(config.schedule); !versions.ok())
        return versions.error();
    const std::string_view other = config.replicas > 1                         ? "data-parallel replicas"
                                   : routes(config.schedule.placement) > 1     ? "two pipelines"
                                   : config.backend                            ? "GPUs"
                                   : config.dispatch.dynamic() || config.adapt ? "orders that change"
                                   : config.aadiff                             ? "checks in bubbles"
                                                                               : "";
    if (other.empty()) return {};
    return usageError(fmt::format("orders that update weights within a step cannot be combined with {}", other),
                      "use an order that flushes the pipeline, such as 1f1b");
}

/// Checks the options that are combined with encoders. Layer numbers count one embedding per model.
Status checkEncoders(const RunConfig& config) {
    if (encodersOf(config.schedule.placement).ranks() == 0) return {};
    const bool layers = std::ranges::any_of(config.faults, [](const Fault& fault) { return fault.layer.has_value(); });
    const std::string_view other = config.backend                              ? "GPUs"
                                   : config.aadiff                             ? "checks in bubbles"
                                   : config.dispatch.dynamic() || config.adapt ? "orders that change"
                                   : layers                                    ? "faults in layers"
                                                                               : "";
    if (other.empty()) return {};
    return usageError(fmt::format("encoders cannot be combined with {}", other), "use an order without encoders");
}

Status checkNumbers(const RunConfig& config) {
    if (config.steps < 1) return usageError("a run needs at least one step");
    if (config.replicas < 1) return usageError("a run needs at least one replica");
    if (config.tensor_ranks < 1) return usageError("a stage needs at least one rank");
    if (config.backend && config.aadiff && config.tensor_ranks > 1) {
        return usageError(
            "checks in bubbles with shared stages are only supported on the CPU",
            fmt::format("omit {} or {}, or use {}", Field("aadiff"), Field("tp"), Field("backend").is("cpu")));
    }
    if (config.timeout <= TimeNs{0}) return usageError("the timeout must be above 0");
    BUBBLESCOPE_TRY(checkModel(config));
    if (config.pace_tolerance < TimeNs{0}) return usageError("the pacing tolerance must not be negative");
    const std::size_t named = config.times.stages.size();
    if (named != 0 && named != static_cast<std::size_t>(config.schedule.stages())) {
        return usageError(
            fmt::format("times are given for {} stages, but the schedule has {}", named, config.schedule.stages()));
    }
    return {};
}

Status checkSlices(const RunConfig& config) {
    const int slices = DataPlan(config.schedule).slices();
    if (config.model.sequence >= slices) return {};
    return usageError(
        fmt::format("a sequence of {} tokens cannot be split into {} slices", config.model.sequence, slices),
        fmt::format("use {} tokens or more", slices));
}

/// Checks the options that require a fixed order.
Status checkDispatch(const RunConfig& config) {
    if (!config.dispatch.dynamic() && !config.adapt) return {};
    if (config.aadiff || config.bubble_hook)
        return usageError("checks in bubbles are planned for a fixed order, but this run may change its order",
                          fmt::format("omit {}", Field("aadiff")));
    if (!config.actions.empty())
        return usageError("activations are moved at fixed points of an order, but this run may change its order",
                          "use an order without such actions");
    if (config.tensor_ranks > 1)
        return usageError("ranks that share a stage must run the same order, but this run may change its order",
                          fmt::format("omit {}", Field("tp")));
    BUBBLESCOPE_TRY(inFlightLimit(config.schedule, config.dispatch));
    return {};
}

/// True if an op named by the fault runs the layer named by the fault.
bool runsLayer(const RunConfig& config, const Fault& fault, int places) {
    const Schedule& schedule = config.schedule;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        if (!fault.ranks.holds(static_cast<int>(rank))) continue;
        for (const Op& op : schedule.ranks[rank]) {
            const int place = schedule.stageOf(Rank{rank}, op.chunk).value / routes(schedule.placement);
            if (fault.ops.matches(op) && layersAt(config.model, place, places).holds(*fault.layer)) return true;
        }
    }
    return false;
}

/// Checks the layers that faults name, which only the model knows.
Status checkFaultLayers(const RunConfig& config) {
    const int places = DataPlan(config.schedule).places();
    const int last = config.model.layersBefore(places) + 1;
    for (const Fault& fault : config.faults) {
        if (!fault.layer || (*fault.layer <= last && runsLayer(config, fault, places))) continue;
        const std::string known = fmt::format("0 is the embedding, 1 to {} are blocks, {} is the head", last - 1, last);
        Error error = *fault.layer > last
                          ? usageError(fmt::format("layer {} does not exist", *fault.layer), known)
                          : usageError(fmt::format("none of its ops runs layer {}", *fault.layer), known);
        error.where = Field("inject").is(fault.text);
        return error;
    }
    return {};
}

/// Checks that all faults can be injected on a device. The rank's thread only queues work, so it cannot act between the
/// device's ops.
Status checkFaultsOnDevice(const RunConfig& config) {
    for (const Fault& fault : config.faults) {
        switch (fault.kind) {
        case FaultKind::Slow:
        case FaultKind::Op:
        case FaultKind::Jitter:
            if (config.paced) continue;
            return usageError(fmt::format("{}: ops on a GPU can only be slowed in paced runs", fault.text));
        case FaultKind::Link:
        case FaultKind::Stall:
        case FaultKind::Pause:
            return usageError(fmt::format("{}: this fault is not supported on a GPU", fault.text),
                              fmt::format("use {}", Field("backend").is("cpu")));
        case FaultKind::Flip:
        case FaultKind::Nondet:
            if (fault.shown != CheckedTensor::Attention && fault.shown != CheckedTensor::Part) continue;
            return usageError(fmt::format("{}: a GPU does not store this tensor", fault.text),
                              fmt::format("choose another one, or use {}", Field("backend").is("cpu")));
        case FaultKind::Drop:
        case FaultKind::Die:
        case FaultKind::Hang: continue;
        }
    }
    return {};
}

RunInfo runInfo(const RunConfig& config) {
    Schedule order = config.schedule;
    if (config.movesStages()) {
        order.vpp = order.stages();
        order.placement = Placement::Moving;
    }
    RunInfo info = RunInfo::of("run", order);
    info.steps = config.steps;
    info.dp = config.replicas;
    info.tp = config.tensor_ranks;
    info.backend = config.backend ? config.backend->name() : "cpu";
    info.paced = config.paced;
    info.pace_tolerance = config.paced ? config.pace_tolerance : TimeNs{0};
    for (const Fault& fault : config.faults)
        info.faults += (info.faults.empty() ? "" : " ") + fault.text;
    return info;
}

Status checkMoves(const RunConfig& config) {
    const LoweredSchedule lowered{config.schedule, config.actions};
    if (!lowered.movesActivations()) return {};
    if (const auto problems = checkActions(lowered); !problems.empty())
        return inputError({}, problems.front().message.text(), problems.front().hint);
    const bool peers = std::ranges::any_of(config.actions, [](const std::vector<Action>& rank) {
        return std::ranges::any_of(rank, [](const Action& action) { return action.peer >= 0; });
    });
    if (peers)
        return usageError("a run cannot move activations to another rank", "offload them to the host, or simulate it");
    if (config.tensor_ranks > 1 || config.aadiff || config.dispatch.dynamic() || DataPlan(config.schedule).slices() > 1)
        return usageError("a run that offloads or recomputes activations cannot also check ops, share stages, split "
                          "sequences or choose ops by readiness",
                          "use one of them at a time");
    return {};
}

/// Checks a run in which stages do not belong to ranks.
Status checkMovingRun(const RunConfig& config) {
    if (config.weights) BUBBLESCOPE_TRY(movingWeightsOrder(config.weights->moving));
    if (config.round) {
        const MovingStages& moving = config.round->moving;
        BUBBLESCOPE_TRY(movingOrder(moving));
        if (moving.forward_stages != moving.backward_stages || moving.forward_stages != config.schedule.stages())
            return usageError("a run needs as many backward stages as forward stages", "simulate other numbers");
    }
    const std::string_view other = config.replicas > 1                         ? "data-parallel replicas"
                                   : config.tensor_ranks > 1                   ? "tensor-parallel ranks"
                                   : config.backend                            ? "GPUs"
                                   : !config.faults.empty()                    ? "injected faults"
                                   : config.aadiff || config.bubble_hook       ? "checks in bubbles"
                                   : config.dispatch.dynamic() || config.adapt ? "orders that change"
                                                                               : "";
    if (other.empty()) return checkNumbers(config);
    return usageError(fmt::format("stages that do not belong to ranks cannot be combined with {}", other),
                      "use an order with fixed stages, such as 1f1b");
}

} // namespace

std::string failureOf(const Error& error) {
    if (error.kind == ErrorKind::Cancelled) return {};
    return error.where.empty() ? error.message : error.where + ": " + error.message;
}

Status checkConfig(const RunConfig& config) {
    if (config.movesStages()) return checkMovingRun(config);
    const std::vector<ScheduleProblem> problems = validate(config.schedule);
    if (!problems.empty()) {
        std::string message = "the schedule cannot be executed: " + problems.front().message.text();
        if (problems.size() > 1) message += fmt::format(" (and {} more problems)", problems.size() - 1);
        return inputError({}, std::move(message));
    }
    BUBBLESCOPE_TRY(checkEncoders(config));
    if (StageWays::of(config.schedule).copies() > 1)
        return inputError({}, "the schedule has copies of a second, smaller model, but a run trains one model",
                          "use an order for one model");
    BUBBLESCOPE_TRY(checkUpdates(config));
    BUBBLESCOPE_TRY(checkNumbers(config));
    BUBBLESCOPE_TRY(checkSlices(config));
    BUBBLESCOPE_TRY(checkDispatch(config));
    BUBBLESCOPE_TRY(checkMoves(config));
    BUBBLESCOPE_TRY(checkFaultLayers(config));
    if (config.backend) {
        BUBBLESCOPE_TRY(checkFaultsOnDevice(config));
    }
    return checkFaults(config.faults, config.schedule, config.steps, config.tensor_ranks);
}

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

void recordKernels(const RunConfig& config, profiler::Recorder* recorder, std::optional<Rank> only) {
    if (config.kernels && config.backend && recorder != nullptr) config.kernels->recordInto(*recorder, only);
}

EngineParts engineParts(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                        profiler::Recorder* recorder, RunChecks* checks, DividedDevice* divided) {
    EngineParts parts{
        .clock = clock,
        .make_stage = [&model = config.model](const StageTask& task) { return makeCpuStage(model, task); },
        .ranks = std::move(ranks)};
    if (checks != nullptr) parts.attach = checks->attach();
    if (config.backend) {
        parts.devices = {[&config, divided] { return divided ? divided->openRank() : config.backend->openRank(); },
                         [&config](RankQueue& device, const StageTask& task) {
                             return config.backend->makeStage(device, config.model, task);
                         }};
    }
    if (recorder == nullptr) return parts;
    if (config.backend) parts.kernels = config.kernels.get();
    for (const Transport* const transport : parts.ranks)
        parts.rings.push_back(&recorder->ring(transport->rank()));
    parts.after_step = [recorder] {
        recorder->requestFlush();
        return recorder->status();
    };
    return parts;
}

double lossOf(const std::vector<double>& shares) {
    return std::accumulate(shares.begin(), shares.end(), 0.0);
}

Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes) {
    const auto other = std::ranges::find_if(hashes, [&](std::uint64_t hash) { return hash != hashes.front(); });
    if (other == hashes.end()) return hashes.front();
    return runError(fmt::format("the replicas' weights have diverged: {:016x} and {:016x}", hashes.front(), *other));
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
