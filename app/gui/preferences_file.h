#pragma once

#include <QSettings>

namespace bubblescope::gui {

/// QSettings in a JSON file. A failed write keeps the old file. Qt's own formats ignore errors in the last write before
/// the file is replaced, so a full disk leaves an empty file (as of Qt 6.8).
[[nodiscard]] QSettings::Format preferencesFormat();

/// Makes preferencesFormat() the default of QSettings and copies the settings of earlier versions. Must be called after
/// the application's name is set.
void usePreferencesFile();

} // namespace bubblescope::gui
