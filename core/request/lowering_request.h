#pragma once

#include "core/base/result.h"
#include "core/families/registry.h"
#include "core/schedule/action.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A request to insert a framework's sends, receives and weight actions into an order.
struct LoweringRequest {
    /// One of runtimeNames(); if empty, uses the actions in the file, if there are any.
    std::string lower;
    bool defer_receives = false;
    std::optional<int> receives_ahead; ///< receives are posted at most this many ops early; none = as in PyTorch
    std::optional<int> max_active_stages;
    std::string unshard_lookahead; ///< "full", "auto" or one number per rank, separated by commas; empty = full
    std::optional<int> max_outstanding_sends;
    bool defer_reduce_grad_wait = false;

    [[nodiscard]] static std::vector<std::string> runtimeNames();
    [[nodiscard]] bool wanted() const { return !lower.empty(); }
    /// Flavor of the framework's schedules if it runs no others (empty if they have none); nullopt if it runs any
    /// order.
    [[nodiscard]] std::optional<std::string> ownFlavor() const;
    /// Selects the framework's own order of a family if no flavor is specified.
    void chooseFlavor(ScheduleSpec& spec) const;
    /// An order with the actions of the framework, or else with those in the file that contains the order (empty if
    /// there are none). Errors: Usage, Input.
    [[nodiscard]] Result<LoweredSchedule> lowered(Schedule order, const std::string& file) const;

private:
    [[nodiscard]] bool hasTorchOptions() const;
    [[nodiscard]] Result<LoweredSchedule> asTorch(const Schedule& order) const;
};

} // namespace bubblescope
