#include "app/gui/timeline/column_band.h"

#include <algorithm>

namespace bubblescope::gui {

void ColumnBand::begin(PixelCanvas& pixels, int bottom, int columns) {
    pixels_ = &pixels;
    bottom_ = bottom;
    if (columns == columns_ && height_ == 0) return; // flush() has already emptied them
    columns_ = columns;
    height_ = 0;
    tops_.assign(static_cast<std::size_t>(columns), 0);
    colours_.resize(static_cast<std::size_t>(columns));
}

namespace {

/// Reads both values, so that compilers can process several columns at once.
inline QRgb chosen(bool first, QRgb one, QRgb other) {
    return first ? one : other;
}

} // namespace

void ColumnBand::flush() {
    if (height_ == 0) return;
    const int count = std::min(columns_, pixels_->width());
    const int* const tops = tops_.data();
    const QRgb* const colours = colours_.data();
    for (int y = std::max(0, bottom_ - height_); y < std::min(bottom_, pixels_->height()); ++y) {
        const int above = bottom_ - 1 - y; // pixels below this line in the band
        QRgb* const line = pixels_->line(y);
        for (int x = 0; x < count; ++x)
            line[x] = chosen(above < tops[x], colours[x], line[x]);
    }
    std::ranges::fill(tops_, 0);
    height_ = 0;
}

} // namespace bubblescope::gui
