#pragma once

#include "core/base/result.h"
#include "core/plan/search.h"
#include "core/request/model_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The user's description of the devices: the name of a known device, and rates that override its own.
struct ClusterRequest {
    std::string device;
    int devices = 0;
    std::optional<int> per_host;
    std::optional<std::int64_t> memory; ///< bytes
    std::optional<double> teraflops;    ///< rate of dense 16-bit matrix products
    std::optional<double> teraflops_fp8;
    std::optional<std::int64_t> memory_rate; ///< bytes per second
    std::optional<std::int64_t> link;
    std::optional<std::int64_t> network;
    std::optional<std::int64_t> reserved;  ///< bytes
    std::optional<double> tensor_overlap;  ///< per cent
    std::optional<double> expert_overlap;  ///< per cent
    std::optional<double> attention_share; ///< per cent
    bool fp8 = false;
    bool sends_once = false; ///< tokens to experts

    /// Errors: Usage.
    [[nodiscard]] Result<plan::Cluster> cluster() const;
};

/// A request for the best plans.
struct PlanRequest {
    ModelRequest model;
    ClusterRequest cluster;
    int global_batch = 0;
    plan::Space space;
    std::vector<std::string> recompute; ///< "none", "selective", "full"
    std::vector<int> zero;              ///< 0 to 3

    /// Errors: Usage.
    [[nodiscard]] Result<plan::Problem> problem() const;
    /// `from_trace`: for a recorded run, whose trace does not contain the sizes of weights. Errors: Usage.
    [[nodiscard]] Result<plan::Space> choices(bool from_trace = false) const;
};

} // namespace bubblescope
