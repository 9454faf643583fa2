#pragma once

#include "app/gui/timeline/time_axis.h"
#include "app/gui/timeline/timeline_painter.h"
#include "core/formats/notes_file.h"

#include <vector>

namespace bubblescope::gui {

/// Mark of a note in the ruler, in logical pixels from the left edge of the plot.
struct NoteFlag {
    double left = 0;  ///< start of the note, which is the position of the flagpole
    double right = 0; ///< end of the note, at least `left`
    int note = 0;     ///< index of the note in the list
    double room = 0;  ///< space for the text, up to the next flag or the end of the plot
    bool staff = true;
};

/// Flags of the visible notes. `notes` must be sorted by time. If flags are only a few pixels apart, only the first is
/// shown.
[[nodiscard]] std::vector<NoteFlag> buildNoteFlags(const std::vector<Note>& notes, const TimeScale& scale);

/// Note whose flag is at x; −1 if there is none.
[[nodiscard]] int noteAt(const std::vector<NoteFlag>& flags, double x);

/// Draws notes: a flag with the text in the ruler, a line through the rows, and a bracket over the row of the note.
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
