#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/account_pieces.h"

#include <QWidget>

#include <optional>
#include <vector>

class QComboBox;
class QLabel;

namespace bubblescope::gui {

class BarChart;
class FillWhenVisible;

/// A part of a bar: a piece of the accounting, or nullopt for the wait for other replicas at the end of the step.
using ShownPiece = std::optional<AccountPiece>;

/// Chart of how the ranks spend their time: one bar per rank for the current step, or one bar per step for one rank or
/// all ranks. A click on a piece highlights its intervals on the timeline.
class AccountingPanel : public QWidget {
    Q_OBJECT

public:
    AccountingPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// Updates the chart if the panel is hidden, and returns the chart.
    [[nodiscard]] BarChart& chart();

private:
    /// Content of a bar: a step with one rank or all ranks.
    struct Row {
        int step = 0;
        std::optional<int> rank;
    };
    [[nodiscard]] bool bySteps() const;
    void refresh();
    void showSession();
    void showStep();
    void fill();
    void showLegend();
    void choose(int bar, int part);
    void stopWaiting();
    void describe();
    [[nodiscard]] TimeNs timeIn(const Row& row, const ShownPiece& piece) const;
    [[nodiscard]] TimeRange waitOf(int step, Rank rank) const;
    [[nodiscard]] ShownPiece pieceOf(int bar, int part) const;
    [[nodiscard]] QString toolTipOf(int bar, int part) const;

    ViewState& state_;
    ThemeManager& themes_;
    BarChart* chart_;
    QComboBox* view_;
    QLabel* note_;
    QLabel* legend_;
    FillWhenVisible* fill_;
    std::vector<Row> rows_;
    std::weak_ptr<const Session> shown_;
    int shown_step_ = -1;
    /// A clicked piece, stored until the diagnosis of its step is available.
    struct Choice {
        int bar = 0;
        int part = 0;
    };
    std::optional<Choice> waiting_;
};

/// Name such as "forward", "exposed communication" or "waiting for replicas".
[[nodiscard]] QString pieceText(const ShownPiece& piece);

} // namespace bubblescope::gui
