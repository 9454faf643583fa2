#include "core/analysis/model_use.h"

#include "core/cost/devices.h"
#include "core/cost/model_flops.h"
#include "core/cost/partition.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace bubblescope {
namespace {

double useOf(double flops, double peak, TimeNs time) {
    const double possible = peak * static_cast<double>(time.count()) * 1e-9;
    return possible > 0 ? flops / possible : 0;
}

/// Kineto's names of a file's devices.
std::vector<std::string> deviceNamesOf(const TraceFile& file) {
    std::vector<std::string> names;
    const auto metadata = nlohmann::json::parse(file.metadata, nullptr, false);
    if (!metadata.is_object() || !metadata.contains("deviceProperties")) return names;
    for (const auto& device : metadata["deviceProperties"]) {
        if (device.is_object() && device.contains("name") && device["name"].is_string())
            names.push_back(device["name"]);
    }
    return names;
}

/// The device that all files name.
std::optional<DeviceSpec> statedDevice(const Run& run) {
    std::optional<DeviceSpec> found;
    for (const TraceFile& file : run.inputs()) {
        for (const std::string& name : deviceNamesOf(file)) {
            const std::optional<DeviceSpec> one = deviceOfTrace(name);
            if (!one || (found && found->name != one->name)) return {};
            found = one;
        }
    }
    return found;
}

Result<DeviceSpec> deviceOf(const std::optional<DeviceSpec>& stated, const TrainedModel& model) {
    if (model.peak) {
        DeviceSpec device;
        device.flops = *model.peak;
        return device;
    }
    if (!model.device.empty()) return deviceNamed(model.device);
    if (!stated) return usageError("the trace does not name a known device", "specify its name or its peak");
    return *stated;
}

int replicasOf(const Run& run) {
    std::set<int> replicas;
    for (const StepTimeline& step : run.steps)
        replicas.insert(step.replica);
    return std::max<int>(1, static_cast<int>(replicas.size()));
}

int devicesOf(const Run& run) {
    if (run.info) return run.info->pp * run.info->dp * run.info->tp;
    return run.schedule.pp * replicasOf(run);
}

} // namespace

double ModelUse::of(TimeNs step) const {
    return useOf(step_flops, peak * devices, step);
}

double ModelUse::of(TimeNs step, std::size_t rank) const {
    const auto ranks = static_cast<double>(rank_flops.size());
    return useOf(rank_flops[rank], peak * devices / ranks, step);
}

Result<ModelUse> modelUse(const Run& run, const TrainedModel& model) {
    const Schedule& order = run.schedule;
    return modelUse(UsedPipeline{order.pp, order.vpp, order.placement, devicesOf(run), statedDevice(run)}, model);
}

Result<ModelUse> modelUse(const RunInfo& run, const TrainedModel& model) {
    return modelUse(UsedPipeline{run.pp, run.vpp, run.placement, run.pp * run.dp * run.tp, {}}, model);
}

Result<ModelUse> modelUse(const UsedPipeline& order, const TrainedModel& model) {
    BUBBLESCOPE_ASSIGN(const ForwardFlops forward, forwardFlops(model.shape));
    BUBBLESCOPE_ASSIGN(const DeviceSpec device, deviceOf(order.device, model));
    BUBBLESCOPE_TRY(rejectMoving(order.placement, "model FLOPs utilisation per rank"));
    const int apart = routes(order.placement);
    const int stages = order.pp * order.vpp;
    if (model.shape.layers < stages / apart)
        return usageError(
            fmt::format("the model has {} layers for {} pipeline stages", model.shape.layers, stages / apart),
            "specify the model that this run trains");
    BUBBLESCOPE_ASSIGN(const Partition cut, partitionEvenly(static_cast<int>(model.shape.layers), stages / apart));
    ModelUse use;
    use.device = device.title;
    use.peak = device.flops;
    use.devices = model.devices.value_or(order.devices);
    const double tokens = static_cast<double>(model.shape.sequence) * model.global_batch;
    use.step_flops = trainingFlops(forward) * tokens;
    const double layer = 3 * (forward.products + forward.attention) * tokens / static_cast<double>(model.shape.layers);
    use.rank_flops.resize(static_cast<std::size_t>(order.pp));
    // Each of two pipelines over the same ranks takes half of the micro-batches.
    for (int stage = 0; stage < stages; ++stage) {
        const int place = stage / apart;
        double flops = layer * cut.layers_per_stage[static_cast<std::size_t>(place)];
        if (place + 1 == stages / apart) flops += 3 * forward.head * tokens;
        use.rank_flops[locate(order.placement, order.pp, Stage{stage}).rank.index()] += flops / apart;
    }
    return use;
}

} // namespace bubblescope
