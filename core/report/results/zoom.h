#pragma once

#include "core/analysis/report.h"
#include "core/recognise/run.h"
#include "core/report/zoom_timeline.h"

#include <cstddef>

namespace bubblescope::report {

/// Maximum number of items in a page's zoomable timeline, for a page of about 2 MB.
inline constexpr std::size_t kMostZoomItems = 80'000;

/// The steps of a run that a reader can zoom into: the typical one, then those that findings name, worst first, then
/// the others, as long as there are at most `most_items` ops, bubbles and transfers. If a single step is larger, only
/// the ranks that findings name and then the first ones. The note reports what was omitted.
[[nodiscard]] ZoomTimeline zoomTimeline(const Run& run, const RunReport& report,
                                        std::size_t most_items = kMostZoomItems);

} // namespace bubblescope::report
