#pragma once

#include "app/gui/models/view_state.h"

#include <QWidget>

class QLabel;
class QLineEdit;

namespace bubblescope::gui {

/// A line to say which ranks are wanted, with what comes of it. Hidden while all are shown and nobody asks for it.
/// Return applies the text; Escape leaves the rows as they are.
class RowsBar : public QWidget {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit RowsBar(ViewState& state, QWidget* parent = nullptr);

    /// Shows the bar and waits for a text.
    void open();

signals:
    /// The user is through with it.
    void closed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showRows();
    void tell();
    void apply(const QString& filter);
    void leave();

    ViewState& state_;
    QLineEdit* line_;
    QLabel* result_;
};

} // namespace bubblescope::gui
