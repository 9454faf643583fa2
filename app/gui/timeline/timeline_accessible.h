#pragma once

namespace bubblescope::gui {

class TimelineView;

/// Lets screen readers read timelines: the rows in sight, each with its rank's busy and bubble time in the current
/// step, and the selection as the timeline's value. Called by each view before it is named.
void installTimelineAccess(TimelineView& view);

/// Tells those that listen that there are other rows.
void announceRows(TimelineView& view);

/// Tells those that listen that the selection is another one.
void announceSelection(TimelineView& view);

} // namespace bubblescope::gui
