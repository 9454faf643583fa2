#pragma once

#include <QByteArray>
#include <QPaintDevice>
#include <QSize>

#include <memory>

namespace bubblescope::gui {

class SvgEngine;

/// A picture of what a QPainter draws, as an SVG document of its own: rectangles, lines, polygons, paths, texts,
/// pixmaps and hatched grounds, rectangular clips. Qt's own SVG module is no part of a plain installation.
class SvgDevice : public QPaintDevice {
public:
    /// In pixels of 1/96 inch.
    explicit SvgDevice(const QSize& size);
    ~SvgDevice() override;

    [[nodiscard]] QPaintEngine* paintEngine() const override;
    /// What was drawn, once the painter has ended.
    [[nodiscard]] QByteArray document() const;

protected:
    int metric(PaintDeviceMetric metric) const override;

private:
    QSize size_;
    std::unique_ptr<SvgEngine> engine_;
};

} // namespace bubblescope::gui
