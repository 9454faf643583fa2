#include "runtime/backend/accelerator/device_replay.h"

#include <stdexcept>

namespace bubblescope::runtime {

template <class T>
void DeviceReplay<T>::run(LayerProbe& probe) const {
    switch (layer_) {
    case Layer::Embedding: return runEmbedding(probe);
    case Layer::Block: return runBlock(probe);
    case Layer::Head: return runHead(probe);
    }
}

// Results are thrown away: the probe has seen them.

template <class T>
void DeviceReplay<T>::runEmbedding(LayerProbe& probe) const {
    switch (part_) {
    case LayerPart::Forward: static_cast<void>(gpt_.embed(tokens, rows, &probe)); break;
    case LayerPart::InputGradient: {
        const Buffer grad = gpt_.layers().queue().copyOf(input);
        gpt_.layers().show(&probe, CheckedTensor::InputGradient, grad);
        break;
    }
    case LayerPart::WeightGradient:
        weightGradient(probe, [&](DeviceGradientSum::Target to) { gpt_.embeddingGradient(tokens, input, rows, to); });
        break;
    }
}

template <class T>
void DeviceReplay<T>::runBlock(LayerProbe& probe) const {
    WorkQueue& on = gpt_.layers().queue();
    const Block block = gpt_.block(block_, &probe);
    if (part_ == LayerPart::WeightGradient)
        return weightGradient(probe, [&](auto to) { block.backwardWeight(kept, rows.tokens, to); });
    std::vector<typename Block::Kept> slices;
    std::vector<typename Block::Kept*> pointers;
    for (const auto& slice : earlier)
        slices.push_back(copyOfSlice(slice, on));
    for (auto& slice : slices)
        pointers.push_back(&slice);
    if (part_ == LayerPart::Forward) {
        typename Block::Kept scratch;
        static_cast<void>(block.forward(on.copyOf(input), rows.tokens, pointers, scratch));
    } else {
        typename Block::Kept scratch = copyForBackward(kept, on);
        static_cast<void>(block.backwardInput(on.copyOf(input), rows.tokens, pointers, scratch));
    }
}

template <class T>
void DeviceReplay<T>::runHead(LayerProbe& probe) const {
    switch (part_) {
    case LayerPart::Forward: {
        typename DeviceGpt<T>::Head scratch;
        const Buffer loss = gpt_.layers().template take<double>(1);
        gpt_.headForward(input, targets, rows, scratch, loss.as<double>(), &probe);
        break;
    }
    case LayerPart::InputGradient: {
        Buffer normalised_grad;
        static_cast<void>(gpt_.headInputGradient(head, normalised_grad, rows, &probe));
        break;
    }
    case LayerPart::WeightGradient:
        weightGradient(probe, [&](DeviceGradientSum::Target to) { gpt_.headWeightGradient(head, rows, to); });
        break;
    }
}

template <class T>
template <class Work>
void DeviceReplay<T>::weightGradient(LayerProbe& probe, const Work& work) const {
    WorkQueue& on = gpt_.layers().queue();
    Buffer run = on.copyOf(sum);
    const bool accumulate = !run.empty();
    if (!accumulate) {
        run = gpt_.layers().template take<float>(weights_.size);
        on.device().zero(run.as<void>(), run.bytes(), on.stream());
    }
    work(DeviceGradientSum::Target{run.as<float>() - weights_.first, accumulate});
    gpt_.layers().showRun(&probe, CheckedTensor::WeightGradient, run.as<float>(), weights_.size);
}

template <class T>
typename DeviceReplay<T>::Block::Kept DeviceReplay<T>::copyForBackward(const typename Block::Kept& from,
                                                                       WorkQueue& on) {
    typename Block::Kept copy = copyOfSlice(from, on);
    copy.before = {on.copyOf(from.before.values), on.copyOf(from.before.inverse_deviations)};
    copy.between = {on.copyOf(from.between.values), on.copyOf(from.between.inverse_deviations)};
    copy.up = on.copyOf(from.up);
    return copy;
}

template <class T>
typename DeviceReplay<T>::Block::Kept DeviceReplay<T>::copyOfSlice(const typename Block::Kept& from, WorkQueue& on) {
    typename Block::Kept copy;
    copy.columns = on.copyOf(from.columns);
    copy.later_grad = on.copyOf(from.later_grad);
    return copy;
}

template <class T>
std::int64_t DeviceReplay<T>::bytes() const {
    std::int64_t all = input.bytes() + tokens.bytes() + targets.bytes() + kept.bytes() + head.bytes() + sum.bytes();
    for (const auto& slice : earlier)
        all += slice.bytes();
    return all;
}

template <class T>
void DeviceReplay<T>::detach() {
    throw std::logic_error("a layer on a device is run again by its own rank only");
}

template class DeviceReplay<float>;
template class DeviceReplay<Bf16>;

} // namespace bubblescope::runtime
