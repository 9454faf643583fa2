#include "app/gui/export_view.h"

#include "app/gui/panels/summary_bar.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/base/text.h"
#include "core/report/svg/document.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QFileInfo>
#include <QFontInfo>
#include <QImage>
#include <QMarginsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPdfWriter>
#include <QPixmap>
#include <QRegularExpression>
#include <QSaveFile>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace bubblescope::gui {

namespace {

constexpr int kDpi = 96;
constexpr double kMillimetres = 25.4;

svg::Rect toSvg(const QRectF& rect) {
    return {rect.left(), rect.top(), rect.width(), rect.height()};
}

std::string rectText(const QRectF& rect) {
    return fmt::format(R"(x="{}" y="{}" width="{}" height="{}")", svg::number(rect.left()), svg::number(rect.top()),
                       svg::number(rect.width()), svg::number(rect.height()));
}

/// The attribute `name` with a colour, and its opacity.
std::string colourText(std::string_view name, const QColor& colour) {
    std::string out = fmt::format(R"({}="{}")", name, colour.name().toStdString());
    if (colour.alpha() < 255) out += fmt::format(R"( {}-opacity="{}")", name, svg::number(colour.alphaF()));
    return out;
}

/// Joins attributes with blanks; some of them may be empty.
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

/// Writes elements as they are drawn, in the device's coordinates.
class SvgEngine : public QPaintEngine {
public:
    SvgEngine() : QPaintEngine(AllFeatures) {}

    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    [[nodiscard]] Type type() const override { return User; }
    void updateState(const QPaintEngineState&) override {}

