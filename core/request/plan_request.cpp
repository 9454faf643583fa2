#include "core/request/plan_request.h"

#include "core/base/suggestion.h"
#include "core/families/registry.h"
#include "core/plan/travelling.h"
#include "core/schedule/moving_names.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {

Result<plan::Cluster> ClusterRequest::cluster() const {
    plan::Cluster made;
    if (!device.empty()) {
        BUBBLESCOPE_ASSIGN(made.device, deviceNamed(device));
    } else {
        if (!memory || !teraflops || !memory_rate || !link || !network)
            return usageError("no device given",
                              "use a known device, or specify the memory, rates and links of another one");
        made.device.name = made.device.title = "custom";
        made.device.product_share = made.device.product_share_fp8 = 0.8;
        made.device.measured = false;
    }
    DeviceSpec& own = made.device;
    if (per_host) own.per_host = *per_host;
    if (memory) own.memory = *memory;
    if (teraflops) own.flops = *teraflops * 1e12;
    if (teraflops_fp8) own.flops_fp8 = *teraflops_fp8 * 1e12;
    if (memory_rate) own.memory_rate = static_cast<double>(*memory_rate);
    if (link) own.link = static_cast<double>(*link);
    if (network) own.network = static_cast<double>(*network);
    if (reserved) made.reserved = *reserved;
    if (tensor_overlap) made.tensor_overlap = *tensor_overlap / 100;
    made.sends_once = sends_once;
    if (attention_share) made.attention_share = *attention_share / 100;
    if (expert_overlap) made.expert_overlap = *expert_overlap / 100;
    if (devices < 1) return usageError("the number of devices is missing");
    made.devices = devices;
    if (devices > own.per_host && devices % own.per_host != 0)
        return usageError(fmt::format("{} devices do not fill hosts with {} devices each", devices, own.per_host),
                          "use complete hosts, or set the number of devices per host");
    if (fp8) {
        if (own.flops_fp8 <= 0) return usageError(fmt::format("{} does not support 8-bit matrix products", own.title));
        made.precision = plan::Precision::Fp8;
    }
    return made;
}

Result<plan::Problem> PlanRequest::problem() const {
    plan::Problem made;
    BUBBLESCOPE_ASSIGN(made.shape, model.shape());
    BUBBLESCOPE_ASSIGN(made.cluster, cluster.cluster());
    if (global_batch < 1) return usageError("the global batch, in sequences, is missing");
    if (made.shape.experts.count == 0 && (!space.ep.empty() || cluster.expert_overlap || cluster.sends_once))
        return usageError("expert parallelism was requested for a model without experts",
                          "omit it, or choose a model with experts");
    made.global_batch = global_batch;
    return made;
}

Result<plan::Space> PlanRequest::choices(bool from_trace) const {
    plan::Space made = space;
    for (std::string& name : made.schedules) {
        const auto* const moving = std::ranges::find(kMovingNames, plainName(name), &plainName);
        if (moving != kMovingNames.end() && plan::weightsTravel(*moving) && !from_trace) {
            name = *moving;
            continue;
        }
        const ScheduleFamily* const family = findScheduleFamily(name);
        if (family == nullptr) return unknownSchedule(name);
        if (family->placement == Placement::Bidirectional)
            return usageError(
                fmt::format("{} holds two copies of the model, which `plan` does not support", family->name),
                "choose another schedule");
        name = family->name;
    }
    using enum TransformerShape::Recompute;
    for (const std::string& word : recompute)
        made.recompute.push_back(word == "full" ? Full : word == "selective" ? Selective : None);
    for (const int stage : zero)
        made.zero.push_back(static_cast<plan::Zero>(stage));
    return made;
}

} // namespace bubblescope
