#pragma once

class QString;
class QWidget;

namespace bubblescope::gui {

/// If the app has crashed, shows the newest crash report in `folder`, but only once. The user can read, copy, keep or
/// delete the report; it is never sent.
void offerCrashReport(QWidget& window, const QString& folder);

} // namespace bubblescope::gui