    void drawRects(const QRectF* rects, int count) override {
        for (int i = 0; i < count; ++i) {
            const QRectF rect = map(rects[i]);
            if (!rect.isEmpty()) body().rect(toSvg(rect), {}, paint());
        }
    }
    void drawRects(const QRect* rects, int count) override {
        for (int i = 0; i < count; ++i) {
            const QRectF rect(rects[i]);
            drawRects(&rect, 1);
        }
    }
    void drawLines(const QLineF* lines, int count) override {
        for (int i = 0; i < count; ++i) {
            const QLineF line = transform().map(lines[i]);
            body().line(line.x1(), line.y1(), line.x2(), line.y2(), stroke());
        }
    }
    void drawLines(const QLine* lines, int count) override {
        for (int i = 0; i < count; ++i) {
            const QLineF line(lines[i]);
            drawLines(&line, 1);
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
    void drawPath(const QPainterPath& path) override {
        for (const QPolygonF& polygon : path.toSubpathPolygons())
            drawPolygon(polygon.constData(), static_cast<int>(polygon.size()), WindingMode);
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
        const double size = font.pixelSize() > 0 ? font.pixelSize() : font.pointSizeF() * kDpi / 72;
        // A viewer may have other fonts; the text keeps its width, so that it still fits.
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

    /// The parent of the next element: a group with the painter's clip.
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
        } else if (brush.style() == Qt::TexturePattern) {
            fill = fmt::format(R"svg(fill="url(#p{})")svg", patternOf(brush));
        } else {
            fill = colourText("fill", brush.color());
        }
        return joined({fill, stroke()});
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
};

/// Records what a QPainter draws as an SVG document: rectangles, lines, polygons, paths, texts, pixmaps, hatched
/// backgrounds and rectangular clips. Qt's QSvgGenerator drops clips and textures before Qt 6.7, and writes a group of
/// attributes for every rectangle.
class SvgDevice : public QPaintDevice {
public:
    /// In pixels of 1/96 inch.
    explicit SvgDevice(const QSize& size) : size_(size) {}

    [[nodiscard]] QPaintEngine* paintEngine() const override { return &engine_; }
    /// Returns the document once the painter has ended.
    [[nodiscard]] QByteArray takeDocument() { return engine_.takeDocument(size_); }

protected:
    int metric(PaintDeviceMetric metric) const override {
        switch (metric) {
        case PdmWidth: return size_.width();
        case PdmHeight: return size_.height();
        case PdmWidthMM: return static_cast<int>(size_.width() * kMillimetres / kDpi);
        case PdmHeightMM: return static_cast<int>(size_.height() * kMillimetres / kDpi);
        case PdmNumColors: return std::numeric_limits<int>::max();
        case PdmDepth: return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY: return kDpi;
        case PdmDevicePixelRatio: return 1;
        default: return QPaintDevice::metric(metric); // further forms of the ratio
        }
    }

private:
    QSize size_;
    mutable SvgEngine engine_; ///< a painter requests the engine from a constant device, and changes it
};

constexpr double kPngScale = 2;
constexpr int kPdfResolution = 96; ///< one pixel of the screen is one of the page

constexpr int kMargin = 12;

/// The size of the parts around the timeline, and of the whole.
struct PictureLayout {
    int header = 0;
    int footer = 0;
    QSize whole;
};

QFont pictureTitleFont(const QFont& font) {
    QFont title = font;
    title.setBold(true);
    return title;
}

PictureLayout layoutOf(const TimelineView& view, const PictureFrame& frame) {
    PictureLayout layout;
    const QSize inner = view.viewport()->size();
    if (frame.theme != nullptr) {
        layout.header =
            QFontMetrics(pictureTitleFont(view.font())).height() + QFontMetrics(view.font()).height() + kMargin;
        if (frame.legend != nullptr) layout.footer = frame.legend->sizeHint().height() + kMargin;
    }
    layout.whole = {inner.width(), inner.height() + layout.header + layout.footer};
    return layout;
}

void drawPicture(QPainter& painter, TimelineView& view, const PictureFrame& frame) {
    const PictureLayout layout = layoutOf(view, frame);
    if (frame.theme != nullptr) {
        painter.fillRect(QRect(QPoint(0, 0), layout.whole), frame.theme->header);
        const int width = layout.whole.width() - 2 * kMargin;
        const auto line = [&](const QFont& font, const QColor& colour, int top, const QString& text) {
            const QFontMetrics metrics(font);
            painter.setFont(font);
            painter.setPen(colour);
            painter.drawText(QRect(kMargin, top, width, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                             metrics.elidedText(text, Qt::ElideRight, width));
            return top + metrics.height();
        };
        const int next = line(pictureTitleFont(view.font()), frame.theme->text, kMargin / 2, frame.title);
        line(view.font(), frame.theme->text_dim, next, frame.subtitle);
        if (frame.legend != nullptr) {
            painter.save();
            painter.setFont(view.font());
            painter.translate(kMargin, layout.whole.height() - layout.footer + kMargin / 2);
            frame.legend->draw(painter);
            painter.restore();
        }
    }
    painter.translate(0, layout.header);
    painter.setClipRect(view.viewport()->rect());
    view.draw(painter);
}

QByteArray asPng(TimelineView& view, const PictureFrame& frame) {
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    pictureOf(view, frame).save(&buffer, "PNG");
    return out;
}

QByteArray asPdf(TimelineView& view, const PictureFrame& frame) {
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(kPdfResolution);
    writer.setPageSize(QPageSize(QSizeF(layoutOf(view, frame).whole) * 72.0 / kPdfResolution, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    writer.setTitle(frame.title.isEmpty() ? QStringLiteral("Bubblescope") : frame.title);
    QPainter painter(&writer);
    drawPicture(painter, view, frame);
    painter.end();
    return out;
}

QByteArray asSvg(TimelineView& view, const PictureFrame& frame) {
    SvgDevice device(layoutOf(view, frame).whole);
    QPainter painter(&device);
    drawPicture(painter, view, frame);
    painter.end();
    return device.takeDocument();
}

} // namespace

QImage pictureOf(TimelineView& view, const PictureFrame& frame) {
    QImage image((QSizeF(layoutOf(view, frame).whole) * kPngScale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(kPngScale);
    QPainter painter(&image);
    drawPicture(painter, view, frame);
    return image;
}

QString suggestedPictureName(const QString& trace, std::optional<int> step) {
    QString name = trace.section(QLatin1Char('.'), 0, 0);
    static const QRegularExpression odd(QStringLiteral("[^\\w-]+"), QRegularExpression::UseUnicodePropertiesOption);
    name.replace(odd, QStringLiteral("-"));
    if (name.isEmpty()) name = QStringLiteral("timeline");
    return step ? QStringLiteral("%1-step-%2.png").arg(name).arg(*step) : name + QStringLiteral(".png");
}

Status exportView(TimelineView& view, const QString& name, const PictureFrame& frame) {
    const QString ending = QFileInfo(name).suffix().toLower();
    QByteArray bytes;
    if (ending == QLatin1String("png")) {
        bytes = asPng(view, frame);
    } else if (ending == QLatin1String("pdf")) {
        bytes = asPdf(view, frame);
    } else if (ending == QLatin1String("svg")) {
        bytes = asSvg(view, frame);
    } else {
        return usageError(fmt::format("cannot tell a kind of picture from '{}'", name.toStdString()),
                          "end the file's name with .png, .svg or .pdf");
    }
    QSaveFile file(name);
    if (!bytes.isEmpty() && file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit())
        return {};
    return runError(fmt::format("cannot write {}: {}", name.toStdString(), file.errorString().toStdString()),
                    "choose another place");
}

} // namespace bubblescope::gui
