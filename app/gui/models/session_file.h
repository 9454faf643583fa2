#pragma once

#include "app/gui/models/view_state.h"
#include "core/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A trace in a session file: its files and its view.
struct SavedTrace {
    std::vector<std::filesystem::path> files;   ///< files that were opened together
    std::vector<std::filesystem::path> compare; ///< the run it is compared with; empty = none
    ViewSnapshot view;                          ///< without reference and highlights, which are recomputed
    bool ideal = false;                         ///< true if the ideal step was shown
    Taught taught = {};                         ///< how to find its pipeline, if a user specified that
};

/// The state of a window, saved to a file that others can open.
struct SavedSession {
    std::vector<SavedTrace> traces; ///< one per tab
    int current = 0;                ///< index of the tab in front
    std::string docks;              ///< arrangement of the panels, in the window's format; may be empty
};

/// The suffix of session files.
inline constexpr std::string_view kSessionSuffix = ".bubblescope-session.json";
[[nodiscard]] bool isSessionFile(const std::filesystem::path& file);

/// Paths are returned absolute. Errors: Input, naming the file, the position in it and the expected content.
[[nodiscard]] Result<SavedSession> readSession(const std::filesystem::path& file);

/// Replaces an existing file. Traces below the file's folder are stored with relative paths, so that the file and the
/// traces can be moved together. Errors: Input if the file cannot be written.
[[nodiscard]] Status writeSession(const std::filesystem::path& file, const SavedSession& session);

} // namespace bubblescope::gui
