#pragma once

#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainterPath>
#include <QSize>

#include <limits>

namespace bubblescope::gui {

/// A page for one of our paint engines, measured in pixels of 1/96 inch.
class PageDevice : public QPaintDevice {
public:
    static constexpr int kDpi = 96;
    static constexpr double kMillimetresPerInch = 25.4;

    explicit PageDevice(const QSize& size) : size_(size) {}

protected:
    int metric(PaintDeviceMetric metric) const override {
        switch (metric) {
        case PdmWidth: return size_.width();
        case PdmHeight: return size_.height();
        case PdmWidthMM: return static_cast<int>(size_.width() * kMillimetresPerInch / kDpi);
        case PdmHeightMM: return static_cast<int>(size_.height() * kMillimetresPerInch / kDpi);
        case PdmNumColors: return std::numeric_limits<int>::max();
        case PdmDepth: return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY: return kDpi;
        case PdmDevicePixelRatio: return 1;
        default: return QPaintDevice::metric(metric); // including other representations of the device pixel ratio
        }
    }

    QSize size_;
};

/// Base class of paint engines that write drawing commands as text.
class PageEngine : public QPaintEngine {
public:
    PageEngine() : QPaintEngine(AllFeatures) {}

    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    [[nodiscard]] Type type() const override { return User; }
    void updateState(const QPaintEngineState&) override {}
    void drawPath(const QPainterPath& path) override {
        for (const QPolygonF& polygon : path.toSubpathPolygons())
            drawPolygon(polygon.constData(), static_cast<int>(polygon.size()), WindingMode);
    }
};

/// Font size in pixels on such a page.
[[nodiscard]] inline double pixelSize(const QFont& font) {
    return font.pixelSize() > 0 ? font.pixelSize() : font.pointSizeF() * PageDevice::kDpi / 72;
}

} // namespace bubblescope::gui
