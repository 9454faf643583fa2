#include "app/gui/svg_device.h"

#include "core/base/text.h"
#include "core/report/svg/document.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QFontInfo>
#include <QImage>
#include <QPainterPath>
#include <QPixmap>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace bubblescope::gui {

namespace {

svg::Rect toSvg(const QRectF& rect) {
    return {rect.left(), rect.top(), rect.width(), rect.height()};
}

std::string rectText(const QRectF& rect) {
    return fmt::format(R"(x="{}" y="{}" width="{}" height="{}")", svg::number(rect.left()), svg::number(rect.top()),
                       svg::number(rect.width()), svg::number(rect.height()));
}

/// The attribute `name` for a colour, and its opacity.
std::string colourText(std::string_view name, const QColor& colour) {
    std::string out = fmt::format(R"({}="{}")", name, colour.name().toStdString());
    if (colour.alpha() < 255) out += fmt::format(R"( {}-opacity="{}")", name, svg::number(colour.alphaF()));
    return out;
}

/// Joins attributes, some of which may be empty, with blanks.
std::string joined(std::initializer_list<std::string> attributes) {
    std::string out;
    for (const std::string& attribute : attributes) {
        if (attribute.empty()) continue;
        if (!out.empty()) out += ' ';
        out += attribute;
    }
    return out;
}

std::string dataUrl(const QImage& image) {
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return "data:image/png;base64," + png.toBase64().toStdString();
}

} // namespace

/// Writes elements as they are drawn, in the device's coordinates.
class SvgDevice::Engine : public PageEngine {
public:
    using QPaintEngine::drawLines;
    using QPaintEngine::drawRects;
    void drawRects(const QRectF* rects, int count) override {
        for (int i = 0; i < count; ++i) {
            const QRectF rect = map(rects[i]);
            if (!rect.isEmpty()) body().rect(toSvg(rect), {}, paint());
        }
    }
    void drawLines(const QLineF* lines, int count) override {
        for (int i = 0; i < count; ++i) {
            const QLineF line = transform().map(lines[i]);
            body().line(line.x1(), line.y1(), line.x2(), line.y2(), stroke());
        }
    }
    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
        std::string list;
        for (int i = 0; i < count; ++i) {
            const QPointF point = transform().map(points[i]);
            list += fmt::format("{}{},{}", i == 0 ? "" : " ", svg::number(point.x()), svg::number(point.y()));
        }
        const bool open = mode == PolylineMode;
        body().empty(open ? "polyline" : "polygon", joined({fmt::format(R"(points="{}")", list),
                                                            open ? R"(fill="none")" : "", open ? stroke() : paint()}));
    }
    void drawPixmap(const QRectF& to, const QPixmap& pixmap, const QRectF& from) override {
        drawImage(to, pixmap.toImage(), from, Qt::AutoColor);
    }
    void drawImage(const QRectF& to, const QImage& image, const QRectF& from, Qt::ImageConversionFlags) override {
        body().empty("image", fmt::format(R"({} preserveAspectRatio="none" href="{}")", rectText(map(to)),
                                          dataUrl(image.copy(from.toRect()))));
    }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
        const QPointF place = transform().map(at);
        const QFont font = item.font();
        const double size = pixelSize(font);
        // Viewers may have different fonts, so the width of the text is fixed.
        body().text(
            place.x(), place.y(), item.text().toStdString(),
            joined({fmt::format(R"(font-family="{}, sans-serif" font-size="{}")",
                                escapeXml(QFontInfo(font).family().toStdString()), svg::number(size)),
                    font.bold() ? R"(font-weight="bold")" : "", colourText("fill", state->pen().color()),
                    fmt::format(R"(textLength="{}" lengthAdjust="spacingAndGlyphs")", svg::number(item.width()))}));
    }

    [[nodiscard]] QByteArray takeDocument(const QSize& size) {
        clipTo({});
        svg::Document whole;
        whole.open("svg",
                   fmt::format(R"(xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}")",
                               size.width(), size.height()));
        whole.open("defs");
        const std::string text = whole.take() + definitions_.take() + "</defs>\n" + body_.take() + "</svg>\n";
        return QByteArray::fromStdString(text);
    }

