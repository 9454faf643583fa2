#pragma once

#include "app/gui/timeline/pixel_canvas.h"

#include <QRgb>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Draws a band of narrow columns, each in one colour. Columns are collected and then written line by line, because
/// writing one column after the other would be several times slower. Not thread-safe. Memory is reused for the next
/// band.
class ColumnBand {
public:
    static constexpr int kNarrow = 16; ///< maximum width in columns; wider shapes are filled directly

    /// Starts a band. `bottom` is its lowest line in the plot, and `columns` is the width of the plot, in device
    /// pixels.
    void begin(PixelCanvas& pixels, int bottom, int columns);
    /// Sets the colour of columns from the bottom of the band up to `top` device pixels, replacing any previous colour;
    /// clears them if `top` is 0. Pixels above it do not change.
    void put(int begin, int end, int top, QRgb colour) {
        begin = std::max(begin, 0);
        end = std::min(end, columns_);
        if (begin >= end || (top == 0 && height_ == 0)) return;
        height_ = std::max(height_, top);
        int column = begin; // usually one column
        do {
            tops_[static_cast<std::size_t>(column)] = top;
            colours_[static_cast<std::size_t>(column)] = colour;
        } while (++column < end);
    }
    /// Draws pending columns. Must be called before other shapes are drawn over these columns.
    void settle(int begin, int end) {
        if (height_ == 0) return;
        for (int column = std::max(begin, 0); column < std::min(end, columns_); ++column) {
            if (tops_[static_cast<std::size_t>(column)] > 0) return flush();
        }
    }
    /// Draws the collected columns.
    void flush();

private:
    PixelCanvas* pixels_ = nullptr;
    int bottom_ = 0;
    int columns_ = 0;
    int height_ = 0;        ///< maximum height of any column
    std::vector<int> tops_; ///< by column; 0 if the column has no colour
    std::vector<QRgb> colours_;
};

} // namespace bubblescope::gui
