#pragma once

#include "app/gui/page_device.h"

#include <QByteArray>

#include <memory>

namespace bubblescope::gui {

/// Records the drawing of a QPainter as a TikZ picture for LaTeX: rectangles, lines, polygons, text, hatching and
/// rectangular clips. Text uses the fonts of the document. TikZ does not support bitmaps; see hasBitmaps().
class TikzDevice : public PageDevice {
public:
    explicit TikzDevice(const QSize& size);
    ~TikzDevice() override;

    [[nodiscard]] QPaintEngine* paintEngine() const override;
    /// True if bitmaps were drawn. They are missing from the document.
    [[nodiscard]] bool hasBitmaps() const;
    /// Returns the document. Must be called after the painter has ended.
    [[nodiscard]] QByteArray takeDocument();

private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

} // namespace bubblescope::gui
