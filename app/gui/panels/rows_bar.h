#pragma once

#include "app/gui/models/view_state.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QLineEdit;

namespace bubblescope::gui {

/// A line edit for the filter of rows, with a preview of its effect. Hidden while there is no filter, unless it is
/// opened explicitly. Return applies the text; Escape discards it.
class RowsBar : public QWidget {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit RowsBar(ViewState& state, QWidget* parent = nullptr);

    /// Shows the bar and takes the focus.
    void open();

signals:
    /// The bar was closed.
    void closed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showRows();
    void showResult();
    void apply(const QString& filter);
    void leave();
    void listReplicas();
    void chooseReplicas(int entry);

    ViewState& state_;
    QComboBox* replicas_;
    QLineEdit* line_;
    QLabel* result_;
};

} // namespace bubblescope::gui
