#pragma once

#include "runtime/backend/accelerator/kernels/forms.h"
#include "runtime/model/number_hash.h"

namespace bubblescope::runtime {

/// Which tokens a piece has, made from the text where they are needed: nothing is copied from the host while training.
/// As TextData::sequences() and GptStage on the host.
struct TokensKernel {
    using Form = EachForm;
    int* tokens;
    int* targets;
    const unsigned char* text;
    std::int64_t text_size;
    std::int64_t places; ///< where a sequence may begin
    std::uint64_t seed;
    std::uint64_t stream; ///< Synthetic::Stream::Data
    std::int64_t step;
    int microbatch;
    int sequences;
    int begin;  ///< the slice's first position in the sequence
    int length; ///< of the slice

    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(sequences) * length; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const int sequence = static_cast<int>(i / length);
        const std::uint64_t number = numberOf(seed, stream, sequenceName(step, microbatch, sequence));
        const auto start = static_cast<std::int64_t>(number % static_cast<std::uint64_t>(places));
        const std::int64_t at = start + begin + i % length;
        tokens[i] = text[at % text_size];
        targets[i] = text[(at + 1) % text_size];
    }
};

/// output[token] = token table's row + position table's row.
template <class T>
struct EmbedKernel {
    using Form = EachForm;
    T* output;
    const int* tokens;
    const float* token_table; ///< column by column
    const float* position_table;
    std::int64_t rows;
    std::int64_t width;
    std::int64_t vocabulary;
    std::int64_t positions;
    int begin;
    int length;

    [[nodiscard]] std::int64_t count() const { return rows * width; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const std::int64_t row = i / width;
        const std::int64_t feature = i % width;
        const std::int64_t position = begin + row % length;
        store(output[i],
              token_table[feature * vocabulary + tokens[row]] + position_table[feature * positions + position]);
    }
};

/// The gradient of the token table: a thread owns an entry's feature and adds up the rows of that token in their order.
template <class T>
struct TokenTableGradientKernel {
    using Form = EachForm;
    float* grad; ///< column by column
    const T* output_grad;
    const int* tokens;
    std::int64_t rows;
    std::int64_t width;
    std::int64_t vocabulary;
    bool accumulate; ///< adds to what is there

    [[nodiscard]] std::int64_t count() const { return vocabulary * width; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const std::int64_t entry = i / width;
        const std::int64_t feature = i % width;
        float sum = 0.0F;
        for (std::int64_t row = 0; row < rows; ++row) {
            if (tokens[row] == entry) sum += load(output_grad[row * width + feature]);
        }
        float& to = grad[feature * vocabulary + entry];
        to = accumulate ? to + sum : sum;
    }
};

/// The gradient of the position table; zero at positions of other slices.
template <class T>
struct PositionTableGradientKernel {
    using Form = EachForm;
    float* grad; ///< column by column
    const T* output_grad;
    std::int64_t width;
    std::int64_t positions;
    int sequences;
    int begin;
    int length;
    bool accumulate;

    [[nodiscard]] std::int64_t count() const { return positions * width; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t i) const {
        const std::int64_t position = i / width;
        const std::int64_t feature = i % width;
        float sum = 0.0F;
        if (position >= begin && position < begin + length) {
            for (int sequence = 0; sequence < sequences; ++sequence) {
                const std::int64_t row = static_cast<std::int64_t>(sequence) * length + position - begin;
                sum += load(output_grad[row * width + feature]);
            }
        }
        float& to = grad[feature * positions + position];
        to = accumulate ? to + sum : sum;
    }
};

} // namespace bubblescope::runtime
