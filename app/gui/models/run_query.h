#pragma once

#include "app/gui/models/op_query.h"
#include "app/gui/models/session.h"

#include <cstddef>
#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// Results of a query.
struct QueryHits {
    std::vector<ItemRef> items;  ///< at most `max_items`, the longest first
    std::size_t count = 0;       ///< number of all matches
    TimeNs total{0};             ///< total duration of all matches
    std::vector<SliceId> slices; ///< all slices among the matches, ascending
};

/// Linear in the number of ops, bubbles, transfers and checks in the searched steps, and in the number of slices if the
/// query includes slices. Returns the matches so far if a stop is requested. Any thread.
[[nodiscard]] QueryHits runQuery(const Session& session, const OpQuery& query, std::size_t max_items,
                                 std::stop_token stop = {});

/// Query for an item and similar items: the same op in all steps, bubbles of the rank, or slices with the same
/// name.
[[nodiscard]] std::string queryForLikes(const Session& session, const ItemRef& item);

} // namespace bubblescope::gui
