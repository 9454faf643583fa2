#include "runtime/checks/check_memory.h"

#include "runtime/model/text_data.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace bubblescope::runtime {
namespace {

enum class LayerKind : std::uint8_t { Embedding, Block, Head };

class CaptureSizes {
public:
    CaptureSizes(const ModelConfig& model, int value_bytes)
        : tokens_(std::int64_t{model.batch} * model.sequence), width_(model.width), heads_(model.heads),
          sequence_(model.sequence), value_bytes_(value_bytes) {}

    /// One activation of a layer.
    [[nodiscard]] std::int64_t result() const { return tokens_ * width_ * value_bytes_; }
    [[nodiscard]] std::int64_t of(LayerKind layer, OpKind op) const {
        constexpr std::int64_t kExact = 4;
        const bool weights = op == OpKind::Backward || op == OpKind::BackwardWeight;
        // Numbers per row that are exact: deviations of two norms, and one of each head.
        const std::int64_t rows = tokens_ * (2 + heads_) * kExact;
        return inputsAndResults(layer, op) + rows + (weights ? 2 * kExact * weightsOf(layer) : 0);
    }

private:
    [[nodiscard]] std::int64_t inputsAndResults(LayerKind layer, OpKind op) const {
        if (layer == LayerKind::Embedding) return 2 * result();
        if (layer == LayerKind::Head) return 4 * result() + tokens_ * TextData::kVocabulary * value_bytes_;
        switch (op) {
        case OpKind::Forward: return 12 * result();
        case OpKind::BackwardInput: return 21 * result();
        case OpKind::BackwardWeight: return 18 * result();
        default: return 22 * result();
        }
    }
    [[nodiscard]] std::int64_t weightsOf(LayerKind layer) const {
        switch (layer) {
        case LayerKind::Embedding: return (TextData::kVocabulary + sequence_) * width_;
        case LayerKind::Head: return 2 * width_ + (width_ + 1) * TextData::kVocabulary;
        case LayerKind::Block: break;
        }
        return 12 * width_ * width_ + 13 * width_;
    }

    std::int64_t tokens_;
    std::int64_t width_;
    std::int64_t heads_;
    std::int64_t sequence_;
    int value_bytes_;
};

} // namespace

std::int64_t checkMemoryOf(const CheckSetup& setup, const Schedule& schedule, const ModelConfig& model, Rank rank,
                           int value_bytes) {
    const CaptureSizes sizes(model, value_bytes);
    const RankPlan& plan = setup.study.plan().ranks[rank.index()];
    const auto kindOf = [&](Stage stage, int layer) {
        const int number = setup.layersOf(stage).first + layer;
        return number == 0 ? LayerKind::Embedding : number == setup.headLayer() ? LayerKind::Head : LayerKind::Block;
    };
    // The first step keeps one of each kind of layer and op, to learn their times.
    std::int64_t tried = 0;
    std::int64_t largest = 0;
    std::int64_t layers = 0;
    std::set<std::pair<LayerKind, OpKind>> kinds;
    for (const Op& op : schedule.ranks[rank.index()]) {
        if (op.kind == OpKind::Optimizer) continue;
        const Stage stage = schedule.stageOf(rank, op.chunk);
        const int count = setup.layersOf(stage).count;
        layers = std::max<std::int64_t>(layers, count);
        for (int layer = 0; layer < count; ++layer) {
            const LayerKind kind = kindOf(stage, layer);
            if (!kinds.insert({kind, op.kind}).second) continue;
            tried += sizes.of(kind, op.kind);
            largest = std::max(largest, sizes.of(kind, op.kind));
        }
    }
    std::int64_t kept = 0;
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
        std::int64_t bytes = 0;
        for (const PlannedCheck& check : plan.steps[step]) {
            const CheckUnit& unit = plan.units[check.unit];
            bytes += sizes.of(kindOf(schedule.stageOf(rank, unit.chunk), unit.layer), unit.kind);
        }
        if (setup.options.memory) bytes = std::min(bytes, *setup.options.memory + largest);
        kept = std::max(kept, bytes + (step == 0 ? tried : 0));
    }
    const std::int64_t digested = (layers + 1) * sizes.result();
    // The pool's size classes leave up to 1/16 unused.
    return (std::max(kept, tried) + largest + digested) / 16 * 17;
}

} // namespace bubblescope::runtime
