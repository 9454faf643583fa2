#include "runtime/model/gpt_replay.h"
#include "runtime/model/model_wire.h"

#include <algorithm>
#include <utility>

// A layer to be run again, as bytes for another process. What comes from there is measured before it is used: tensors
// of wrong shapes would make the maths read beyond their ends.

namespace bubblescope::runtime {
namespace {

using Block = TransformerBlock<float>;
using Index = Eigen::Index;

template <class Dense>
bool hasShape(const Dense& values, Index rows, Index columns) {
    return values.rows() == rows && values.cols() == columns;
}

bool isPart(const Weights<float>& part, Index rows, Index columns) {
    return hasShape(part.weight, rows, columns) && part.bias.size() == columns;
}

bool namesRows(const std::vector<int>& numbers, Index rows) {
    return std::ranges::all_of(numbers, [&](int number) { return 0 <= number && number < rows; });
}

/// The sizes that a block's tensors share.
struct BlockSizes {
    Index tokens = 0; ///< of all its sequences
    Index width = 0;
    Index columns = 0; ///< queries, keys and values
    Index hidden = 0;
    AttentionShape shape;

    [[nodiscard]] Index attended() const { return columns / 3; }
    [[nodiscard]] bool sane() const {
        return shape.batch > 0 && shape.heads > 0 && tokens > 0 && tokens % shape.batch == 0 && width > 0 &&
               columns > 0 && columns % 3 == 0 && attended() % shape.heads == 0;
    }
    [[nodiscard]] bool fit(std::span<const Weights<float>> parts) const {
        return parts.size() == Block::kParts && isPart(parts[Block::kNormBefore], 1, width) &&
               isPart(parts[Block::kColumns], width, columns) && isPart(parts[Block::kProjection], attended(), width) &&
               isPart(parts[Block::kNormBetween], 1, width) && isPart(parts[Block::kUp], width, hidden) &&
               isPart(parts[Block::kDown], hidden, width);
    }
    /// What earlier slices of the sequences left; `gradients`: what later ones leave with them.
    [[nodiscard]] bool fit(const std::vector<Block::Kept>& earlier) const {
        return std::ranges::all_of(earlier, [&](const Block::Kept& slice) {
            const Index rows = slice.columns.rows();
            return rows > 0 && rows % shape.batch == 0 && slice.columns.cols() == columns &&
                   (slice.later_grad.size() == 0 || hasShape(slice.later_grad, rows, columns));
        });
    }
    [[nodiscard]] bool fitAttention(const AttentionWeights<float>& weights,
                                    const std::vector<Block::Kept>& earlier) const {
        Index seen = tokens / shape.batch;
        for (const Block::Kept& slice : earlier)
            seen += slice.columns.rows() / shape.batch;
        const auto count = static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.heads);
        return weights.size() == count && std::ranges::all_of(weights, [&](const Matrix<float>& one) {
                   return hasShape(one, tokens / shape.batch, seen);
               });
    }
    [[nodiscard]] bool fitSums(const std::vector<Matrix<float>>& sums, bool shared) const {
        return !shared || (sums.size() == Block::kSums && std::ranges::all_of(sums, [&](const Matrix<float>& sum) {
                               return hasShape(sum, tokens, width);
                           }));
    }
    [[nodiscard]] bool fitBeforeInput(const Block::Kept& kept) const {
        return hasShape(kept.before.values, tokens, width) && kept.before.inverse_deviations.size() == tokens &&
               hasShape(kept.between.values, tokens, width) && kept.between.inverse_deviations.size() == tokens &&
               hasShape(kept.columns, tokens, columns) && hasShape(kept.up, tokens, hidden) &&
               (kept.later_grad.size() == 0 || hasShape(kept.later_grad, tokens, columns));
    }
    [[nodiscard]] bool fitBeforeWeight(const Block::Kept& kept) const {
        const auto& grads = kept.output_grads;
        return hasShape(kept.before.values, tokens, width) && hasShape(kept.between.values, tokens, width) &&
               hasShape(kept.attended, tokens, attended()) && hasShape(kept.up, tokens, hidden) &&
               hasShape(grads[Block::kNormBefore], tokens, width) &&
               hasShape(grads[Block::kColumns], tokens, columns) &&
               hasShape(grads[Block::kProjection], tokens, width) &&
               hasShape(grads[Block::kNormBetween], tokens, width) && hasShape(grads[Block::kUp], tokens, hidden) &&
               hasShape(grads[Block::kDown], tokens, width);
    }
};

} // namespace

