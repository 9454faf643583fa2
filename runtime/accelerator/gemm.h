#pragma once

#include <cstdint>

namespace bubblescope::runtime {

enum class Storage : std::uint8_t { Float, Bf16 };

[[nodiscard]] constexpr std::int64_t bytesOf(Storage storage) {
    return storage == Storage::Float ? 4 : 2;
}

/// A factor or the result of a product: a column-major matrix.
struct GemmMatrix {
    void* data = nullptr;
    std::int64_t leading = 0; ///< elements between the begins of two columns
    std::int64_t stride = 0;  ///< elements between the begins of two matrices of a batch
    bool transposed = false;  ///< factors only
};

/// result = scale · a · b (+ result or beside) (+ bias down the rows), for each product of a batch; sums in float.
/// After transposition a is rows × inner and b inner × columns.
struct Gemm {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    Storage in = Storage::Float;  ///< storage of a and b
    Storage out = Storage::Float; ///< storage of the result and the bias
    GemmMatrix a;
    GemmMatrix b;
    GemmMatrix result;
    const void* bias = nullptr; ///< one value per row of the result
    bool accumulate = false;    ///< adds to the previous content of the result
    float scale = 1.0F;
    int batch = 1;
};

} // namespace bubblescope::runtime
