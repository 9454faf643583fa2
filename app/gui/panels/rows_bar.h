#pragma once

#include "app/gui/models/view_state.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QLineEdit;

namespace bubblescope::gui {

/// Input field for the row filter, with a preview. Hidden while there is no filter, unless opened explicitly. Return
/// applies the text; Escape discards it.
class RowsBar : public QWidget {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit RowsBar(ViewState& state, QWidget* parent = nullptr);

    /// Shows the bar and focuses it.
    void open();

signals:
    /// Emitted when the bar has been closed.
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
