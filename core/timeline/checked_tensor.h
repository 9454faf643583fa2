#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// What a check can find to differ, by the names that records carry. Of a layer's tensors those that an op computes, in
/// the order in which it does: the first one that differs is nearest to the cause.
enum class CheckedTensor : std::uint8_t {
    // forward
    Normalised, ///< what a normalisation makes of its input
    Deviations, ///< by row, what it divided by
    Columns,    ///< queries, keys and values
    Attention,  ///< softmax weights
    Attended,
    Part,   ///< of a sum with the ranks that share the stage
    Hidden, ///< the MLP's, before its GELU
    Loss,
    LogitsGradient,
    Output,
    // gradient for the input
    HiddenGradient,
    NormalisedGradient,
    AttendedGradient, ///< for what attention's projection gives
    ColumnsGradient,
    EarlierGradient, ///< what falls on earlier slices of the sequence
    InputGradient,
    // gradient for the weights
    WeightGradient,
    // beside layers
    Weights,
    GradientSum,
    Activation, ///< of transfers
    Gradient,
    Product, ///< of known answers: a product of matrices, sums, a copy
    Sums,
    Copy,
};

/// As records and messages have it: "output", "input gradient".
[[nodiscard]] std::string_view tensorName(CheckedTensor tensor);
/// Words may be joined by a dash, too.
[[nodiscard]] std::optional<CheckedTensor> parseTensor(std::string_view name);

} // namespace bubblescope
