#pragma once

class QString;
class QWidget;

namespace bubblescope::gui {

/// If an earlier start of the app crashed, shows the newest report in `folder`, once. The user can read, copy, keep or
/// delete it; nothing is sent.
void offerCrashReport(QWidget& window, const QString& folder);

} // namespace bubblescope::gui
