#pragma once

#include "app/gui/timeline/note_flags.h"
#include "app/gui/timeline/timeline_painter.h"

namespace bubblescope::gui {

/// Draws notes: a flag with the text in the ruler, a line through the rows, and a bracket over the row that is meant.
class NotePainter {
public:
    NotePainter(QPainter& painter, const TimelineFrame& frame) : p_(painter), f_(frame) {}

    void paint(const std::vector<Note>& notes, int current);

private:
    void paintFlag(const NoteFlag& flag, const Note& note, bool current);
    void paintRow(const NoteFlag& flag, int rank);

    QPainter& p_;
    const TimelineFrame& f_;
};

} // namespace bubblescope::gui
