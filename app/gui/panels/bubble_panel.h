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

class FillWhenSeen;

/// The bubble table with the step selector. Choosing a row shows its bubbles on the timeline; choosing a
/// bubble there marks its row here.
class BubblePanel : public QWidget {
    Q_OBJECT

public:
    BubblePanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// Filled, also where nobody sees it.
    [[nodiscard]] QTableView& table();
    [[nodiscard]] const BubbleTableModel& model();

private:
    void refresh();
    void followSelection();
    void showRow(int row);
    void stepBy(int direction);

    ViewState& state_;
    BubbleTableModel* model_;
    QTableView* table_;
    QSpinBox* step_;
    QLabel* step_count_;
    QLabel* note_;
    QToolButton* previous_;
    QToolButton* next_;
    FillWhenSeen* fill_;
    bool following_ = false; ///< a change of the row comes from the timeline
};

} // namespace bubblescope::gui
