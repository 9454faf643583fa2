#pragma once

#include "app/gui/timeline/pixel_canvas.h"

#include <QRgb>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Writes a band of narrow columns, each with a few colours on top of each other. Columns are collected and then
/// written line by line, several at once; writing them one by one would take several times as long. For one thread. An
/// object reuses its memory from band to band.
class ColumnBand {
public:
    static constexpr std::size_t kLayers = 3;
    static constexpr int kNarrow = 16; ///< number of columns; wider shapes are filled faster separately

    /// The colours of a column from bottom to top; pixels above them are not changed.
    struct Stack {
        std::size_t count = 0;
        std::array<int, kLayers> tops{}; ///< device pixels from the band's bottom, ascending
        std::array<QRgb, kLayers> colours{};

        void add(int top, QRgb colour) {
            tops[count] = top;
            colours[count++] = colour;
        }
    };

    /// Begins a band whose bottom is on a line of the plot. `columns` is the number of the plot's columns, in device
    /// pixels.
    void begin(PixelCanvas& pixels, int bottom, int columns);
    /// Puts a stack into columns that are empty, for example after settle().
    void put(int begin, int end, const Stack& stack) {
        begin = std::max(begin, 0);
        end = std::min(end, columns_);
        if (begin >= end || stack.count == 0) return;
        layers_ = std::max(layers_, stack.count);
        height_ = std::max(height_, stack.tops[stack.count - 1]);
        for (std::size_t layer = 0; layer < stack.count; ++layer) {
            int column = begin; // usually one column
            do {
                tops_[layer][static_cast<std::size_t>(column)] = stack.tops[layer];
                colours_[layer][static_cast<std::size_t>(column)] = stack.colours[layer];
            } while (++column < end);
        }
    }
    /// Puts one colour into columns that are empty or hold one colour, replacing it; none if `top` is 0.
    void replace(int begin, int end, int top, QRgb colour) {
        if (top == 0 && layers_ == 0) return;
        Stack one;
        one.add(top, colour);
        put(begin, end, one);
    }
    /// Call it before other shapes are drawn over these columns.
    void settle(int begin, int end) {
        if (layers_ == 0) return;
        for (int column = std::max(begin, 0); column < std::min(end, columns_); ++column) {
            if (tops_.front()[static_cast<std::size_t>(column)] > 0) return flush();
        }
    }
    /// Writes the columns that were put.
    void flush();

private:
    template <std::size_t Layers>
    void writeLines();

    PixelCanvas* pixels_ = nullptr;
    int bottom_ = 0;
    int columns_ = 0;
    std::size_t layers_ = 0;                     ///< the largest number of layers of any column
    int height_ = 0;                             ///< height of the highest column
    std::array<std::vector<int>, kLayers> tops_; ///< by layer and column; 0: the column has no such layer
    std::array<std::vector<QRgb>, kLayers> colours_;
};

} // namespace bubblescope::gui
