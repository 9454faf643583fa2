#pragma once

namespace bubblescope::gui {

inline constexpr const char* kVersion = BUBBLESCOPE_VERSION;

} // namespace bubblescope::gui
