#pragma once

#include "core/base/field.h"
#include "core/request/schedule_request.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// One value of an input in a sweep.
struct SweepSetting {
    std::string text; ///< text as written by the user
    std::function<void(ScheduleRequest&)> apply;
};

/// An input for which several values are tried.
struct SweepAxis {
    Field field;
    std::vector<SweepSetting> settings;

    /// True if the input affects generated orders. It does not affect an order from a schedule file.
    [[nodiscard]] bool makesOrders() const;
};

/// One combination of values.
struct SweepPoint {
    std::vector<std::string> settings; ///< one per axis; empty if a schedule file determines the value
    std::optional<Planned> planned;
    std::string reason;              ///< reason why this schedule does not exist
    std::vector<std::string> unused; ///< inputs of the request that do not affect this order
};

/// A request to compare schedules: one for each combination of the axes' values.
struct SweepRequest {
    ScheduleRequest base;
    std::vector<SweepAxis> axes;
    /// Number of chunks per rank to which the times apply. If an order has a different number, the times of its ops are
    /// scaled, so that all orders do the same work. If empty, the times apply to the ops of each order.
    std::optional<int> chunks_of_times;

    /// Errors: Usage if there are too many points or none; Input for files.
    [[nodiscard]] Result<std::vector<SweepPoint>> points(TimeNs usual_forward) const;

private:
    [[nodiscard]] SweepPoint point(const ScheduleRequest& request, TimeNs usual_forward) const;
};

/// Selects a schedule by "NAME", "NAME/FLAVOR", "/FLAVOR" (of the currently selected family), or by the name of a file
/// that ends in .json or .csv. Without a flavor, the flavor in the request is unchanged.
void nameSchedule(ScheduleRequest& request, std::string_view text);

} // namespace bubblescope
