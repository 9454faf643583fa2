#pragma once

#include "app/gui/timeline/pixel_canvas.h"

#include <QRgb>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Writes a band of narrow columns of one colour each. Columns are collected and then written line by line, several at
/// once; writing them one by one would take several times as long. For one thread. An object reuses its memory from
/// band to band.
class ColumnBand {
public:
    static constexpr int kNarrow = 16; ///< maximum width in columns; wider shapes are faster to fill directly

    /// Begins a band whose bottom is on a line of the plot. `columns` is the number of the plot's columns, in device
    /// pixels.
    void begin(PixelCanvas& pixels, int bottom, int columns);
    /// Gives columns a colour from the band's bottom up to `top` device pixels, in place of the colour that they have;
    /// none if `top` is 0. The pixels above are not changed.
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
    /// Draws pending columns. Must be called before other shapes are drawn over them.
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
    int height_ = 0;        ///< height of the highest column
    std::vector<int> tops_; ///< by column; 0: the column has no colour
    std::vector<QRgb> colours_;
};

} // namespace bubblescope::gui
