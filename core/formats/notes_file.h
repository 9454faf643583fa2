#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A user's remark about an interval or a moment (`begin` = `end`) of a trace. Times are those of the trace, so that a
/// note keeps its position regardless of how the trace is opened.
struct Note {
    TimeNs begin{0};
    TimeNs end{0};
    std::optional<int> rank; ///< none: all ranks
    std::string text;        ///< UTF-8, may be empty

    friend bool operator==(const Note&, const Note&) = default;
};

/// The file for a trace's notes. This file is next to the trace file or directory, and its name is the trace's name
/// followed by ".notes.json". If several files are opened together, the name is derived from the first one.
[[nodiscard]] std::filesystem::path notesFileOf(const std::filesystem::path& trace);

/// True if the name is one that notesFileOf() returns. Such a file is not a trace, although it is in the same folder.
[[nodiscard]] bool isNotesFile(const std::filesystem::path& file);

/// The notes in file order; empty if there is no such file. Unknown fields are dropped. Errors: Input for a
/// file that cannot be read or is not a list of notes.
[[nodiscard]] Result<std::vector<Note>> readNotes(const std::filesystem::path& file);

/// Replaces the file, or removes it if there are no notes. Errors: Input if the file cannot be written, or if an
/// existing file is not a list of notes, because other files are never overwritten.
[[nodiscard]] Status writeNotes(const std::filesystem::path& file, const std::vector<Note>& notes);

} // namespace bubblescope
