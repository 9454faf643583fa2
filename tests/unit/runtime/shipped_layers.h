#pragma once

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/checks/check_broker.h"
#include "runtime/model/captured_layer.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {

/// Forward of a small block with weights of its own.
inline std::unique_ptr<ReexecutableLayer> someForward() {
    ModelConfig model;
    model.width = 4;
    model.heads = 2;
    model.sequence = 3;
    const auto queue = makeCpuQueue();
    StageParameters<float> parameters(*queue, model, StageTask{.place = 1, .places = 3, .pieces = {}});
    std::vector<float> weights(static_cast<std::size_t>(parameters.size()));
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = 0.25F + 0.125F * static_cast<float>(i % 7);
    parameters.fromHost(weights);
    using Layer = CapturedGptLayer<float>;
    auto layer = std::make_unique<Layer>(queue, LayerPart::Forward, Layer::Layer::Block, parameters.view());
    layer->detach(); // required because the weights above are freed soon
    layer->rows = {1, 0, 3, 3};
    layer->heads = 2;
    layer->input = queue->take(HostMatrix(3, 4, weights.data()), 3, 4, Storage::Float);
    return layer;
}

/// The same layer as an offer or a request.
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
    auto computation = someForward();
    Taker first;
    computation->run(first);
    layer.computation = std::move(computation);
    layer.first = std::move(first.result);
    return layer;
}

} // namespace bubblescope::runtime::test
