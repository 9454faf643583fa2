#pragma once

#include <QColor>
#include <QLabel>
#include <QObject>
#include <QPainter>
#include <QPointer>
#include <QString>

#include <functional>
#include <utility>
#include <vector>

class QDockWidget;
class QDoubleSpinBox;
class QFormLayout;
class QSpinBox;
class QTableView;
class QVBoxLayout;
class QWidget;

namespace bubblescope::gui {

/// A label that elides its text to its current width.
class ElidedLabel : public QLabel {
public:
    using QLabel::QLabel;

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setPen(palette().color(QPalette::WindowText));
        painter.drawText(contentsRect(), Qt::AlignLeft | Qt::AlignVCenter,
                         fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width()));
    }
};

/// Sets text that changes often, such as a count. The label keeps its size while the text fits and fills most of it,
/// because a new size would require a layout of the whole window. In a column, such a label needs an alignment.
inline void setSteadyText(QLabel& label, const QString& text) {
    if (label.text() == text) return;
    label.setText(text);
    const QSize wanted = label.sizeHint();
    const QSize held = label.minimumSize();
    const bool holds = held == label.maximumSize() && held.height() == wanted.height();
    if (holds && wanted.width() <= held.width() && 3 * held.width() <= 4 * wanted.width()) return;
    label.setFixedSize(wanted);
}

/// Adds rows with number boxes to a form; all boxes report changes in the same way.
struct FormFields {
    QFormLayout& form;
    std::function<void()> changed;

    /// `name` is the box's object name; the label is also its accessible name.
    [[nodiscard]] QSpinBox* count(const char* name, const QString& label, int low, int high, int value) const;
    /// A time in milliseconds, with a resolution of a microsecond.
    [[nodiscard]] QDoubleSpinBox* time(const char* name, const QString& label, double ms) const;
};

/// Delays filling a panel until it is visible. A change marks a hidden panel as stale, and the panel is filled once it
/// becomes visible. A watched run changes everything many times a second, and filling hidden tables would take most of
/// the time. Owned by its panel; GUI thread only.
class FillWhenVisible : public QObject {
public:
    /// `panel` becomes the parent. `fill` is not called before the first markStale().
    FillWhenVisible(QWidget& panel, std::function<void()> fill);

    /// The content of the panel has changed.
    void markStale();
    /// Fills a stale panel even if it is hidden, for callers that use its content.
    void fillNow();
    void fillIfVisible();
    /// True if the content is out of date.
    [[nodiscard]] bool stale() const { return stale_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    [[nodiscard]] bool isVisible() const;
    void watchDock();

    QWidget& panel_;
    std::function<void()> fill_;
    QPointer<QDockWidget> dock_; ///< the panel's dock
    bool stale_ = false;
};

/// A column layout for a widget's parts, without margins or spacing.
[[nodiscard]] QVBoxLayout* tightColumn(QWidget& widget);

/// A legend of colours as rich text for a label.
[[nodiscard]] QString colourKey(const std::vector<std::pair<QColor, QString>>& entries);

/// Lets a column fill the space that the others leave, but never less than `least` pixels: in a narrow table the other
/// columns are scrolled to.
void fillWithColumn(QTableView& table, int column, int least);

/// Applies the common style of tables: large cells, no grid, whole rows selected.
void styleTable(QTableView& table);

} // namespace bubblescope::gui
