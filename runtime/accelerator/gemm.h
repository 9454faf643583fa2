#pragma once

#include <cstdint>

namespace bubblescope::runtime {

enum class Storage : std::uint8_t { Float, Bf16 };

[[nodiscard]] constexpr std::int64_t bytesOf(Storage storage) {
    return storage == Storage::Float ? 4 : 2;
}

/// One factor or the result of a product: a matrix that lies column by column.
struct GemmMatrix {
    void* data = nullptr;
    std::int64_t leading = 0; ///< elements from one column to the next
    std::int64_t stride = 0;  ///< elements from one matrix of a batch to the next
    bool transposed = false;  ///< factors only
};

/// result = scale · a · b (+ result or beside) (+ bias down the rows), each product of a batch on its own; sums in
/// float. a is rows × inner and b inner × columns after transposition.
struct Gemm {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    Storage in = Storage::Float;  ///< how a and b are stored
    Storage out = Storage::Float; ///< how the result, and the bias, are stored
    GemmMatrix a;
    GemmMatrix b;
    GemmMatrix result;
    const void* bias = nullptr; ///< a value per row of the result
    bool accumulate = false;    ///< adds to the result what was there
    float scale = 1.0F;
    int batch = 1;
};

} // namespace bubblescope::runtime
