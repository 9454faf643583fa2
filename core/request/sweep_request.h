#pragma once

#include "core/base/field.h"
#include "core/request/schedule_request.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// One of the values that a sweep gives an input.
struct SweepSetting {
    std::string text; ///< as given
    std::function<void(ScheduleRequest&)> apply;
};

/// An input with several values.
struct SweepAxis {
    Field field;
    std::vector<SweepSetting> settings;

    /// Whether it decides which order is made: a schedule file has its own.
    [[nodiscard]] bool makesOrders() const;
};

/// A combination of values.
struct SweepPoint {
    std::vector<std::string> settings; ///< per axis; empty where a schedule file has its own
    std::optional<Planned> planned;
    std::string reason;              ///< why there is no such schedule
    std::vector<std::string> unused; ///< what the request states and this order does not use
};

/// Schedules that are compared: every combination of the values of its axes.
struct SweepRequest {
    ScheduleRequest base;
    std::vector<SweepAxis> axes;
    /// The times are those of an op where a rank's model part is cut into so many chunks; an order with other chunks
    /// gets its share, so that all do the same work. None: of one op of each order.
    std::optional<int> chunks_of_times;

    /// Errors: Usage where there are too many points or none of them exists; Input for files.
    [[nodiscard]] Result<std::vector<SweepPoint>> points(TimeNs usual_forward) const;

private:
    [[nodiscard]] SweepPoint point(const ScheduleRequest& request, TimeNs usual_forward) const;
};

/// Asks for a schedule by "NAME", "NAME/FLAVOR", "/FLAVOR" (of the family asked for so far), or by a file whose name
/// ends in .json or .csv. Without a flavor that of the request stays.
void nameSchedule(ScheduleRequest& request, std::string_view text);

} // namespace bubblescope
