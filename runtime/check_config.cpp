#include "runtime/run_setup.h"

#include "core/graph/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
        return usageError(fmt::format("a width of {} cannot be shared by {} heads", model.width, model.heads),
                          "the width must be a multiple of the heads");
    }
    if (model.heads % config.tensor_ranks != 0) {
        return usageError(
            fmt::format("{} heads cannot be shared by {} tensor-parallel ranks", model.heads, config.tensor_ranks),
            "each rank takes as many heads as the others: give a multiple as --heads, or another --tp");
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
    if (config.replicas < 1) return usageError("a run needs at least one replica");
    if (config.tensor_ranks < 1) return usageError("a stage needs at least one rank");
    if (config.backend && config.aadiff && config.tensor_ranks > 1) {
        return usageError("checks in bubbles of ranks that share stages run on the CPU",
                          "leave out --aadiff or --tp, or use --backend cpu");
    }
    if (config.timeout <= TimeNs{0}) return usageError("the timeout must be above 0");
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

/// Checks the layers that faults name, which only the model knows.
Status checkFaultLayers(const RunConfig& config) {
    const int places = DataPlan(config.schedule).places();
    const int last = config.model.layersBefore(places) + 1;
    for (const Fault& fault : config.faults) {
        if (!fault.layer || *fault.layer <= last) continue;
        Error error = usageError(fmt::format("there is no layer {}", *fault.layer),
                                 fmt::format("0 is the embedding, 1 to {} are blocks, {} is the head", last - 1, last));
        error.where = "--inject " + fault.text;
        return error;
    }
    return {};
}

/// Checks what can be injected on a device: its thread only queues work, so events between its ops are out of reach.
Status checkFaultsOnDevice(const RunConfig& config) {
    for (const Fault& fault : config.faults) {
        switch (fault.kind) {
        case FaultKind::Slow:
        case FaultKind::Op:
        case FaultKind::Jitter:
            if (config.paced) continue;
            return usageError(fmt::format("{}: ops on a GPU can only be slowed on paced runs", fault.text));
        case FaultKind::Link:
        case FaultKind::Stall:
        case FaultKind::Pause:
            return usageError(fmt::format("{}: this cannot be planted on a GPU", fault.text), "use --backend cpu");
        case FaultKind::Flip:
        case FaultKind::Nondet:
            if (fault.shown != CheckedTensor::Attention && fault.shown != CheckedTensor::Part) continue;
            return usageError(fmt::format("{}: a GPU does not keep this tensor", fault.text),
                              "name another one, or use --backend cpu");
        case FaultKind::Drop:
        case FaultKind::Die:
        case FaultKind::Hang: continue;
        }
    }
    return {};
}

} // namespace

Status checkConfig(const RunConfig& config) {
    const std::vector<ScheduleProblem> problems = validate(config.schedule);
    if (!problems.empty()) {
        std::string message = "the schedule cannot be executed: " + problems.front().message.text();
        if (problems.size() > 1) message += fmt::format(" (and {} more problems)", problems.size() - 1);
        return inputError({}, std::move(message));
    }
    BUBBLESCOPE_TRY(checkNumbers(config));
    BUBBLESCOPE_TRY(checkSlices(config));
    BUBBLESCOPE_TRY(checkFaultLayers(config));
    if (config.backend) {
        BUBBLESCOPE_TRY(checkFaultsOnDevice(config));
    }
    return checkFaults(config.faults, config.schedule, config.steps, config.tensor_ranks);
}

} // namespace bubblescope::runtime
