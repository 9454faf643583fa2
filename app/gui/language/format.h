#pragma once

#include "core/base/time.h"

#include <QString>

namespace bubblescope::gui {

/// Numbers for people, in the user's locale.

/// Three significant digits in the unit that fits: "15.0 ms", "820 ns", "1.23 s".
[[nodiscard]] QString shortTime(TimeNs time);
/// Microsecond-exact: "15.013 ms", as core's formatTime says it.
[[nodiscard]] QString exactTime(TimeNs time);
/// With an explicit sign: "+0.012 ms".
[[nodiscard]] QString timeDelta(TimeNs time);
/// "27.3 %" for 0.273.
[[nodiscard]] QString percent(double share);
/// "+0.4 %" for 0.004.
[[nodiscard]] QString percentDelta(double share);
/// With a capital at its beginning: core's sentences follow a colon elsewhere.
[[nodiscard]] QString sentence(QString text);
[[nodiscard]] QString fromUtf8(const std::string& text);

} // namespace bubblescope::gui
