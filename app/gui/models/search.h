#pragma once

#include "app/gui/models/view_state.h"

#include <QString>

#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// Something that a search found, and where it is.
struct SearchHit {
    QString title;  ///< "F3.1"
    QString detail; ///< "rank 2 · step 5 · 12.0 ms"
    ItemRef item;   ///< an op or a slice; else none
    int step = -1;  ///< place in Run::steps, −1 where it is none
    int rank = -1;
    int anomaly = -1; ///< place in RunReport::anomalies
};

/// What fits a text, best first, `most` at most: an op's name such as F3.1 (in the current step first, then in the
/// others, on all ranks), "rank 3", "step 7", anomalies by any of their words, and slices by part of their name (the
/// first of each name in or after the current step). Case does not matter. Linear in the names of the trace, and in
/// its slices where names fit. Ends early with what it has when asked to stop.
[[nodiscard]] std::vector<SearchHit> search(const Session& session, const QString& text, int current_step,
                                            std::size_t most, std::stop_token stop = {});

/// Shows what was found.
void goTo(ViewState& state, const SearchHit& hit);

} // namespace bubblescope::gui
