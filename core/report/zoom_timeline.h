#pragma once

#include "core/base/time.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::report {

/// Steps that a page draws with a script, so that readers can zoom into them and inspect ops. The times of a step are
/// relative to its start.
struct ZoomTimeline {
    struct Kind {
        std::string_view name;   ///< "forward"
        std::string_view colour; ///< "#rrggbb"
        std::string_view text;   ///< colour of the text on the item
    };
    struct Item {
        std::size_t kind = 0; ///< index in `kinds`
        std::string name;     ///< label drawn inside the item if it fits
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
    std::vector<Step> steps; ///< the first step is displayed initially
    std::string description; ///< for screen readers
    std::string note;        ///< description displayed above the content
};

/// The timeline as JSON for the script: tables of names and kinds, and items as flat lists of integers. The text is
/// safe inside a script element.
[[nodiscard]] std::string zoomData(const ZoomTimeline& timeline);

/// A script that draws the timelines of a page on canvases that can be zoomed (Ctrl + wheel, or + and -), panned (drag,
/// arrows) and inspected. Plain JavaScript without external resources.
[[nodiscard]] std::string_view zoomScript();

} // namespace bubblescope::report
