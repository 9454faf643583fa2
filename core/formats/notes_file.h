#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// What somebody wrote down about a stretch of a trace, or about a moment of it (`begin` = `end`). Times are the
/// trace's own, so a note finds its place again however the trace is opened.
struct Note {
    TimeNs begin{0};
    TimeNs end{0};
    std::optional<int> rank; ///< none: of the whole trace
    std::string text;        ///< UTF-8, may be empty

    friend bool operator==(const Note&, const Note&) = default;
};

/// Where the notes of a trace are kept: beside the file or directory, its name with ".notes.json" behind it. Of several
/// files that are opened together, beside the first.
[[nodiscard]] std::filesystem::path notesFileOf(const std::filesystem::path& trace);

/// Whether the name is one that notesFileOf() gives: no trace, though it lies among traces.
[[nodiscard]] bool isNotesFile(const std::filesystem::path& file);

/// In the file's order; none where there is no such file. Fields that this version does not know are not kept.
/// Errors: Input, for a file that cannot be read or is no list of notes.
[[nodiscard]] Result<std::vector<Note>> readNotes(const std::filesystem::path& file);

/// Replaces the file as a whole; without notes it is removed. Errors: Input, when it cannot be written, or when what is
/// there now is no list of notes: somebody's file is never overwritten.
[[nodiscard]] Status writeNotes(const std::filesystem::path& file, const std::vector<Note>& notes);

} // namespace bubblescope
