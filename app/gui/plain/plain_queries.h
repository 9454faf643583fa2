#pragma once

#include "app/gui/plain/plain_trace.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A part of a plain trace: an interval of time on some lanes.
struct PlainArea {
    TimeRange range;
    int first_lane = 0;
    int end_lane = 0;

    [[nodiscard]] bool empty() const { return range.length() <= TimeNs{0} || first_lane >= end_lane; }
    friend bool operator==(const PlainArea&, const PlainArea&) = default;
};

/// The slices of one name in an area. Times are those within the area.
struct AreaName {
    StringId name = 0;
    std::int64_t count = 0; ///< that overlap the area
    TimeNs total{0};
    TimeNs self{0}; ///< without the slices inside them
    TimeNs longest{0};
    SliceId longest_slice = kNoId;

    [[nodiscard]] TimeNs mean() const { return count > 0 ? total / count : TimeNs{0}; }
};

struct AreaTable {
    PlainArea area;
    std::vector<AreaName> names; ///< by total, descending
    std::int64_t slices = 0;
    TimeNs busy{0}; ///< with at least one slice, summed over the lanes
    int lanes = 0;  ///< with slices
};

/// Linear in the slices of the area. Errors: Cancelled.
[[nodiscard]] Result<AreaTable> tableOf(const PlainTrace& trace, const PlainArea& area, const JobControl& control);

/// The slices whose name holds `text`, regardless of case; ascending ids. Errors: Cancelled.
[[nodiscard]] Result<std::vector<SliceId>> slicesNamed(const PlainTrace& trace, const QString& text,
                                                       const JobControl& control);

/// A slice among those of its name on all tracks.
struct SliceLikes {
    std::int64_t count = 0;
    TimeNs median{0};
    TimeNs p99{0};
    TimeNs longest{0};
};
/// Linear in the trace. Errors: Cancelled.
[[nodiscard]] Result<SliceLikes> likesOf(const PlainTrace& trace, SliceId slice, const JobControl& control);

/// A name and a value, for tables.
struct PlainFact {
    QString name;
    QString value;
};
/// What is known of a slice without reading the whole trace.
[[nodiscard]] std::vector<PlainFact> factsOf(const PlainTrace& trace, SliceId slice);

/// A slice for the clipboard: its facts, one per line.
[[nodiscard]] QString copyAsText(const PlainTrace& trace, SliceId slice);
/// An object with kind, name, category, process, lane, start_ns (from the first event), duration_ns and args.
[[nodiscard]] QString copyAsJson(const PlainTrace& trace, SliceId slice);

/// Lanes from their first slice to the end of their last; the whole trace in time if they have none.
[[nodiscard]] PlainArea areaOfLanes(const PlainTrace& trace, int first_lane, int end_lane);
/// Lanes for the clipboard: the process, the lane if there is one alone, how many slices, first start, last end.
[[nodiscard]] QString copyAsText(const PlainTrace& trace, const PlainArea& lanes);
[[nodiscard]] QString copyAsJson(const PlainTrace& trace, const PlainArea& lanes);

/// An arg as text.
[[nodiscard]] QString plainArgText(const ArgValue& value);

} // namespace bubblescope::gui
