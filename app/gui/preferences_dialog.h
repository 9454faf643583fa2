#pragma once

#include "app/gui/preferences.h"

#include <QDialog>

class QFormLayout;

namespace bubblescope::gui {

/// Dialog with all preferences. Each change applies immediately.
class PreferencesDialog : public QDialog {
    Q_OBJECT

public:
    explicit PreferencesDialog(Preferences& preferences, QWidget* parent = nullptr);

private:
    [[nodiscard]] QWidget* buildGeneral();
    void addTimes(QFormLayout& form);
    [[nodiscard]] QWidget* buildThresholds();

    Preferences& preferences_;
};

} // namespace bubblescope::gui
