#include "runtime/model/gpt_layers.h"

namespace bubblescope::runtime {

template <class T>
Buffer Embedding<T>::forward(const Buffer& tokens, const PieceRows& rows) const {
    const ParameterView<T>& tables = layers_.parameters();
    Buffer output = layers_.take(rows.tokens() * width());
    layers_.queue().launch(EmbedKernel<T>{output.as<T>(), tokens.as<int>(), tables.weight(0), tables.weight(1),
                                          rows.tokens(), width(), vocabulary(), tables.part(1).rows, rows.begin,
                                          rows.length});
    layers_.show(CheckedTensor::Output, output);
    return output;
}

template <class T>
void Embedding<T>::backwardWeight(const Buffer& tokens, const Buffer& output_grad, const PieceRows& rows,
                                  GradientSum::Target target) const {
    const ParameterView<T>& tables = layers_.parameters();
    WorkQueue& queue = layers_.queue();
    queue.launch(TokenTableGradientKernel<T>{target.column + tables.part(0).weight, output_grad.as<T>(),
                                             tokens.as<int>(), rows.tokens(), width(), vocabulary(),
                                             target.accumulate});
    queue.launch(PositionTableGradientKernel<T>{target.column + tables.part(1).weight, output_grad.as<T>(), width(),
                                                tables.part(1).rows, rows.batch, rows.begin, rows.length,
                                                target.accumulate});
}

template <class T>
void Head<T>::forward(const Buffer& input, const Buffer& targets, const PieceRows& rows, Saved& saved,
                      double* loss) const {
    WorkQueue& queue = layers_.queue();
    const std::int64_t tokens = rows.tokens();
    const std::int64_t vocabulary = layers_.columns(kLinear);
    saved.normalised = layers_.normalise(input, tokens, layers_.columns(kNorm));
    layers_.show(saved.normalised);
    const Buffer logits = layers_.applyExactly(kLinear, layers_.scaled(kNorm, saved.normalised, tokens), tokens);
    const Buffer row_losses = layers_.template take<float>(tokens);
    saved.logits_grad = layers_.take(tokens * vocabulary);
    const std::int64_t all = std::int64_t{rows.batch} * rows.sequence;
    queue.launch(CrossEntropyKernel<T>{saved.logits_grad.template as<T>(), row_losses.as<float>(), logits.as<float>(),
                                       targets.as<int>(), tokens, vocabulary, 1.0F / static_cast<float>(all)});
    queue.launch(LossKernel{loss, row_losses.as<float>(), tokens, 1.0 / static_cast<double>(all)});
    // A double is shown as two floats with its bits.
    layers_.place().show(CheckedTensor::Loss, static_cast<float*>(static_cast<void*>(loss)), 2);
    layers_.show(CheckedTensor::LogitsGradient, saved.logits_grad);
}

template <class T>
Buffer Head<T>::backwardInput(const Saved& saved, Buffer& normalised_grad, const PieceRows& rows) const {
    normalised_grad = layers_.inputGradient(kLinear, saved.logits_grad, rows.tokens());
    layers_.show(CheckedTensor::NormalisedGradient, normalised_grad);
    Buffer grad = layers_.normInputGradient(kNorm, saved.normalised, normalised_grad, {}, rows.tokens());
    layers_.show(CheckedTensor::InputGradient, grad);
    return grad;
}

template <class T>
void Head<T>::backwardWeight(const Saved& saved, const PieceRows& rows, GradientSum::Target target) const {
    layers_.normWeightGradient(kNorm, saved.normalised, saved.normalised_grad, rows.tokens(), target);
    layers_.weightGradient(kLinear, layers_.scaled(kNorm, saved.normalised, rows.tokens()), saved.logits_grad,
                           rows.tokens(), target);
}

template class Embedding<float>;
template class Embedding<Bf16>;
template class Head<float>;
template class Head<Bf16>;

} // namespace bubblescope::runtime
