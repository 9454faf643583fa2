#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/cost/devices.h"
#include "core/cost/memory_estimate.h"
#include "core/recognise/run.h"
#include "core/timeline/run_info.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The model that a run trains, and the devices that it uses.
struct TrainedModel {
    TransformerShape shape;
    int global_batch = 1;       ///< sequences per step, over all replicas
    std::string device;         ///< a name from knownDevices(); empty = device named in the trace
    std::optional<double> peak; ///< FLOP/s per device; replaces the value for `device`
    std::optional<int> devices; ///< number of devices in the job; none = tp · dp · pp according to the trace
};

/// The fraction of the devices' peak performance that a run achieves: model FLOPs utilisation (MFU). Counts the matrix
/// products of forward and backward, with causal attention (half of the full square) and without recomputation.
struct ModelUse {
    std::string device; ///< display name; empty if only a peak was specified
    double peak = 0;    ///< FLOP/s of one device
    int devices = 1;
    double step_flops = 0;
    std::vector<double> rank_flops; ///< FLOPs per pipeline rank, summed over its replicas; all add up to step_flops

    [[nodiscard]] double of(TimeNs step) const;
    /// The utilisation of a rank's devices: FLOPs needed for the rank's part of the model, divided by the FLOPs
    /// possible in that time.
    [[nodiscard]] double of(TimeNs step, std::size_t rank) const;
};

/// The pipeline that trains the model. `device` is the name in the trace, if known.
struct UsedPipeline {
    int pp = 1;
    int vpp = 1;
    Placement placement = Placement::Loop;
    int devices = 1;
    std::optional<DeviceSpec> device;
};

/// Layers are distributed evenly over the stages. Errors: Usage if the model or its devices are unknown, or if there
/// are more stages than layers.
[[nodiscard]] Result<ModelUse> modelUse(const UsedPipeline& pipeline, const TrainedModel& model);
[[nodiscard]] Result<ModelUse> modelUse(const Run& run, const TrainedModel& model);
[[nodiscard]] Result<ModelUse> modelUse(const RunInfo& run, const TrainedModel& model);

} // namespace bubblescope
