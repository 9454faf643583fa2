#pragma once

#include <QDialog>

namespace bubblescope::gui {

/// All keys and mouse actions on one page.
class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    explicit ShortcutSheet(QWidget* parent = nullptr);
};

} // namespace bubblescope::gui
