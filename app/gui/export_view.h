#pragma once

#include "core/base/result.h"

#include <QByteArray>
#include <QPaintDevice>
#include <QSize>
#include <QString>

#include <memory>

namespace bubblescope::gui {

class SvgEngine;
class TimelineView;

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

/// Writes what the timeline shows, at its size, as the file's name ends: .png (twice as many pixels), .svg or .pdf
/// (lines and letters that stay sharp). An existing file is replaced only when the new one is complete. Errors: Usage
/// for another ending, Run where the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file);

} // namespace bubblescope::gui
