#pragma once

#include "app/gui/models/item_text.h"

namespace bubblescope::gui {

/// Adds a comparison with ops of the same kind and chunk on the same rank and replica in all steps.
void addSimilarOps(ItemDescription& out, const Session& session, const ItemRef& item);
/// Adds a comparison with bubbles at the same position on the same rank in all steps.
void addSimilarBubbles(ItemDescription& out, const Session& session, const ItemRef& item);

} // namespace bubblescope::gui