bool GptReplay::pack(WireWriter& wire) const {
    wire(part_, layer_, static_cast<std::uint8_t>(shared ? 1 : 0), shape, share, input, tokens, kept, earlier, head,
         sums, std::uint64_t{weights_.size()}); // weights as a vector's, without another copy of them
    for (const Weights<float>& part : weights_)
        wire(part);
    return true;
}

Result<std::unique_ptr<GptReplay>> GptReplay::unpack(WireReader& wire) {
    auto replay = std::make_unique<GptReplay>(LayerPart::Forward, Layer::Embedding, std::span<const Weights<float>>());
    std::uint8_t with_others = 0;
    wire(replay->part_, replay->layer_, with_others, replay->shape, replay->share, replay->input, replay->tokens,
         replay->kept, replay->earlier, replay->head, replay->sums, replay->own_weights_);
    replay->shared = with_others != 0;
    replay->weights_ = replay->own_weights_;
    if (wire.failed()) return inputError("a layer from another process", "it is cut off, or no layer at all");
    if (!replay->fits()) return inputError("a layer from another process", "its tensors do not fit each other");
    return replay;
}

bool GptReplay::fits() const {
    if (part_ > LayerPart::WeightGradient) return false;
    switch (layer_) {
    case Layer::Embedding: return embeddingFits();
    case Layer::Block: return blockFits();
    case Layer::Head: return headFits();
    }
    return false;
}

bool GptReplay::embeddingFits() const {
    if (part_ == LayerPart::InputGradient) return true;
    if (weights_.size() != 2 || weights_[0].weight.cols() != weights_[1].weight.cols()) return false;
    if (tokens.positions.size() != tokens.tokens.size() || !namesRows(tokens.tokens, weights_[0].weight.rows()) ||
        !namesRows(tokens.positions, weights_[1].weight.rows()))
        return false;
    return part_ == LayerPart::Forward ||
           hasShape(input, static_cast<Index>(tokens.tokens.size()), weights_[0].weight.cols());
}

bool GptReplay::blockFits() const {
    if (weights_.size() != Block::kParts) return false;
    const bool has_input = part_ != LayerPart::WeightGradient;
    const BlockSizes sizes{(has_input ? input : kept.up).rows(), weights_[Block::kColumns].weight.rows(),
                           weights_[Block::kColumns].weight.cols(), weights_[Block::kUp].weight.cols(), shape};
    if (!sizes.sane() || !sizes.fit(weights_)) return false;
    if (has_input && (input.cols() != sizes.width || !sizes.fit(earlier) || !sizes.fitSums(sums, shared))) return false;
    switch (part_) {
    case LayerPart::Forward: return true;
    case LayerPart::InputGradient: return sizes.fitBeforeInput(kept) && sizes.fitAttention(kept.weights, earlier);
    case LayerPart::WeightGradient: return sizes.fitBeforeWeight(kept);
    }
    return false;
}

bool GptReplay::headFits() const {
    if (weights_.size() != 2) return false;
    const Index width = weights_[1].weight.rows();
    const Index entries = weights_[1].weight.cols();
    if (!isPart(weights_[0], 1, width) || !isPart(weights_[1], width, entries)) return false;
    if (part_ == LayerPart::Forward) {
        return input.cols() == width && tokens.targets.size() == static_cast<std::size_t>(input.rows()) &&
               namesRows(tokens.targets, entries);
    }
    const Index rows = head.logits_grad.rows();
    if (!hasShape(head.logits_grad, rows, entries) || !hasShape(head.normalised.values, rows, width)) return false;
    return part_ == LayerPart::InputGradient ? head.normalised.inverse_deviations.size() == rows
                                             : hasShape(head.normalised_grad, rows, width);
}

} // namespace bubblescope::runtime
