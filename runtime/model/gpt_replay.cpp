#include "runtime/model/gpt_replay.h"

namespace bubblescope::runtime {
namespace {

/// Gives the sums of the first time.
class PlayedSums final : public ShardSums<float> {
public:
    explicit PlayedSums(const std::vector<Matrix<float>>& results) : results_(results) {}
    void addUp(Matrix<float>& part) override { part = results_.at(next_++); }

private:
    const std::vector<Matrix<float>>& results_;
    std::size_t next_ = 0;
};

} // namespace

void GptReplay::run(LayerProbe& probe) const {
    switch (layer_) {
    case Layer::Embedding: return runEmbedding(probe);
    case Layer::Block: return runBlock(probe);
    case Layer::Head: return runHead(probe);
    }
}

// Results are thrown away: the probe has seen them.

void GptReplay::runEmbedding(LayerProbe& probe) const {
    switch (part_) {
    case LayerPart::Forward: static_cast<void>(embed(weights_, tokens, &probe)); break;
    case LayerPart::InputGradient: static_cast<void>(embeddingInputGradient(input, &probe)); break;
    case LayerPart::WeightGradient: static_cast<void>(embeddingWeightGradient(weights_, tokens, input, &probe)); break;
    }
}

void GptReplay::runBlock(LayerProbe& probe) const {
    PlayedSums played(sums);
    const TransformerBlock<float> block(weights_, shape, shared ? &played : nullptr, &probe);
    auto scratch = kept;
    auto slices = earlier;
    std::vector<TransformerBlock<float>::Kept*> pointers;
    for (auto& slice : slices)
        pointers.push_back(&slice);
    switch (part_) {
    case LayerPart::Forward: static_cast<void>(block.forward(input, pointers, scratch)); break;
    case LayerPart::InputGradient: static_cast<void>(block.backwardInput(input, pointers, scratch)); break;
    case LayerPart::WeightGradient: static_cast<void>(block.backwardWeight(scratch)); break;
    }
}

void GptReplay::runHead(LayerProbe& probe) const {
    HeadKept scratch = head;
    switch (part_) {
    case LayerPart::Forward: static_cast<void>(headForward(weights_, tokens, share, input, scratch, &probe)); break;
    case LayerPart::InputGradient: static_cast<void>(headInputGradient(weights_, scratch, &probe)); break;
    case LayerPart::WeightGradient: static_cast<void>(headWeightGradient(weights_, scratch, &probe)); break;
    }
}

std::int64_t GptReplay::bytes() const {
    std::int64_t sum = bytesOf(input) + kept.bytes() + head.bytes();
    for (const Weights<float>& part : own_weights_)
        sum += bytesOf(part.weight) + bytesOf(part.bias);
    for (const auto& slice : earlier)
        sum += slice.bytes();
    for (const Matrix<float>& one : sums)
        sum += bytesOf(one);
    return sum;
}

void GptReplay::detach() {
    if (!own_weights_.empty()) return; // others may be running it already
    own_weights_.assign(weights_.begin(), weights_.end());
    weights_ = own_weights_;
}

} // namespace bubblescope::runtime
