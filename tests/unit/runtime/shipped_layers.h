#pragma once

#include "runtime/checks/check_broker.h"
#include "runtime/model/gpt_replay.h"

#include <memory>
#include <utility>

namespace bubblescope::runtime::test {

inline Weights<float> somePart(Eigen::Index rows, Eigen::Index columns) {
    Weights<float> part;
    part.weight.resize(rows, columns);
    for (Eigen::Index i = 0; i < part.weight.size(); ++i)
        part.weight.data()[i] = 0.25F + 0.125F * static_cast<float>(i % 7);
    part.bias = Row<float>::Constant(columns, 0.5F);
    return part;
}

/// The forward of a small block, with weights of its own.
inline std::unique_ptr<GptReplay> someForward() {
    constexpr int kWidth = 4;
    const Parameters<float> weights{somePart(1, kWidth), somePart(kWidth, 3 * kWidth), somePart(kWidth, kWidth),
                                    somePart(1, kWidth), somePart(kWidth, 4 * kWidth), somePart(4 * kWidth, kWidth)};
    auto replay = std::make_unique<GptReplay>(LayerPart::Forward, GptReplay::Layer::Block, weights);
    replay->detach(); // the weights above are gone soon
    replay->shape = {1, 2};
    replay->input = somePart(3, kWidth).weight;
    return replay;
}

/// The same as an offer or a question.
inline ShippedLayer someLayer(TimeNs cost = TimeNs{1'000'000}) {
    class Taker final : public LayerProbe {
    public:
        using LayerProbe::touch;
        void touch(CheckedTensor tensor, LiveTensor& values) override { result.push_back(values.show(tensor, true)); }
        LayerResult result;
    };
    ShippedLayer layer;
    layer.run = {{OpKind::Forward, Microbatch{3}, Chunk{1}, 2, true}, 5, 7, 0, 11};
    layer.stage = Stage{6};
    layer.cost = cost;
    auto replay = someForward();
    Taker first;
    replay->run(first);
    layer.replay = std::move(replay);
    layer.first = std::move(first.result);
    return layer;
}

} // namespace bubblescope::runtime::test
