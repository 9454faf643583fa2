#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A user's remark about an interval of a trace, or about a moment (`begin` = `end`). Times are those of the trace, so
/// that a note keeps its place however the trace is opened.
struct Note {
    TimeNs begin{0};
    TimeNs end{0};
    std::optional<int> rank; ///< none: the whole trace
    std::string text;        ///< UTF-8, may be empty

    friend bool operator==(const Note&, const Note&) = default;
};

/// The file with a trace's notes: next to the file or directory, its name with ".notes.json" appended. If several files
/// are opened together, the file is next to the first of them.
[[nodiscard]] std::filesystem::path notesFileOf(const std::filesystem::path& trace);

/// True if a file name is a result of notesFileOf(): such a file is not a trace, although it is in the same folder.
[[nodiscard]] bool isNotesFile(const std::filesystem::path& file);

/// The notes in the file's order; empty if there is no such file. Unknown fields are dropped. Errors: Input for a file
/// that cannot be read or is not a list of notes.
[[nodiscard]] Result<std::vector<Note>> readNotes(const std::filesystem::path& file);

/// Replaces the whole file, or removes it if there are no notes. Errors: Input if it cannot be written, or if the
/// existing file is not a list of notes, because other files are never overwritten.
[[nodiscard]] Status writeNotes(const std::filesystem::path& file, const std::vector<Note>& notes);

} // namespace bubblescope
