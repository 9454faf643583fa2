#pragma once

#include "app/gui/export_view.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLineEdit;

namespace bubblescope::gui {

/// Dialog for the style and format of a timeline figure.
class FigureDialog : public QDialog {
    Q_OBJECT

public:
    FigureDialog(const QString& title, const QString& subtitle, QWidget* parent = nullptr);

    [[nodiscard]] Figure figure() const;
    /// Selected format: "pdf", "svg", "png" or "tex".
    [[nodiscard]] QString suffix() const;

private:
    QString subtitle_;
    QDoubleSpinBox* width_;
    QComboBox* format_;
    QCheckBox* white_;
    QCheckBox* legend_;
    QCheckBox* figures_;
    QLineEdit* title_;
};

} // namespace bubblescope::gui
