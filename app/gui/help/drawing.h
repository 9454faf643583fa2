#pragma once

#include <QByteArray>
#include <QColor>
#include <QImage>
#include <QRectF>
#include <QString>

#include <vector>

namespace bubblescope::gui {

/// A drawing made by our own SVG writer: rectangles, lines, texts and hatching. Other SVG is not supported; in return
/// the manual's drawings need no plug-in.
class Drawing {
public:
    /// Empty if the text is not such a drawing.
    [[nodiscard]] static Drawing parse(const QByteArray& svg);

    [[nodiscard]] bool isEmpty() const { return size_.isEmpty() || marks_.empty(); }
    [[nodiscard]] QSizeF size() const { return size_; } ///< in logical pixels
    [[nodiscard]] std::size_t marks() const { return marks_.size(); }
    /// Rendered with this width, in device pixels.
    [[nodiscard]] QImage image(int width) const;

private:
    enum class Kind : std::uint8_t { Rect, Line, Text };
    struct Mark {
        Kind kind = Kind::Rect;
        QRectF where; ///< of a line: from its start to its end; of a text: its anchor on the baseline
        QColor colour;
        bool hatched = false;
        double radius = 0; ///< of a rectangle's corners
        double font = 11;  ///< pixels
        bool bold = false;
        bool centred = false;
        QString text;
    };
    QSizeF size_;
    QColor hatch_background_;
    QColor hatch_;
    std::vector<Mark> marks_;
    friend class DrawingReader;
};

} // namespace bubblescope::gui
