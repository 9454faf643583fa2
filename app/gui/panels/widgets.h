#pragma once

#include <QColor>
#include <QLabel>
#include <QMargins>
#include <QObject>
#include <QPainter>
#include <QPointer>
#include <QString>

#include <functional>
#include <initializer_list>
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

/// Sets the object name of a new object, for tests and saved layouts.
template <class Object>
Object* named(Object* object, const char* name) {
    object->setObjectName(QString::fromLatin1(name));
    return object;
}

/// Also sets the accessible name of a widget, for screen readers.
template <class Widget>
Widget* named(Widget* widget, const char* name, const QString& accessible) {
    widget->setAccessibleName(accessible);
    return named(widget, name);
}

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

/// Sets text that changes often, such as a count. To avoid laying out the complete window again, the label keeps its
/// size as long as the text fits and is not much shorter. In a column layout, the label needs an alignment.
inline void setSteadyText(QLabel& label, const QString& text) {
    if (label.text() == text) return;
    label.setText(text);
    const QSize wanted = label.sizeHint();
    const QSize held = label.minimumSize();
    const bool holds = held == label.maximumSize() && held.height() == wanted.height();
    if (holds && wanted.width() <= held.width() && 3 * held.width() <= 4 * wanted.width()) return;
    label.setFixedSize(wanted);
}

/// Adds rows with spin boxes to a form; all boxes call the same function on changes.
struct FormFields {
    QFormLayout& form;
    std::function<void()> changed;

    /// `name` is the object name of the box; `label` is also its accessible name.
    [[nodiscard]] QSpinBox* count(const char* name, const QString& label, int low, int high, int value) const;
    /// Adds a box for a time in milliseconds, with microsecond resolution.
    [[nodiscard]] QDoubleSpinBox* time(const char* name, const QString& label, double ms) const;
};

/// Delays filling a panel until it is visible. A change marks a hidden panel as stale, and the panel is filled when it
/// becomes visible. Watched runs change several times per second, and filling hidden tables would use most of the CPU
/// time. Owned by the panel; GUI thread only.
class FillWhenVisible : public QObject {
public:
    /// `panel` becomes the parent of this object. `fill` is not called before the first markStale().
    FillWhenVisible(QWidget& panel, std::function<void()> fill);

    /// Must be called when the content of the panel has changed.
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
    QPointer<QDockWidget> dock_; ///< dock that contains the panel
    bool stale_ = false;
};

/// Sets the margins of a new layout, and the spacing unless it is negative.
template <class Layout>
Layout* spaced(Layout* layout, const QMargins& margins, int spacing = -1) {
    layout->setContentsMargins(margins);
    if (spacing >= 0) layout->setSpacing(spacing);
    return layout;
}

/// Adds widgets to a box layout or a splitter.
template <class Box>
void addAll(Box& box, std::initializer_list<QWidget*> widgets) {
    for (QWidget* const widget : widgets)
        box.addWidget(widget);
}

/// Creates a column layout without margins or spacing for a widget.
[[nodiscard]] QVBoxLayout* tightColumn(QWidget& widget);

/// Returns a colour legend as rich text for a label.
[[nodiscard]] QString colourKey(const std::vector<std::pair<QColor, QString>>& entries);

/// Makes a column use the remaining width, but at least `least` pixels. A narrow table scrolls to show the other
/// columns.
void fillWithColumn(QTableView& table, int column, int least);

/// Applies the common table style: large cells, no grid, selection by row.
void styleTable(QTableView& table);

} // namespace bubblescope::gui
