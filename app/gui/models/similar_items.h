#pragma once

#include "app/gui/models/item_text.h"

namespace bubblescope::gui {

/// Compares an op with ops of the same kind and chunk on the same rank of the same replica, in all steps.
void addSimilarOps(ItemDescription& out, const Session& session, const ItemRef& item);
/// Compares a bubble with bubbles at the same position on the same rank, in all steps.
void addSimilarBubbles(ItemDescription& out, const Session& session, const ItemRef& item);

} // namespace bubblescope::gui
