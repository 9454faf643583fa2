#pragma once

#include "app/gui/page_device.h"

#include <QByteArray>

#include <memory>

namespace bubblescope::gui {

/// Records what a QPainter draws as a TikZ picture for LaTeX: rectangles, lines, polygons, texts, hatching and
/// rectangular clips. Texts are the document's own fonts. TikZ has no bitmaps: see hasBitmaps().
class TikzDevice : public PageDevice {
public:
    explicit TikzDevice(const QSize& size);
    ~TikzDevice() override;

    [[nodiscard]] QPaintEngine* paintEngine() const override;
    /// Whether something was drawn that the document cannot hold.
    [[nodiscard]] bool hasBitmaps() const;
    /// Returns the document once the painter has ended.
    [[nodiscard]] QByteArray takeDocument();

private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

} // namespace bubblescope::gui
