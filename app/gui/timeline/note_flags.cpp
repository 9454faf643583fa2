#include "app/gui/timeline/note_flags.h"

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr double kFlagsApart = 5; ///< closer ones are one
constexpr double kFlagReach = 9;  ///< a flag's width, where it can be clicked

} // namespace

std::vector<NoteFlag> buildNoteFlags(const std::vector<Note>& notes, const TimeScale& scale) {
    std::vector<NoteFlag> flags;
    for (std::size_t i = 0; i < notes.size(); ++i) {
        const Note& note = notes[i];
        if (note.begin >= scale.range.end) break;
        const bool moment = note.begin == note.end;
        if (moment ? note.end < scale.range.begin : note.end <= scale.range.begin) continue;
        NoteFlag flag;
        flag.staff = note.begin >= scale.range.begin;
        flag.left = std::max(0.0, scale.x(note.begin));
        flag.right = std::clamp(scale.x(note.end), flag.left, scale.width);
        flag.note = static_cast<int>(i);
        flag.room = scale.width - flag.left;
        if (!flags.empty()) {
            if (flag.left - flags.back().left < kFlagsApart) {
                flags.back().right = std::max(flags.back().right, flag.right);
                continue;
            }
            flags.back().room = flag.left - flags.back().left;
        }
        flags.push_back(flag);
    }
    return flags;
}

int noteAt(const std::vector<NoteFlag>& flags, double x) {
    int found = -1;
    for (const NoteFlag& flag : flags) {
        if (x >= flag.left - 2 && x <= std::max(flag.left + kFlagReach, flag.right)) found = flag.note;
    }
    return found;
}

} // namespace bubblescope::gui
