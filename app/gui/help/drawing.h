#pragma once

#include <QByteArray>
#include <QColor>
#include <QImage>
#include <QRectF>
#include <QString>

#include <vector>

namespace bubblescope::gui {

/// A drawing that our own SVG writer made: rectangles, lines, texts and hatching are all it knows. So the manual needs
/// no plug-in to show its drawings.
class Drawing {
public:
    /// Empty where the text is no such drawing.
    [[nodiscard]] static Drawing parse(const QByteArray& svg);

    [[nodiscard]] bool isEmpty() const { return size_.isEmpty() || marks_.empty(); }
    [[nodiscard]] QSizeF size() const { return size_; } ///< in logical pixels
    [[nodiscard]] std::size_t marks() const { return marks_.size(); }
    /// As wide as asked for, in device pixels.
    [[nodiscard]] QImage image(int width) const;

private:
    enum class Kind : std::uint8_t { Rect, Line, Text };
    struct Mark {
        Kind kind = Kind::Rect;
        QRectF where; ///< of a line: from its corner to the opposite one; of a text: its anchor on the base line
        QColor colour;
        bool hatched = false;
        double radius = 0; ///< of a rectangle's corners
        double font = 11;  ///< pixels
        bool bold = false;
        bool centred = false;
        QString text;
    };
    QSizeF size_;
    QColor hatch_ground_;
    QColor hatch_;
    std::vector<Mark> marks_;
    friend class DrawingReader;
};

} // namespace bubblescope::gui
