#pragma once

#include "app/gui/models/view_state.h"
#include "core/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A trace in a session file, including its view.
struct SavedTrace {
    std::vector<std::filesystem::path> files;   ///< files that were opened together
    std::vector<std::filesystem::path> compare; ///< files of the run for comparison; empty = none
    ViewSnapshot view;                          ///< without the reference and highlights, which are recomputed
    bool ideal = false;                         ///< true if the ideal step was shown
    Taught taught = {};                         ///< hints for finding the pipeline, if the user specified any
};

/// The state of a window, saved to a file that others can open.
struct SavedSession {
    std::vector<SavedTrace> traces; ///< one per tab
    int current = 0;                ///< index of the selected tab
    std::string docks;              ///< layout of the panels in the format of QMainWindow; may be empty
};

/// Suffix of session files.
inline constexpr std::string_view kSessionSuffix = ".bubblescope-session.json";
[[nodiscard]] bool isSessionFile(const std::filesystem::path& file);

/// Returns absolute paths. Errors: Input, with the file, the position, and the expected content.
[[nodiscard]] Result<SavedSession> readSession(const std::filesystem::path& file);

/// Replaces an existing file. Traces in the file's folder, or below it, are stored with relative paths, so that they
/// can be moved together with the file. Errors: Input if the file cannot be written.
[[nodiscard]] Status writeSession(const std::filesystem::path& file, const SavedSession& session);

} // namespace bubblescope::gui
