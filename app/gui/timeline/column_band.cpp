#include "app/gui/timeline/column_band.h"

#include <algorithm>

namespace bubblescope::gui {

void ColumnBand::begin(PixelCanvas& pixels, int bottom, int columns) {
    pixels_ = &pixels;
    bottom_ = bottom;
    if (columns == columns_ && layers_ == 0) return; // flush() has already emptied them
    columns_ = columns;
    layers_ = 0;
    height_ = 0;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
        tops_[layer].assign(static_cast<std::size_t>(columns), 0);
        colours_[layer].resize(static_cast<std::size_t>(columns));
    }
}

namespace {

/// Reads both values, so that compilers can process several columns at once.
inline QRgb chosen(bool first, QRgb one, QRgb other) {
    return first ? one : other;
}

} // namespace

template <std::size_t Layers>
void ColumnBand::writeLines() {
    for (int y = std::max(0, bottom_ - height_); y < std::min(bottom_, pixels_->height()); ++y) {
        const int above = bottom_ - 1 - y; // pixels below this line in the band
        const int count = std::min(columns_, pixels_->width());
        QRgb* const line = pixels_->line(y);
        const int* const top0 = tops_[0].data();
        const int* const top1 = tops_[1].data();
        const int* const top2 = tops_[2].data();
        const QRgb* const colour0 = colours_[0].data();
        const QRgb* const colour1 = colours_[1].data();
        const QRgb* const colour2 = colours_[2].data();
        for (int x = 0; x < count; ++x) {
            QRgb colour = line[x];
            if constexpr (Layers > 2) colour = chosen(above < top2[x], colour2[x], colour);
            if constexpr (Layers > 1) colour = chosen(above < top1[x], colour1[x], colour);
            line[x] = chosen(above < top0[x], colour0[x], colour);
        }
    }
}

void ColumnBand::flush() {
    static_assert(kLayers == 3);
    switch (layers_) {
    case 0: return;
    case 1: writeLines<1>(); break;
    case 2: writeLines<2>(); break;
    default: writeLines<3>(); break;
    }
    for (std::size_t layer = 0; layer < layers_; ++layer)
        std::ranges::fill(tops_[layer], 0);
    layers_ = 0;
    height_ = 0;
}

} // namespace bubblescope::gui
