#pragma once

#include "app/gui/models/session.h"

namespace bubblescope::gui {

/// Steps from one item to another. Pure functions; an empty reference means there is no such item.

/// The op after (`direction` +1) or before (−1) the item on its rank, across steps. From a bubble or a
/// transfer it is the nearest op in that direction.
[[nodiscard]] ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction);

/// The op that made the input of `op`: F of the stage before, B or I of the stage after; the last stage's
/// backward comes from its own forward. From a transfer span, the sending op; from a slice, the op that it belongs to.
[[nodiscard]] ItemRef producer(const Session& session, const ItemRef& from);

/// The op that uses the output of `op`. From a transfer span, the receiving op.
[[nodiscard]] ItemRef consumer(const Session& session, const ItemRef& from);

/// The op that runs as a pair with this one; empty for ops that run alone, and for what is no op.
[[nodiscard]] ItemRef otherHalf(const Session& session, const ItemRef& from);

/// The op of a line running at `time`, or the nearest one; empty when it has none.
[[nodiscard]] ItemRef opNear(const Session& session, int line, TimeNs time);

} // namespace bubblescope::gui
