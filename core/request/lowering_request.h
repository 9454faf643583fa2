#pragma once

#include "core/base/result.h"
#include "core/families/registry.h"
#include "core/schedule/action.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A request to add a framework's sends, receives and weight actions to an order.
struct LoweringRequest {
    /// One of runtimeNames(); empty: the actions of the file, if there is one.
    std::string lower;
    bool defer_receives = false;
    std::optional<int> receives_ahead; ///< most ops by which a receive is posted ahead; none: as the framework does
    std::optional<int> max_active_stages;
    std::string unshard_lookahead; ///< "full", "auto" or one number per rank, separated by commas; empty: full
    std::optional<int> max_outstanding_sends;
    bool defer_reduce_grad_wait = false;

    [[nodiscard]] static std::vector<std::string> runtimeNames();
    [[nodiscard]] bool wanted() const { return !lower.empty(); }
    /// Chooses the framework's own order of a family if no flavor is given.
    void chooseFlavor(ScheduleSpec& spec) const;
    /// An order with its actions: the framework's, or else those in the file that the order was read from (empty:
    /// none). Errors: Usage, Input.
    [[nodiscard]] Result<LoweredSchedule> lowered(Schedule order, const std::string& file) const;

private:
    [[nodiscard]] bool hasTorchOptions() const;
    [[nodiscard]] Result<LoweredSchedule> asTorch(const Schedule& order) const;
};

} // namespace bubblescope
