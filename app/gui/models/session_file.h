#pragma once

#include "app/gui/models/view_state.h"
#include "core/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A trace as a session's file keeps it: where it is and what its view showed.
struct SavedTrace {
    std::vector<std::filesystem::path> files;   ///< opened together
    std::vector<std::filesystem::path> compare; ///< set beside it; empty = nothing was
    ViewSnapshot view;                          ///< without reference and highlights, which are made anew
    bool ideal = false;                         ///< whether the ideal step was shown
};

/// What stood in the window: saved by hand, opened by whoever gets the file.
struct SavedSession {
    std::vector<SavedTrace> traces; ///< tab by tab
    int current = 0;                ///< the tab in front
    std::string docks;              ///< the window's own words for where its panels are; may be empty
};

/// What the name of such a file ends with.
inline constexpr std::string_view kSessionSuffix = ".bubblescope-session.json";
[[nodiscard]] bool isSessionFile(const std::filesystem::path& file);

/// Paths come back absolute. Errors: Input, naming the file, the place in it and what belongs there.
[[nodiscard]] Result<SavedSession> readSession(const std::filesystem::path& file);

/// Replaces what is there. Traces below the file's folder are kept relative to it, so that both can be moved together.
/// Errors: Input, where it cannot be written.
[[nodiscard]] Status writeSession(const std::filesystem::path& file, const SavedSession& session);

} // namespace bubblescope::gui
