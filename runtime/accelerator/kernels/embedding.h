#pragma once

#include "runtime/accelerator/kernels/forms.h"
#include "runtime/accelerator/kernels/number_hash.h"

namespace bubblescope::runtime {

/// Computes the tokens of a piece. The device computes the tokens from the text, so that training copies nothing from
/// the host. The result equals TextData::sequences().
struct TokensKernel {
    using Form = EachForm;
    using Varies = void; // because the step and the micro-batch differ between ops
    int* tokens;
    int* targets;
    const unsigned char* text;
    std::int64_t text_size;
    std::int64_t places; ///< number of positions at which a sequence may start
    std::uint64_t seed;
    std::uint64_t stream; ///< Synthetic::Stream::Data
    std::int64_t step;
    int microbatch;
    int sequences;
    int begin;  ///< first position of the slice in the sequence
    int length; ///< positions in the slice

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
    using Form = GridForm;
    T* output;
    const int* tokens;
    const float* token_table; ///< column-major
    const float* position_table;
    std::int64_t count; ///< number of tokens
    std::int64_t width;
    std::int64_t vocabulary;
    std::int64_t positions;
    int begin;
    int length;

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return count; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t row, std::int64_t feature) const {
        const std::int64_t position = begin + row % length;
        store(output[row * width + feature],
              token_table[feature * vocabulary + tokens[row]] + position_table[feature * positions + position]);
    }
};

/// The gradient of the token table.
template <class T>
struct TokenTableGradientKernel {
    using Form = TableForm;
    float* grad; ///< column-major
    const T* output_grad;
    const int* tokens;
    std::int64_t count; ///< number of tokens
    std::int64_t width;
    std::int64_t vocabulary;
    const float* before; ///< the sum to add to, or nullptr; may be `grad`

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t entries() const { return vocabulary; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return count; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t entryOf(std::int64_t row) const { return tokens[row]; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE float value(std::int64_t row, std::int64_t feature) const {
        return load(output_grad[row * width + feature]);
    }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t place(std::int64_t entry, std::int64_t feature) const {
        return feature * vocabulary + entry;
    }
};

/// The gradient of the position table; zero at the positions of other slices.
template <class T>
struct PositionTableGradientKernel {
    using Form = GridForm;
    float* grad; ///< column-major
    const T* output_grad;
    std::int64_t width;
    std::int64_t positions;
    int sequences;
    int begin;
    int length;
    const float* before; ///< the sum to add to, or nullptr; may be `grad`

    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t rows() const { return positions; }
    [[nodiscard]] BUBBLESCOPE_PORTABLE std::int64_t columns() const { return width; }
    BUBBLESCOPE_PORTABLE void operator()(std::int64_t position, std::int64_t feature) const {
        float sum = 0.0F;
        if (position >= begin && position < begin + length) {
            for (int sequence = 0; sequence < sequences; ++sequence) {
                const std::int64_t row = static_cast<std::int64_t>(sequence) * length + position - begin;
                sum += load(output_grad[row * width + feature]);
            }
        }
        const std::int64_t place = feature * positions + position;
        grad[place] = before != nullptr ? before[place] + sum : sum;
    }
};

} // namespace bubblescope::runtime
