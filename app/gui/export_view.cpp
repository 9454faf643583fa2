#include "app/gui/export_view.h"

#include "app/gui/timeline/timeline_view.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QFileInfo>
#include <QFontInfo>
#include <QImage>
#include <QMarginsF>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPdfWriter>
#include <QPixmap>
#include <QSaveFile>

#include <cmath>
#include <limits>

namespace bubblescope::gui {

namespace {

constexpr int kDpi = 96;
constexpr double kMillimetres = 25.4;

QString number(double value) {
    return QString::number(value, 'f', std::abs(value - std::round(value)) < 1e-3 ? 0 : 2);
}

QString rectText(const QRectF& rect) {
    return QStringLiteral("x=\"%1\" y=\"%2\" width=\"%3\" height=\"%4\"")
        .arg(number(rect.left()), number(rect.top()), number(rect.width()), number(rect.height()));
}

QString colourText(const char* name, const QColor& colour) {
    QString out = QStringLiteral(" %1=\"%2\"").arg(QLatin1String(name), colour.name());
    if (colour.alpha() < 255)
        out += QStringLiteral(" %1-opacity=\"%2\"").arg(QLatin1String(name), number(colour.alphaF()));
    return out;
}

QString dataUrl(const QImage& image) {
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return QStringLiteral("data:image/png;base64,") + QString::fromLatin1(png.toBase64());
}

} // namespace

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
            if (!rect.isEmpty()) add(QStringLiteral("<rect %1%2/>").arg(rectText(rect), paint()));
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
            add(QStringLiteral("<line x1=\"%1\" y1=\"%2\" x2=\"%3\" y2=\"%4\"%5/>")
                    .arg(number(line.x1()), number(line.y1()), number(line.x2()), number(line.y2()), stroke()));
        }
    }
    void drawLines(const QLine* lines, int count) override {
        for (int i = 0; i < count; ++i) {
            const QLineF line(lines[i]);
            drawLines(&line, 1);
        }
    }
    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
        QStringList list;
        for (int i = 0; i < count; ++i) {
            const QPointF point = transform().map(points[i]);
            list << number(point.x()) + QLatin1Char(',') + number(point.y());
        }
        const bool open = mode == PolylineMode;
        add(QStringLiteral("<%1 points=\"%2\"%3/>")
                .arg(open ? QStringLiteral("polyline") : QStringLiteral("polygon"), list.join(QLatin1Char(' ')),
                     open ? QStringLiteral(" fill=\"none\"") + stroke() : paint()));
    }
    void drawPath(const QPainterPath& path) override {
        for (const QPolygonF& polygon : path.toSubpathPolygons())
            drawPolygon(polygon.constData(), static_cast<int>(polygon.size()), WindingMode);
    }
    void drawPixmap(const QRectF& to, const QPixmap& pixmap, const QRectF& from) override {
        drawImage(to, pixmap.toImage(), from, Qt::AutoColor);
    }
    void drawImage(const QRectF& to, const QImage& image, const QRectF& from, Qt::ImageConversionFlags) override {
        add(QStringLiteral("<image %1 preserveAspectRatio=\"none\" href=\"%2\"/>")
                .arg(rectText(map(to)), dataUrl(image.copy(from.toRect()))));
    }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
        const QPointF place = transform().map(at);
        const QFont font = item.font();
        // A viewer may have other letters; the text keeps its width, so that it still fits where it was fitted.
        add(QStringLiteral(
                "<text x=\"%1\" y=\"%2\" font-family=\"%3, sans-serif\" font-size=\"%4\"%5%6 textLength=\"%7\" "
                "lengthAdjust=\"spacingAndGlyphs\">%8</text>")
                .arg(number(place.x()), number(place.y()), QFontInfo(font).family().toHtmlEscaped(),
                     number(font.pixelSize() > 0 ? font.pixelSize() : font.pointSizeF() * kDpi / 72),
                     font.bold() ? QStringLiteral(" font-weight=\"bold\"") : QString(),
                     colourText("fill", state->pen().color()), number(item.width()), item.text().toHtmlEscaped()));
    }

    [[nodiscard]] QString document(const QSize& size) const {
        return QStringLiteral("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%1\" height=\"%2\" viewBox=\"0 0 %1 "
                              "%2\">\n<defs>\n%3</defs>\n%4%5</svg>\n")
            .arg(QString::number(size.width()), QString::number(size.height()), definitions_, body_,
                 clip_.isNull() ? QString() : QStringLiteral("</g>\n"));
    }

