#pragma once

#include "app/gui/models/item_text.h"

namespace bubblescope::gui {

/// Compares an op with those of the same kind and chunk on the same rank of the same replica, in all steps.
void addSimilarOps(ItemDescription& out, const Session& session, const ItemRef& item);
/// Compares a bubble with those at the same position of the same rank, in all steps.
void addSimilarBubbles(ItemDescription& out, const Session& session, const ItemRef& item);

} // namespace bubblescope::gui
