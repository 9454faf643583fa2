#pragma once

#include "app/gui/models/op_query.h"
#include "app/gui/models/session.h"

#include <cstddef>
#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// The results of a query.
struct QueryHits {
    std::vector<ItemRef> items;  ///< the longest first, at most `max_items` of them
    std::size_t count = 0;       ///< number of all matches
    TimeNs total{0};             ///< their durations
    std::vector<SliceId> slices; ///< all slices among the matches, ascending
};

/// Linear in the ops, bubbles, transfers and checks of the steps in question, and in the slices if the query includes
/// slices. If asked to stop, returns early with the matches found so far. Any thread.
[[nodiscard]] QueryHits runQuery(const Session& session, const OpQuery& query, std::size_t max_items,
                                 std::stop_token stop = {});

/// A query that finds an item and similar items: the same op in all steps, bubbles of the rank, slices of the name.
[[nodiscard]] std::string queryForLikes(const Session& session, const ItemRef& item);

} // namespace bubblescope::gui
