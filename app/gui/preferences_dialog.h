#pragma once

#include "app/gui/preferences.h"

#include <QDialog>

class QFormLayout;
class QLabel;

namespace bubblescope::gui {

/// All preferences in one place. Each is applied as it is chosen.
class PreferencesDialog : public QDialog {
    Q_OBJECT

public:
    explicit PreferencesDialog(Preferences& preferences, QWidget* parent = nullptr);

private:
    void build();

    Preferences& preferences_;
};

} // namespace bubblescope::gui
