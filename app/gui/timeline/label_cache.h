#pragma once

#include <QFont>
#include <QHash>
#include <QStaticText>
#include <QString>

class QPainter;

namespace bubblescope::gui {

/// Short texts as they are drawn in one font, laid out once: laying out takes ten times as long as drawing, and panning
/// draws the same names in every frame.
class LabelCache {
public:
    /// Forgets all where the font is another one.
    void setFont(const QFont& font);
    [[nodiscard]] const QFont& font() const { return font_; }

    /// One line, in the middle of `box`, or at its left end. The painter must have this font.
    void draw(QPainter& painter, const QRectF& box, const QString& text, bool centred = true);
    [[nodiscard]] qsizetype size() const { return texts_.size(); }

private:
    QFont font_;
    QHash<QString, QStaticText> texts_;
};

} // namespace bubblescope::gui
