#pragma once

#include "app/gui/models/view_state.h"

#include <QString>

#include <stop_token>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A search result and its place.
struct SearchHit {
    QString title;  ///< "F3.1"
    QString detail; ///< "rank 2 · step 5 · 12.0 ms"
    ItemRef item;   ///< an op or a slice; empty otherwise
    int step = -1;  ///< index in Run::steps; −1 if it is not in a step
    int rank = -1;
    int anomaly = -1; ///< index in RunReport::anomalies
    bool counter = false;
};

/// At most `max_hits` matches, best first: an op's name such as F3.1 (on all ranks, the current step first), "rank 3",
/// "step 7", anomalies by words of their text, counters by part of their name, and slices by part of their name (the
/// first of each name in or after the current step). Case-insensitive. Linear in the number of the trace's names, and
/// of its slices if names match. If asked to stop, returns early with the matches found so far.
[[nodiscard]] std::vector<SearchHit> search(const Session& session, const QString& text, int current_step,
                                            std::size_t max_hits, std::stop_token stop = {});

/// The counters whose names contain all of `words`, which are in lower case, on lines of these ranks.
[[nodiscard]] std::vector<SearchHit> countersNamed(const Session& session, const std::vector<std::string>& words,
                                                   const std::vector<RowFilter::Span>& ranks);

/// Shows the hit in the views.
void goTo(ViewState& state, const SearchHit& hit);

} // namespace bubblescope::gui
