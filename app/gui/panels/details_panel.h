#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QScrollArea>

class QGridLayout;
class QLabel;
class QToolButton;

namespace bubblescope::gui {

struct Fact;

/// All facts about the selected item, or about the step if nothing is selected. Less important facts are collapsed.
class DetailsPanel : public QScrollArea {
    Q_OBJECT

public:
    DetailsPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const;
    /// Value of the fact called `name`; empty if the fact is not shown.
    [[nodiscard]] QString value(const QString& name) const;

private:
    void refresh();
    void showFact(std::size_t row, const Fact& fact);
    void applyTheme();

    ViewState& state_;
    ThemeManager& themes_;
    QLabel* title_;
    QLabel* note_;
    QGridLayout* grid_;
    QToolButton* more_;
    std::vector<std::pair<QLabel*, QLabel*>> rows_; ///< widgets are reused; unused ones are hidden
};

} // namespace bubblescope::gui
