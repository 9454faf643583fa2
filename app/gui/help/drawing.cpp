#include "app/gui/help/drawing.h"

#include <QPainter>
#include <QRegularExpression>
#include <QXmlStreamReader>

namespace bubblescope::gui {

namespace {

double numberOf(const QXmlStreamAttributes& attributes, const char* name, double otherwise = 0) {
    bool ok = false;
    const double value = attributes.value(QLatin1String(name)).toDouble(&ok);
    return ok ? value : otherwise;
}

} // namespace

class DrawingReader {
public:
    explicit DrawingReader(const QByteArray& svg) : xml_(svg) {}

    Drawing read() {
        while (!xml_.atEnd()) {
            switch (xml_.readNext()) {
            case QXmlStreamReader::StartElement: begin(); break;
            case QXmlStreamReader::EndElement:
                if (!styles_.empty()) styles_.pop_back();
                if (xml_.name() == QLatin1String("pattern")) in_pattern_ = false;
                break;
            default: break;
            }
        }
        return xml_.hasError() ? Drawing() : std::move(drawing_);
    }

private:
    /// Attributes that elements inherit.
    struct Inherited {
        QColor fill{Qt::black};
        QColor stroke;
        bool hatched = false;
        double font = 11;
        bool bold = false;
        bool centred = false;
    };

    static Inherited withOwn(Inherited style, const QXmlStreamAttributes& attributes) {
        const auto fill = attributes.value(QLatin1String("fill"));
        if (!fill.isEmpty()) {
            style.hatched = fill.startsWith(QLatin1String("url("));
            if (!style.hatched) style.fill = QColor(fill.toString());
        }
        if (attributes.hasAttribute(QLatin1String("stroke")))
            style.stroke = QColor(attributes.value(QLatin1String("stroke")).toString());
        style.font = numberOf(attributes, "font-size", style.font);
        if (attributes.hasAttribute(QLatin1String("font-weight"))) style.bold = true;
        if (attributes.hasAttribute(QLatin1String("text-anchor"))) style.centred = true;
        return style;
    }

    void begin() {
        const QXmlStreamAttributes attributes = xml_.attributes();
        const Inherited style = withOwn(styles_.empty() ? Inherited() : styles_.back(), attributes);
        const auto name = xml_.name();
        styles_.push_back(style);
        if (name == QLatin1String("svg")) {
            drawing_.size_ = {numberOf(attributes, "width"), numberOf(attributes, "height")};
        } else if (name == QLatin1String("pattern")) {
            in_pattern_ = true;
        } else if (name == QLatin1String("rect")) {
            if (in_pattern_) return addHatch(style);
            Drawing::Mark& mark = add(Drawing::Kind::Rect, attributes, style);
            mark.where.setSize({numberOf(attributes, "width"), numberOf(attributes, "height")});
            mark.radius = numberOf(attributes, "rx");
        } else if (name == QLatin1String("line")) {
            Drawing::Mark& mark = add(Drawing::Kind::Line, attributes, style);
            mark.colour = style.stroke;
            mark.where = {QPointF(numberOf(attributes, "x1"), numberOf(attributes, "y1")),
                          QPointF(numberOf(attributes, "x2"), numberOf(attributes, "y2"))};
        } else if (name == QLatin1String("text")) {
            Drawing::Mark mark = add(Drawing::Kind::Text, attributes, style);
            drawing_.marks_.pop_back();
            mark.text = xml_.readElementText(QXmlStreamReader::SkipChildElements);
            styles_.pop_back(); // end of an element
            drawing_.marks_.push_back(std::move(mark));
        } else if (name == QLatin1String("path")) {
            addBars(attributes.value(QLatin1String("d")).toString(), style);
        }
    }

    Drawing::Mark& add(Drawing::Kind kind, const QXmlStreamAttributes& attributes, const Inherited& style) {
        Drawing::Mark& mark = drawing_.marks_.emplace_back();
        mark.kind = kind;
        mark.where.moveTo(numberOf(attributes, "x"), numberOf(attributes, "y"));
        mark.colour = style.fill;
        mark.hatched = style.hatched;
        mark.font = style.font;
        mark.bold = style.bold;
        mark.centred = style.centred;
        return mark;
    }

    /// A pattern is a background and a stripe.
    void addHatch(const Inherited& style) {
        (drawing_.hatch_background_.isValid() ? drawing_.hatch_ : drawing_.hatch_background_) = style.fill;
    }

    /// A path is a list of rectangles, as in M1 2h3v4h-3z.
    void addBars(const QString& path, const Inherited& style) {
        static const QRegularExpression bar(
            QStringLiteral("M(-?[\\d.]+)[ ,](-?[\\d.]+)h(-?[\\d.]+)v(-?[\\d.]+)h-?[\\d.]+z"));
        for (auto found = bar.globalMatch(path); found.hasNext();) {
            const auto match = found.next();
            Drawing::Mark& mark = add(Drawing::Kind::Rect, {}, style);
            mark.where = {match.captured(1).toDouble(), match.captured(2).toDouble(), match.captured(3).toDouble(),
                          match.captured(4).toDouble()};
        }
    }

    QXmlStreamReader xml_;
    std::vector<Inherited> styles_;
    Drawing drawing_;
    bool in_pattern_ = false;
};

Drawing Drawing::parse(const QByteArray& svg) {
    return DrawingReader(svg).read();
}

QImage Drawing::image(int width) const {
    const double scale = width / size_.width();
    QImage image(width, std::max(1, qRound(size_.height() * scale)), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(scale, scale);
    QFont font = painter.font();
    for (const Mark& mark : marks_) {
        switch (mark.kind) {
        case Kind::Rect:
            painter.setPen(Qt::NoPen);
            painter.setBrush(mark.hatched ? hatch_background_ : mark.colour);
            painter.drawRoundedRect(mark.where, mark.radius, mark.radius);
            if (!mark.hatched) break;
            painter.setBrush(QBrush(hatch_, Qt::BDiagPattern));
            painter.drawRect(mark.where);
            break;
        case Kind::Line:
            painter.setPen(QPen(mark.colour, 1));
            painter.drawLine(mark.where.topLeft(), mark.where.bottomRight());
            break;
        case Kind::Text: {
            font.setPixelSize(std::max(1, qRound(mark.font)));
            font.setBold(mark.bold);
            painter.setFont(font);
            painter.setPen(mark.colour);
            const double shift = mark.centred ? QFontMetricsF(font).horizontalAdvance(mark.text) / 2 : 0;
            painter.drawText(mark.where.topLeft() - QPointF(shift, 0), mark.text);
            break;
        }
        }
    }
    return image;
}

} // namespace bubblescope::gui
