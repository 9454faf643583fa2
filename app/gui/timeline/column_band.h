#pragma once

#include "app/gui/timeline/pixel_canvas.h"

#include <QRgb>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Draws a band of narrow columns, each of which is a stack of a few colours. Columns are collected and then written
/// line by line, because writing one column after the other would be several times slower. Not thread-safe. An object
/// reuses its memory for the next band.
class ColumnBand {
public:
    static constexpr std::size_t kLayers = 3;
    static constexpr int kNarrow = 16; ///< maximum width in columns; wider shapes are faster to fill directly

    /// Colours of a column from bottom to top. Pixels above the stack do not change.
    struct Stack {
        std::size_t count = 0;
        std::array<int, kLayers> tops{}; ///< device pixels from the bottom of the band, ascending
        std::array<QRgb, kLayers> colours{};

        void add(int top, QRgb colour) {
            tops[count] = top;
            colours[count++] = colour;
        }
    };

    /// Starts a band. `bottom` is its lowest line in the plot, and `columns` is the width of the plot, in device
    /// pixels.
    void begin(PixelCanvas& pixels, int bottom, int columns);
    /// Writes a stack into columns that are empty, for example after settle().
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
    /// Writes one colour, or none if `top` is 0, into columns that are empty or contain a single colour.
    void replace(int begin, int end, int top, QRgb colour) {
        if (top == 0 && layers_ == 0) return;
        Stack one;
        one.add(top, colour);
        put(begin, end, one);
    }
    /// Must be called before other shapes are drawn over these columns.
    void settle(int begin, int end) {
        if (layers_ == 0) return;
        for (int column = std::max(begin, 0); column < std::min(end, columns_); ++column) {
            if (tops_.front()[static_cast<std::size_t>(column)] > 0) return flush();
        }
    }
    /// Draws the collected columns.
    void flush();

private:
    template <std::size_t Layers>
    void writeLines();

    PixelCanvas* pixels_ = nullptr;
    int bottom_ = 0;
    int columns_ = 0;
    std::size_t layers_ = 0;                     ///< maximum number of layers in any column
    int height_ = 0;                             ///< maximum height of any column
    std::array<std::vector<int>, kLayers> tops_; ///< by layer and column; 0 if the column has no such layer
    std::array<std::vector<QRgb>, kLayers> colours_;
};

} // namespace bubblescope::gui
