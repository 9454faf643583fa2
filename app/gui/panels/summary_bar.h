#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme_manager.h"

#include <QWidget>

class QHBoxLayout;
class QLabel;

namespace bubblescope::gui {

class Legend;

/// One line over the timeline: what ran, how large its bubbles are and what theory allows.
class SummaryBar : public QWidget {
    Q_OBJECT

public:
    SummaryBar(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// All figures as plain text, in the order shown.
    [[nodiscard]] QString text() const;

signals:
    /// The finding was clicked.
    void findingChosen();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Figure {
        QLabel* name;
        QLabel* value;
        QWidget* box;
    };
    Figure addFigure(QHBoxLayout& row);
    void set(const Figure& figure, const QString& name, const QString& value, const QString& explanation = {});
    void refresh();
    void refreshSchedule(const Session& session);
    void refreshStep(const Session& session);
    void elideFinding();
    void refreshFindings(const std::vector<Anomaly>& anomalies);
    void applyTheme();

    ViewState& state_;
    ThemeManager& themes_;
    std::vector<Figure> figures_;
    Legend* legend_;
    QString finding_; ///< in full; the label may have room for less
    std::weak_ptr<const Session> shown_;
    int shown_step_ = -1;
};

} // namespace bubblescope::gui
