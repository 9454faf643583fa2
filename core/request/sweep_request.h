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
    std::string text; ///< as the user wrote it
    std::function<void(ScheduleRequest&)> apply;
};

/// An input with several values.
struct SweepAxis {
    Field field;
    std::vector<SweepSetting> settings;

    /// True if the input determines the order; a schedule file already has one.
    [[nodiscard]] bool makesOrders() const;
};

/// A combination of values.
struct SweepPoint {
    std::vector<std::string> settings; ///< per axis; empty where a schedule file determines the value
    std::optional<Planned> planned;
    std::string reason;              ///< the reason why this schedule does not exist
    std::vector<std::string> unused; ///< inputs of the request that this order does not use
};

/// Schedules to compare: one for each combination of the axes' values.
struct SweepRequest {
    ScheduleRequest base;
    std::vector<SweepAxis> axes;
    /// The number of chunks per rank that the times refer to; an op takes its share if an order has another number, so
    /// that all orders do the same work. If empty, the times are those of one op of each order.
    std::optional<int> chunks_of_times;

    /// Errors: Usage if there are too many points or none of them exists; Input for files.
    [[nodiscard]] Result<std::vector<SweepPoint>> points(TimeNs usual_forward) const;

private:
    [[nodiscard]] SweepPoint point(const ScheduleRequest& request, TimeNs usual_forward) const;
};

/// Selects a schedule by "NAME", "NAME/FLAVOR", "/FLAVOR" (of the family selected so far), or by a file whose name ends
/// in .json or .csv. Without a flavor, the request keeps its own.
void nameSchedule(ScheduleRequest& request, std::string_view text);

} // namespace bubblescope
