#pragma once

#include "core/analysis/report.h"
#include "core/recognise/run.h"
#include "core/report/zoom_timeline.h"

#include <cstddef>

namespace bubblescope::report {

/// Maximum number of items in the zoomable timeline of a page, which limits the page to about 2 MB.
inline constexpr std::size_t kMostZoomItems = 80'000;

/// Selects the steps of a run for a zoomable timeline: first the typical step, then those named by findings, worst
/// first, then the others, up to a total of `most_items` ops, bubbles and transfers. If a single step exceeds this
/// total, only some of its ranks are included: first those named by findings. The note lists what was omitted.
[[nodiscard]] ZoomTimeline zoomTimeline(const Run& run, const RunReport& report,
                                        std::size_t most_items = kMostZoomItems);

} // namespace bubblescope::report
