#pragma once

#include <QLabel>
#include <QObject>
#include <QPainter>
#include <QPointer>
#include <QString>

#include <functional>

class QDockWidget;
class QDoubleSpinBox;
class QFormLayout;
class QSpinBox;
class QWidget;

namespace bubblescope::gui {

/// A line of text that is cut short where it does not fit, at any width that the label comes to have.
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

/// Sets a text that changes all the time, such as a count: the label keeps its size while the text fits and does not
/// leave much of it empty. Another size would have the whole window laid out anew. In a column such a label needs an
/// alignment.
inline void setSteadyText(QLabel& label, const QString& text) {
    if (label.text() == text) return;
    label.setText(text);
    const QSize wanted = label.sizeHint();
    const QSize held = label.minimumSize();
    const bool holds = held == label.maximumSize() && held.height() == wanted.height();
    if (holds && wanted.width() <= held.width() && 3 * held.width() <= 4 * wanted.width()) return;
    label.setFixedSize(wanted);
}

/// Adds rows with boxes for numbers to a form, all of which tell of a change in the same way.
struct FormFields {
    QFormLayout& form;
    std::function<void()> changed;

    /// `name` is the box's object name; the label is also what screen readers say.
    [[nodiscard]] QSpinBox* count(const char* name, const QString& label, int low, int high, int value) const;
    /// Milliseconds, to the microsecond.
    [[nodiscard]] QDoubleSpinBox* time(const char* name, const QString& label, double ms) const;
};

/// Fills a panel anew when what it shows has changed, while somebody can see it. Behind another tab, or closed, that is
/// only noted, and made up for when the panel comes into sight: a run that is watched changes everything many times a
/// second, and filling tables that nobody sees would take most of it. Lives with its panel, on the GUI thread.
class FillWhenSeen : public QObject {
public:
    /// `panel` becomes the parent. `fill` is not called before ask().
    FillWhenSeen(QWidget& panel, std::function<void()> fill);

    /// What the panel shows has changed.
    void ask();
    /// Makes up for what was put off: for who reads the panel, or has it do something, unseen.
    void settle();
    /// Whether what the panel holds is of the past.
    [[nodiscard]] bool due() const { return due_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    [[nodiscard]] bool seen() const;
    void watchDock();

    QWidget& panel_;
    std::function<void()> fill_;
    QPointer<QDockWidget> dock_; ///< that the panel lies in
    bool due_ = false;
};

} // namespace bubblescope::gui
