#pragma once

#include <QLabel>

namespace bubblescope::gui {

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

} // namespace bubblescope::gui
