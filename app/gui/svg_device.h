#pragma once

#include "app/gui/page_device.h"

#include <QByteArray>

#include <memory>

namespace bubblescope::gui {

/// Records the drawing of a QPainter as an SVG document: rectangles, lines, polygons, paths, text, pixmaps, hatched
/// backgrounds and rectangular clips. Qt's QSvgGenerator writes a group of attributes for every rectangle and, before
/// Qt 6.7, ignores clips and textures.
class SvgDevice : public PageDevice {
public:
    explicit SvgDevice(const QSize& size);
    ~SvgDevice() override;

    [[nodiscard]] QPaintEngine* paintEngine() const override;
    /// Returns the document. Must be called after the painter has ended.
    [[nodiscard]] QByteArray takeDocument();

private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

} // namespace bubblescope::gui
