#include "app/gui/tikz_device.h"

#include "core/report/table_formats.h"

#include <fmt/format.h>

#include <QColor>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <map>
#include <string>

namespace bubblescope::gui {

namespace {

constexpr double kPointsPerPixel = 72.27 / PageDevice::kDpi; ///< TeX's points

} // namespace

/// Writes commands as they are drawn. The y axis of TikZ points up.
class TikzDevice::Engine : public PageEngine {
public:
    explicit Engine(int height) : height_(height) {}

    using QPaintEngine::drawLines;
    using QPaintEngine::drawRects;
    void drawRects(const QRectF* rects, int count) override {
        for (int i = 0; i < count; ++i) {
            const QRectF rect = state->transform().mapRect(rects[i]);
            if (!rect.isEmpty())
                draw(fmt::format("{} rectangle {}", point(rect.bottomLeft()), point(rect.topRight())), true);
        }
    }
    void drawLines(const QLineF* lines, int count) override {
        for (int i = 0; i < count; ++i) {
            const QLineF line = state->transform().map(lines[i]);
            draw(fmt::format("{} -- {}", point(line.p1()), point(line.p2())), false);
        }
    }
    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
        std::string path;
        for (int i = 0; i < count; ++i)
            path += (i == 0 ? "" : " -- ") + point(state->transform().map(points[i]));
        const bool closed = mode != PolylineMode;
        draw(closed ? path + " -- cycle" : path, closed);
    }
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override { bitmaps_ = true; }
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override { bitmaps_ = true; }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
        clip();
        const double size = pixelSize(item.font()) * kPointsPerPixel;
        body_ += fmt::format(
            "\\node[anchor=base west,inner sep=0,text={},font=\\fontsize{{{:.1f}pt}}{{{:.1f}pt}}\\selectfont{}] at {} "
            "{{{}}};\n",
            colour(state->pen().color()), size, 1.2 * size, item.font().bold() ? "\\bfseries" : "",
            point(state->transform().map(at)), report::latexText(item.text().toStdString()));
    }

    [[nodiscard]] bool hasBitmaps() const { return bitmaps_; }
    [[nodiscard]] QByteArray take(const QSize& size) {
        if (clipped_) body_ += "\\end{scope}\n";
        std::string out =
            "% \\usepackage{tikz} and \\usetikzlibrary{patterns} in the preamble, then \\input this file.\n";
        for (const auto& [rgb, name] : colours_)
            out += fmt::format("\\definecolor{{{}}}{{HTML}}{{{:06X}}}\n", name, rgb);
        out += "\\begin{tikzpicture}[x=1bp,y=1bp]\n";
        out += fmt::format("\\useasboundingbox (0,0) rectangle ({:.2f},{:.2f});\n", scaled(size.width()),
                           scaled(size.height()));
        return QByteArray::fromStdString(out + body_ + "\\end{tikzpicture}\n");
    }

private:
    /// In PostScript points, which TikZ calls "bp".
    [[nodiscard]] static double scaled(double pixels) { return pixels * 72 / kDpi; }
    [[nodiscard]] std::string point(const QPointF& at) const {
        return fmt::format("({:.2f},{:.2f})", scaled(at.x()), scaled(height_ - at.y()));
    }

    std::string colour(const QColor& of) {
        const auto [known, added] = colours_.try_emplace(of.rgb() & 0xffffffU);
        if (added) known->second = fmt::format("bsc{}", colours_.size());
        return known->second;
    }
    static std::string opacity(const char* name, const QColor& of) {
        return of.alpha() == 255 ? std::string() : fmt::format(",{}={:.2f}", name, of.alphaF());
    }

    void clip() {
        const QPainter& painter = *state->painter();
        const QRectF wanted = painter.hasClipping() ? state->transform().mapRect(painter.clipBoundingRect()) : QRectF();
        if (wanted == clip_) return;
        if (clipped_) body_ += "\\end{scope}\n";
        clip_ = wanted;
        clipped_ = !wanted.isNull();
        if (clipped_)
            body_ += fmt::format("\\begin{{scope}}\n\\clip {} rectangle {};\n", point(clip_.bottomLeft()),
                                 point(clip_.topRight()));
    }

    void draw(const std::string& path, bool closed) {
        clip();
        const QBrush brush = state->brush();
        if (closed && brush.style() == Qt::TexturePattern) bitmaps_ = true;
        if (closed && brush.style() == Qt::BDiagPattern)
            body_ +=
                fmt::format("\\fill[pattern=north east lines,pattern color={}] {};\n", colour(brush.color()), path);
        else if (closed && brush.style() != Qt::NoBrush)
            body_ += fmt::format("\\fill[{}{}] {};\n", colour(brush.color()), opacity("opacity", brush.color()), path);
        const QPen pen = state->pen();
        if (pen.style() == Qt::NoPen) return;
        body_ += fmt::format("\\draw[{}{},line width={:.2f}bp{}] {};\n", colour(pen.color()),
                             opacity("opacity", pen.color()), scaled(std::max(1.0, pen.widthF())),
                             pen.style() == Qt::DashLine ? ",dashed" : "", path);
    }

    int height_;
    std::string body_;
    std::map<QRgb, std::string> colours_;
    QRectF clip_;
    bool clipped_ = false;
    bool bitmaps_ = false;
};

TikzDevice::TikzDevice(const QSize& size) : PageDevice(size), engine_(std::make_unique<Engine>(size.height())) {}

TikzDevice::~TikzDevice() = default;

QPaintEngine* TikzDevice::paintEngine() const {
    return engine_.get();
}

bool TikzDevice::hasBitmaps() const {
    return engine_->hasBitmaps();
}

QByteArray TikzDevice::takeDocument() {
    return engine_->take(size_);
}

} // namespace bubblescope::gui
