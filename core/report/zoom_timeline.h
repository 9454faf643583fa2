#pragma once

#include "core/base/time.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::report {

/// Steps that a reader can zoom into and inspect, on a page that draws them with its own script. Times of a step count
/// from its start.
struct ZoomTimeline {
    struct Kind {
        std::string_view name;   ///< "forward"
        std::string_view colour; ///< "#rrggbb"
        std::string_view text;   ///< colour of text on it
    };
    struct Item {
        std::size_t kind = 0; ///< index in `kinds`
        std::string name;     ///< drawn into it if it fits
        TimeNs start{0};
        TimeNs length{0};
    };
    struct Row {
        std::string name;        ///< "rank 3"
        std::vector<Item> items; ///< by start
    };
    struct Step {
        std::string name; ///< "step 12"
        TimeNs length{0};
        std::vector<Row> rows;
    };
    std::vector<Kind> kinds;
    std::vector<Step> steps; ///< the first is shown initially
    std::string description; ///< for screen readers
    std::string note;        ///< a description shown above the content
};

/// The timeline as JSON for the script: names and kinds in tables, items as flat lists of integers. Safe inside a
/// script element.
[[nodiscard]] std::string zoomData(const ZoomTimeline& timeline);

/// Draws the timelines of a page into canvases that can be zoomed (Ctrl + wheel, or + and -), panned (drag, arrows) and
/// inspected. Plain JavaScript that loads nothing.
[[nodiscard]] std::string_view zoomScript();

} // namespace bubblescope::report
