#pragma once

#include "app/gui/timeline/time_scale.h"
#include "core/formats/notes_file.h"

#include <vector>

namespace bubblescope::gui {

/// A note's mark in the ruler, in logical pixels from the plot's left edge.
struct NoteFlag {
    double left = 0;  ///< where it begins; its staff stands there if that is in sight
    double right = 0; ///< where it ends, at least `left`
    int note = 0;     ///< place in the list
    double room = 0;  ///< for its text, to the next flag or the plot's end
    bool staff = true;
};

/// Of the notes, which are sorted by time, those in sight. Flags closer than a few pixels stand for one another: the
/// first of them is shown.
[[nodiscard]] std::vector<NoteFlag> buildNoteFlags(const std::vector<Note>& notes, const TimeScale& scale);

/// The note whose flag is at x; −1 for none.
[[nodiscard]] int noteAt(const std::vector<NoteFlag>& flags, double x);

} // namespace bubblescope::gui
