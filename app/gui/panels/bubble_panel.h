#pragma once

#include "app/gui/models/bubble_table_model.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

class QLabel;
class QSpinBox;
class QTableView;
class QToolButton;

namespace bubblescope::gui {

class FillWhenVisible;

/// Table of bubbles with a step selector. Selecting a row shows its bubbles on the timeline; selecting a bubble on the
/// timeline marks its row.
class BubblePanel : public QWidget {
    Q_OBJECT

public:
    BubblePanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// Updates the table if the panel is hidden, and returns the table.
    [[nodiscard]] QTableView& table();
    [[nodiscard]] const BubbleTableModel& model();

private:
    void refresh();
    void followSelection();
    void showRow(int row);
    void stepBy(int direction);
    void showNumber(int number);

    ViewState& state_;
    BubbleTableModel* model_;
    QTableView* table_;
    QSpinBox* step_;
    QLabel* step_count_;
    QLabel* note_;
    QToolButton* previous_;
    QToolButton* next_;
    FillWhenVisible* fill_;
    bool following_ = false; ///< true while a selection on the timeline changes the row
};

} // namespace bubblescope::gui
