#pragma once

#include "core/base/wire.h"
#include "runtime/model/gpt_layers.h"
#include "runtime/model/layers.h"
#include "runtime/model/transformer_block.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

// How parts of a model travel: see core/base/wire.h. A matrix is its rows, its columns and its numbers as they lie in
// memory; one that claims more numbers than follow is not made.
namespace bubblescope {

template <int Rows, int Columns>
void fields(WireWriter& wire, Eigen::Matrix<float, Rows, Columns>& value) {
    wire(std::int64_t{value.rows()}, std::int64_t{value.cols()});
    wire.block(value.data(), static_cast<std::size_t>(value.size()) * sizeof(float));
}

template <int Rows, int Columns>
void fields(WireReader& wire, Eigen::Matrix<float, Rows, Columns>& value) {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    wire(rows, columns);
    const auto most = static_cast<std::int64_t>(wire.left() / sizeof(float));
    const bool fits = rows >= 0 && columns >= 0 && rows <= most + 1 && columns <= most + 1 && // these may be 0 by 1
                      (columns == 0 || rows <= most / columns);
    if (!fits || (Rows != Eigen::Dynamic && rows != Rows) || (Columns != Eigen::Dynamic && columns != Columns))
        return wire.reject();
    value.resize(rows, columns);
    wire.block(value.data(), static_cast<std::size_t>(value.size()) * sizeof(float));
}

} // namespace bubblescope

namespace bubblescope::runtime {

template <class Wire>
void fields(Wire& wire, Weights<float>& value) {
    auto& [weight, bias] = value;
    wire(weight, bias);
}
template <class Wire>
void fields(Wire& wire, Normalised<float>& value) {
    auto& [values, inverse_deviations] = value;
    wire(values, inverse_deviations);
}
template <class Wire>
void fields(Wire& wire, AttentionShape& value) {
    auto& [batch, heads] = value;
    wire(batch, heads);
}
template <class Wire>
void fields(Wire& wire, PieceTokens& value) {
    auto& [tokens, targets, positions] = value;
    wire(tokens, targets, positions);
}
template <class Wire>
void fields(Wire& wire, HeadKept& value) {
    auto& [normalised, logits_grad, normalised_grad] = value;
    wire(normalised, logits_grad, normalised_grad);
}
template <class Wire>
void fields(Wire& wire, TransformerBlock<float>::Kept& value) {
    auto& [before, columns, weights, attended, between, up, later_grad, output_grads] = value;
    wire(before, columns, weights, attended, between, up, later_grad, output_grads);
}

} // namespace bubblescope::runtime
