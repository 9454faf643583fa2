#pragma once

#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

#include <vector>

class QHBoxLayout;
class QLabel;

namespace bubblescope::gui {

/// Legend for the colours that occur in the session.
class Legend : public QWidget {
    Q_OBJECT

public:
    explicit Legend(ThemeManager& themes, QWidget* parent = nullptr);

    void show(const Session* session);
    /// Selects the short form, with op letters instead of names.
    void setShort(bool on);
    /// Draws the legend at the origin in the size of sizeHint(), for image files.
    void draw(QPainter& painter) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Entry {
        Role role;
        QString text;
        QString brief;

        friend bool operator==(const Entry&, const Entry&) = default;
    };
    [[nodiscard]] const QString& textOf(const Entry& entry) const { return short_ ? entry.brief : entry.text; }
    [[nodiscard]] int chipWidth(const Entry& entry) const;
    [[nodiscard]] int entryWidth(const Entry& entry) const;
    /// Number of lines: two if a single line would make the window too wide. Entries are arranged in columns.
    [[nodiscard]] std::size_t lines() const;
    [[nodiscard]] int lineHeight() const;
    [[nodiscard]] int columnWidth(std::size_t column) const;

    ThemeManager& themes_;
    std::vector<Entry> entries_;
    int chunks_ = 1;
    bool short_ = false;
};

/// Bar above the timeline with the schedule, its bubbles, and the theoretical minimum. In a narrow window, the legend
/// is shortened, and the least important figures move to the tooltip of the schedule.
class SummaryBar : public QWidget {
    Q_OBJECT

public:
    SummaryBar(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// All figures as plain text, in the order shown.
    [[nodiscard]] QString text() const;
    [[nodiscard]] const Legend& legend() const { return *legend_; }
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    /// Emitted when the finding is clicked.
    void findingChosen();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

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
    /// Shortens and hides items for which there is not enough space.
    void fit();
    void elideFinding();
    void refreshFindings(const std::vector<Anomaly>& anomalies);
    void applyTheme();

    ViewState& state_;
    ThemeManager& themes_;
    std::vector<Figure> figures_;
    Legend* legend_;
    QString finding_;  ///< complete text; the label may be elided
    QString schedule_; ///< tooltips of schedule and step time, excluding the hidden figures
    QString wall_;
    std::weak_ptr<const Session> shown_;
    int shown_step_ = -1;
};

} // namespace bubblescope::gui