private:
    [[nodiscard]] QTransform transform() const { return state->transform(); }
    [[nodiscard]] QRectF map(const QRectF& rect) const { return transform().mapRect(rect); }

    /// Parent of the next element, which is a group with the painter's clip.
    svg::Document& body() {
        clipTo(state->painter()->hasClipping() ? map(state->painter()->clipBoundingRect()) : QRectF());
        return body_;
    }

    /// An empty rectangle means no clip.
    void clipTo(const QRectF& clip) {
        if (clip == clip_) return;
        if (!clip_.isNull()) body_.close("g");
        clip_ = clip;
        if (clip_.isNull()) return;
        const int id = ++ids_;
        definitions_.open("clipPath", fmt::format(R"(id="c{}")", id));
        definitions_.rect(toSvg(clip_));
        definitions_.close("clipPath");
        body_.open("g", fmt::format(R"svg(clip-path="url(#c{})")svg", id));
    }

    [[nodiscard]] std::string stroke() const {
        const QPen pen = state->pen();
        if (pen.style() == Qt::NoPen) return {};
        return joined({colourText("stroke", pen.color()),
                       fmt::format(R"(stroke-width="{}")", svg::number(std::max(1.0, pen.widthF()))),
                       pen.style() == Qt::DashLine ? R"(stroke-dasharray="4 2")" : ""});
    }

    [[nodiscard]] std::string paint() {
        const QBrush brush = state->brush();
        std::string fill;
        if (brush.style() == Qt::NoBrush) {
            fill = R"(fill="none")";
        } else if (brush.style() == Qt::BDiagPattern) {
            fill = fmt::format(R"svg(fill="url(#p{})")svg", hatchOf(brush.color()));
        } else if (brush.style() == Qt::TexturePattern) {
            fill = fmt::format(R"svg(fill="url(#p{})")svg", patternOf(brush));
        } else {
            fill = colourText("fill", brush.color());
        }
        return joined({fill, stroke()});
    }

    /// The pattern of lines from lower left to upper right.
    int hatchOf(const QColor& colour) {
        if (hatch_ != 0 && colour == hatch_colour_) return hatch_;
        hatch_colour_ = colour;
        hatch_ = ++ids_;
        definitions_.open("pattern",
                          fmt::format(R"(id="p{}" width="8" height="8" patternUnits="userSpaceOnUse")", hatch_));
        definitions_.empty("path", fmt::format(R"(d="M-2,2 2,-2 M0,8 8,0 M6,10 10,6" stroke-width="1.2" {})",
                                               colourText("stroke", colour)));
        definitions_.close("pattern");
        return hatch_;
    }

    int patternOf(const QBrush& brush) {
        const qint64 key = brush.texture().cacheKey();
        if (key == pattern_key_) return pattern_;
        pattern_key_ = key;
        pattern_ = ++ids_;
        const std::string tile = rectText(QRectF({0, 0}, brush.texture().deviceIndependentSize()));
        definitions_.open("pattern", fmt::format(R"(id="p{}" {} patternUnits="userSpaceOnUse")", pattern_, tile));
        definitions_.empty("image", fmt::format(R"({} href="{}")", tile, dataUrl(brush.texture().toImage())));
        definitions_.close("pattern");
        return pattern_;
    }

    svg::Document definitions_;
    svg::Document body_;
    QRectF clip_;
    int ids_ = 0;
    int pattern_ = 0;
    qint64 pattern_key_ = -1;
    int hatch_ = 0;
    QColor hatch_colour_;
};

SvgDevice::SvgDevice(const QSize& size) : PageDevice(size), engine_(std::make_unique<Engine>()) {}

SvgDevice::~SvgDevice() = default;

QPaintEngine* SvgDevice::paintEngine() const {
    return engine_.get();
}

QByteArray SvgDevice::takeDocument() {
    return engine_->takeDocument(size_);
}

} // namespace bubblescope::gui