private:
    [[nodiscard]] QTransform transform() const { return state->transform(); }
    [[nodiscard]] QRectF map(const QRectF& rect) const { return transform().mapRect(rect); }

    void add(const QString& element) {
        const QRectF clip = state->painter()->hasClipping() ? map(state->painter()->clipBoundingRect()) : QRectF();
        if (clip != clip_) {
            if (!clip_.isNull()) body_ += QStringLiteral("</g>\n");
            clip_ = clip;
            if (!clip_.isNull()) {
                const int id = ++ids_;
                definitions_ += QStringLiteral("<clipPath id=\"c%1\"><rect %2/></clipPath>\n")
                                    .arg(QString::number(id), rectText(clip_));
                body_ += QStringLiteral("<g clip-path=\"url(#c%1)\">\n").arg(id);
            }
        }
        body_ += element + QLatin1Char('\n');
    }

    [[nodiscard]] QString stroke() const {
        const QPen pen = state->pen();
        if (pen.style() == Qt::NoPen) return {};
        QString out = colourText("stroke", pen.color()) +
                      QStringLiteral(" stroke-width=\"%1\"").arg(number(std::max(1.0, pen.widthF())));
        if (pen.style() == Qt::DashLine) out += QStringLiteral(" stroke-dasharray=\"4 2\"");
        return out;
    }

    [[nodiscard]] QString paint() {
        const QBrush brush = state->brush();
        QString fill;
        if (brush.style() == Qt::NoBrush) {
            fill = QStringLiteral(" fill=\"none\"");
        } else if (brush.style() == Qt::TexturePattern) {
            fill = QStringLiteral(" fill=\"url(#p%1)\"").arg(patternOf(brush));
        } else {
            fill = colourText("fill", brush.color());
        }
        return fill + stroke();
    }

    int patternOf(const QBrush& brush) {
        const qint64 key = brush.texture().cacheKey();
        if (key == pattern_key_) return pattern_;
        pattern_key_ = key;
        pattern_ = ++ids_;
        const QSizeF size = brush.texture().deviceIndependentSize();
        const QRectF tile({0, 0}, size);
        definitions_ += QStringLiteral("<pattern id=\"p%1\" %2 patternUnits=\"userSpaceOnUse\"><image %2 href=\"%3\"/>"
                                       "</pattern>\n")
                            .arg(QString::number(pattern_), rectText(tile), dataUrl(brush.texture().toImage()));
        return pattern_;
    }

    QString definitions_;
    QString body_;
    QRectF clip_;
    int ids_ = 0;
    int pattern_ = 0;
    qint64 pattern_key_ = -1;
};

SvgDevice::SvgDevice(const QSize& size) : size_(size), engine_(std::make_unique<SvgEngine>()) {}

SvgDevice::~SvgDevice() = default;

QPaintEngine* SvgDevice::paintEngine() const {
    return engine_.get();
}

QByteArray SvgDevice::document() const {
    return engine_->document(size_).toUtf8();
}

int SvgDevice::metric(PaintDeviceMetric metric) const {
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
    case PdmDevicePixelRatioScaled: return static_cast<int>(devicePixelRatioFScale());
    }
    return 0;
}

namespace {

constexpr double kPngScale = 2;
constexpr int kPdfResolution = 96; ///< so that a pixel of the screen is one of the page

QByteArray asPng(TimelineView& view, const QSize& size) {
    QImage image((QSizeF(size) * kPngScale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(kPngScale);
    QPainter painter(&image);
    view.draw(painter);
    painter.end();
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return out;
}

QByteArray asPdf(TimelineView& view, const QSize& size) {
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(kPdfResolution);
    writer.setPageSize(QPageSize(QSizeF(size) * 72.0 / kPdfResolution, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    writer.setTitle(QStringLiteral("Bubblescope"));
    QPainter painter(&writer);
    view.draw(painter);
    painter.end();
    return out;
}

QByteArray asSvg(TimelineView& view, const QSize& size) {
    SvgDevice device(size);
    QPainter painter(&device);
    view.draw(painter);
    painter.end();
    return device.document();
}

} // namespace

Status exportView(TimelineView& view, const QString& name) {
    const QString ending = QFileInfo(name).suffix().toLower();
    const QSize size = view.viewport()->size();
    QByteArray bytes;
    if (ending == QLatin1String("png")) {
        bytes = asPng(view, size);
    } else if (ending == QLatin1String("pdf")) {
        bytes = asPdf(view, size);
    } else if (ending == QLatin1String("svg")) {
        bytes = asSvg(view, size);
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
