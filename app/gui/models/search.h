#pragma once

#include "app/gui/models/view_state.h"

#include <QString>

#include <stop_token>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A search result and its location.
struct SearchHit {
    QString title;  ///< such as "F3.1"
    QString detail; ///< such as "rank 2 · step 5 · 12.0 ms"
    ItemRef item;   ///< an op or a slice; may be empty
    int step = -1;  ///< index in Run::steps; −1 if the hit is outside all steps
    int rank = -1;
    int anomaly = -1; ///< index in RunReport::anomalies
    bool counter = false;
};

/// Finds up to `max_hits` matches, best first: ops by name such as F3.1 (on all ranks, the current step first), "rank
/// 3", "step 7", anomalies by words in their text, counters by part of their name, and slices by part of their name
/// (the first slice of each name in or after the current step). Ignores case. Linear in the number of names in the
/// trace, and in the number of slices if names match. Returns the matches so far if a stop is requested.
[[nodiscard]] std::vector<SearchHit> search(const Session& session, const QString& text, int current_step,
                                            std::size_t max_hits, std::stop_token stop = {});

/// On lines of these ranks, finds counters whose names contain all of `words`, which must be in lower case.
[[nodiscard]] std::vector<SearchHit> countersNamed(const Session& session, const std::vector<std::string>& words,
                                                   const std::vector<RowFilter::Span>& ranks);

/// Shows the hit in the views.
void goTo(ViewState& state, const SearchHit& hit);

} // namespace bubblescope::gui
