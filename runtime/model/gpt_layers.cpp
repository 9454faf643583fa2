#include "runtime/model/gpt_layers.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

// As in layers.cpp, matrices are used as their transposes: the scores of a head, with one row per query, are the
// column-major product Kᵀ·Q of Q and K, whose rows are stored one after another.

template <class T>
float Attention<T>::scale() const {
    return 1.0F / std::sqrt(static_cast<float>(shape_.headWidth()));
}

template <class T>
std::int64_t Attention<T>::seen(std::span<const Buffer* const> earlier, std::int64_t rows) const {
    const std::int64_t row_bytes = 3 * shape_.width * static_cast<std::int64_t>(sizeof(T)) * shape_.batch;
    std::int64_t sum = rows;
    for (const Buffer* const slice : earlier)
        sum += slice->bytes() / row_bytes;
    return sum;
}

template <class T>
int Attention<T>::headsAtOnce(std::int64_t rows, std::int64_t seen) const {
    constexpr std::int64_t kCached = std::int64_t{24} << 20; // fits the 40 to 60 MB caches of current large GPUs
    const std::int64_t one = rows * seen * static_cast<std::int64_t>(sizeof(float) + sizeof(T));
    return static_cast<int>(std::clamp<std::int64_t>(kCached / one, 1, shape_.heads));
}

template <class T>
void Attention<T>::gather(T* to, int sequence, const Buffer& qkv, std::span<const Buffer* const> earlier) const {
    WorkQueue& queue = layers_.queue();
    const auto append = [&](const Buffer& slice) {
        const std::int64_t bytes = slice.bytes() / shape_.batch;
        const std::int64_t values = bytes / static_cast<std::int64_t>(sizeof(T));
        queue.device().copy(to, slice.as<T>() + sequence * values, bytes, queue.stream());
        to += values;
    };
    for (const Buffer* const slice : earlier)
        append(*slice);
    append(qkv);
}

template <class T>
void Attention<T>::scatter(const float* gathered, int sequence, std::span<Buffer* const> earlier_grads, Buffer& grad,
                           std::int64_t rows) const {
    const std::int64_t width = shape_.width;
    WorkQueue& queue = layers_.queue();
    for (Buffer* const slice : earlier_grads) {
        const std::int64_t values = slice->bytes() / static_cast<std::int64_t>(sizeof(float)) / shape_.batch;
        queue.launch(AddKernel{slice->as<float>() + sequence * values, gathered, values});
        gathered += values;
    }
    queue.launch(AddColumnsKernel<T>{grad.as<T>() + sequence * rows * 3 * width, gathered, rows, 2 * width, 3 * width,
                                     width, 2 * width, 0});
}

template <class T>
template <class Work>
void Attention<T>::forGroups(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens,
                             const Buffer& saved, Scratch& scratch, const Work& work) const {
    const std::int64_t width = shape_.width;
    const std::int64_t rows = tokens / shape_.batch;
    const std::int64_t keys = seen(earlier, rows);
    const int at_once = headsAtOnce(rows, keys);
    if (!earlier.empty()) scratch.gathered = layers_.take(keys * 3 * width);
    scratch.scores = layers_.template take<float>(at_once * rows * keys);
    if (saved.empty()) scratch.weights = layers_.take(at_once * rows * keys);
    for (int sequence = 0; sequence < shape_.batch; ++sequence) {
        const T* const own = qkv.as<T>() + sequence * rows * 3 * width;
        const T* all = own;
        if (!earlier.empty()) {
            gather(scratch.gathered.template as<T>(), sequence, qkv, earlier);
            all = scratch.gathered.template as<T>();
        }
        for (int head = 0; head < shape_.heads; head += at_once) {
            const std::int64_t at = head * shape_.headWidth();
            T* const weights = saved.empty() ? scratch.weights.template as<T>()
                                             : saved.as<T>() + (sequence * shape_.heads + head) * rows * keys;
            work(sequence, Group{own + at, all + width + at, all + 2 * width + at, weights, rows, keys, head,
                                 std::min(at_once, shape_.heads - head)});
        }
    }
}

template <class T>
void Attention<T>::multiply(const Group& group, GemmMatrix a, GemmMatrix b, GemmMatrix result, std::int64_t rows,
                            std::int64_t columns, std::int64_t inner, Storage out, float scale) const {
    Gemm gemm;
    gemm.rows = rows;
    gemm.columns = columns;
    gemm.inner = inner;
    gemm.in = kStorage<T>;
    gemm.out = out;
    gemm.a = a;
    gemm.b = b;
    gemm.result = result;
    gemm.scale = scale;
    gemm.batch = group.heads;
    layers_.queue().device().multiply(gemm, layers_.queue().stream());
}

namespace {

template <class T>
GemmMatrix factor(const T* data, std::int64_t leading, std::int64_t stride, bool transposed = false) {
    return {const_cast<T*>(data), leading, stride, transposed}; // factors are only read
}

} // namespace

template <class T>
void Attention<T>::makeWeights(const Group& group, Scratch& scratch) const {
    const std::int64_t leading = 3 * shape_.width;
    multiply(group, factor(group.keys, leading, shape_.headWidth(), true),
             factor(group.queries, leading, shape_.headWidth()),
             {scratch.scores.template as<void>(), group.seen, group.rows * group.seen, false}, group.seen, group.rows,
             shape_.headWidth(), Storage::Float, scale());
    layers_.queue().launch(CausalSoftmaxKernel<T>{group.weights, scratch.scores.template as<float>(), group.heads,
                                                  group.rows, group.seen});
}

template <class T>
AttentionSizes Attention<T>::sizes(std::int64_t rows, std::int64_t seen) const {
    return {shape_.batch, shape_.heads, static_cast<int>(shape_.headWidth()), rows, seen, scale()};
}

template <class T>
struct Attention<T>::FusedInput {
    FusedInput(const Attention& attention, const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t rows,
               std::int64_t seen)
        : sizes(attention.sizes(rows, seen)) {
        const std::int64_t stride = 3 * attention.shape_.width;
        const T* all = qkv.as<T>();
        if (!earlier.empty()) {
            gathered = attention.layers_.take(sizes.sequences * seen * stride);
            for (int sequence = 0; sequence < sizes.sequences; ++sequence)
                attention.gather(gathered.as<T>() + sequence * seen * stride, sequence, qkv, earlier);
            all = gathered.as<T>();
        }
        queries = {qkv.as<T>(), stride, rows * stride};
        keys = {all + attention.shape_.width, stride, seen * stride};
        values = {all + 2 * attention.shape_.width, stride, seen * stride};
    }

    AttentionSizes sizes;
    Buffer gathered; ///< of all sequences
    HeadRows<const T> queries;
    HeadRows<const T> keys;
    HeadRows<const T> values;
};

template <class T>
void Attention<T>::attendFused(const FusedInput& input, Buffer& output, Buffer& logs) const {
    if constexpr (std::is_same_v<T, Bf16>) {
        FusedAttention attention;
        attention.sizes = input.sizes;
        attention.queries = input.queries;
        attention.keys = input.keys;
        attention.values = input.values;
        attention.output = {output.as<T>(), shape_.width, input.sizes.rows * shape_.width};
        attention.logs = logs.as<float>();
        layers_.queue().device().attend(attention, layers_.queue().stream());
    }
}

template <class T>
void Attention<T>::gradientFused(const FusedInput& input, const Buffer& output_grad, const Saved& saved, Buffer& grad,
                                 Buffer& gathered_grad) const {
    if constexpr (std::is_same_v<T, Bf16>) {
        const std::int64_t width = shape_.width;
        const AttentionSizes& sizes = input.sizes;
        const Buffer along = layers_.template take<float>(sizes.pairs() * sizes.rows);
        FusedAttentionGradient attention;
        attention.sizes = sizes;
        attention.queries = input.queries;
        attention.keys = input.keys;
        attention.values = input.values;
        attention.output = {saved.attended.template as<T>(), width, sizes.rows * width};
        attention.output_grad = {output_grad.as<T>(), width, sizes.rows * width};
        attention.logs = saved.weights.template as<float>();
        attention.along = along.as<float>();
        const auto part = [&](auto* data, std::int64_t number, std::int64_t parts, std::int64_t rows) {
            return HeadRows<std::remove_pointer_t<decltype(data)>>{data + number * width, parts * width,
                                                                   rows * parts * width};
        };
        attention.queries_grad = part(grad.as<T>(), 0, 3, sizes.rows);
        if (gathered_grad.empty()) {
            attention.keys_grad = part(grad.as<T>(), 1, 3, sizes.rows);
            attention.values_grad = part(grad.as<T>(), 2, 3, sizes.rows);
        } else {
            attention.keys_sum = part(gathered_grad.as<float>(), 0, 2, sizes.seen);
            attention.values_sum = part(gathered_grad.as<float>(), 1, 2, sizes.seen);
        }
        layers_.queue().device().attendBackward(attention, layers_.queue().stream());
    }
}

template <class T>
Buffer Attention<T>::attend(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens,
                            Buffer& saved) const {
    Buffer output = layers_.take(tokens * shape_.width);
    if (fused()) {
        const std::int64_t rows = tokens / shape_.batch;
        saved = layers_.template take<float>(tokens * shape_.heads);
        attendFused(FusedInput(*this, qkv, earlier, rows, seen(earlier, rows)), output, saved);
        return output;
    }
    if (layers_.place().rank.traits().saves_attention)
        saved = layers_.take(tokens * shape_.heads * seen(earlier, tokens / shape_.batch));
    Scratch scratch;
    forGroups(qkv, earlier, tokens, saved, scratch, [&](int sequence, const Group& group) {
        makeWeights(group, scratch);
        T* const to = output.as<T>() + sequence * group.rows * shape_.width + group.first * shape_.headWidth();
        multiply(group, factor(group.values, 3 * shape_.width, shape_.headWidth()),
                 factor(group.weights, group.seen, group.rows * group.seen),
                 {to, shape_.width, shape_.headWidth(), false}, shape_.headWidth(), group.rows, group.seen,
                 kStorage<T>);
    });
    return output;
}

template <class T>
Buffer Attention<T>::gradient(const Buffer& output_grad, const Buffer& qkv, std::span<const Buffer* const> earlier,
                              std::int64_t tokens, const Saved& saved, const Buffer& later_grad,
                              std::span<Buffer* const> earlier_grads) const {
    const std::int64_t width = shape_.width;
    const std::int64_t each = shape_.headWidth();
    const std::int64_t rows = tokens / shape_.batch;
    const bool sliced = !earlier.empty();
    WorkQueue& queue = layers_.queue();
    Buffer grad = layers_.take(tokens * 3 * width);
    // The keys and values of a sequence in slices get gradients from several slices, which are summed in float.
    const std::int64_t keys = seen(earlier, rows);
    const std::int64_t at_once = fused() ? shape_.batch : 1; // sequences
    Buffer gathered_grad = sliced ? layers_.template take<float>(at_once * keys * 2 * width) : Buffer();
    if (sliced) queue.device().zero(grad.as<void>(), grad.bytes(), queue.stream());
    Scratch scratch;

    const auto backward = [&](int sequence, const Group& group) {
        if (saved.weights.empty()) makeWeights(group, scratch);
        const std::int64_t at = group.first * each;
        const std::int64_t square = group.rows * group.seen;
        const T* const out = output_grad.as<T>() + sequence * rows * width + at;
        T* const own = grad.as<T>() + sequence * rows * 3 * width + at;
        const auto into = [&](std::int64_t part) -> GemmMatrix {
            if (sliced) return {gathered_grad.as<float>() + (part - 1) * width + at, 2 * width, each, false};
            return {own + part * width, 3 * width, each, false};
        };
        const Storage out_storage = sliced ? Storage::Float : kStorage<T>;
        const GemmMatrix weights = factor(group.weights, group.seen, square);
        GemmMatrix weights_transposed = weights;
        weights_transposed.transposed = true;
        // Values come first, then the weights, whose memory is reused for the gradient of the scores, then queries and
        // keys.
        multiply(group, factor(out, width, each), weights_transposed, into(2), each, group.seen, group.rows,
                 out_storage);
        multiply(group, factor(group.values, 3 * width, each, true), factor(out, width, each),
                 {scratch.scores.template as<void>(), group.seen, square, false}, group.seen, group.rows, each,
                 Storage::Float);
        queue.launch(CausalSoftmaxGradientKernel<T>{group.weights, scratch.scores.template as<float>(), group.heads,
                                                    group.rows, group.seen, scale()});
        multiply(group, factor(group.keys, 3 * width, each), weights, {own, 3 * width, each, false}, each, group.rows,
                 group.seen, kStorage<T>);
        multiply(group, factor(group.queries, 3 * width, each), weights_transposed, into(1), each, group.seen,
                 group.rows, out_storage);
        if (!sliced || group.first + group.heads < shape_.heads) return;
        // The sequence is complete, so the keys and values of each slice get their rows.
        scatter(gathered_grad.as<float>(), sequence, earlier_grads, grad, rows);
    };
    if (fused()) {
        const FusedInput input(*this, qkv, earlier, rows, keys);
        gradientFused(input, output_grad, saved, grad, gathered_grad);
        for (int sequence = 0; sliced && sequence < shape_.batch; ++sequence)
            scatter(gathered_grad.as<float>() + sequence * keys * 2 * width, sequence, earlier_grads, grad, rows);
    } else {
        forGroups(qkv, earlier, tokens, saved.weights, scratch, backward);
    }
    if (!later_grad.empty()) {
        queue.launch(AddColumnsKernel<T>{grad.as<T>(), later_grad.as<float>(), tokens, 2 * width, 3 * width, width,
                                         2 * width, 0});
    }
    return grad;
}

template class Attention<float>;
template class Attention<Bf16>;

template <class T>
std::int64_t TransformerBlock<T>::Saved::bytes() const {
    std::int64_t sum = ln1.bytes() + qkv.bytes() + weights.bytes() + attended.bytes() + ln2.bytes() + hidden.bytes() +
                       later_grad.bytes();
    for (const Buffer& one : output_grads)
        sum += one.bytes();
    return sum;
}

template <class T>
Buffer TransformerBlock<T>::forward(Buffer input, std::int64_t tokens, std::span<Saved* const> earlier,
                                    Saved& saved) const {
    {
        auto [normalised, scaled] = layers_.normaliseAndScale(Parts::kLn1, input, tokens);
        saved.ln1 = std::move(normalised);
        saved.qkv = layers_.apply(Parts::kQkv, scaled, tokens);
    }
    show(CheckedTensor::Columns, saved.qkv);
    std::vector<const Buffer*> qkv;
    for (const Saved* const slice : earlier)
        qkv.push_back(&slice->qkv);
    saved.attended = attention_.attend(saved.qkv, qkv, tokens, saved.weights);
    if (attention_.fused()) {
        layers_.template show<float>(CheckedTensor::Attention, saved.weights);
    } else {
        show(CheckedTensor::Attention, saved.weights);
    }
    show(CheckedTensor::Attended, saved.attended);
    Buffer between = std::move(input);
    layers_.applyOnto(between, Parts::kProjection, saved.attended, tokens);
    {
        auto [normalised, scaled] = layers_.normaliseAndScale(Parts::kLn2, between, tokens);
        saved.ln2 = std::move(normalised);
        saved.hidden = layers_.apply(Parts::kFc1, scaled, tokens);
    }
    show(CheckedTensor::Hidden, saved.hidden);
    layers_.applyOnto(between, Parts::kFc2, layers_.gelu(saved.hidden), tokens);
    show(CheckedTensor::Output, between);
    return between;
}

template <class T>
Buffer TransformerBlock<T>::backwardInput(Buffer output_grad, std::int64_t tokens, std::span<Saved* const> earlier,
                                          Saved& saved) const {
    auto& grads = saved.output_grads;
    grads[Parts::kFc1] = layers_.inputGradient(Parts::kFc2, output_grad, tokens);
    layers_.geluGradient(grads[Parts::kFc1], saved.hidden);
    show(CheckedTensor::HiddenGradient, grads[Parts::kFc1]);
    grads[Parts::kLn2] = layers_.inputGradient(Parts::kFc1, grads[Parts::kFc1], tokens);
    show(CheckedTensor::NormalisedGradient, grads[Parts::kLn2]);
    Buffer between = layers_.normInputGradient(Parts::kLn2, saved.ln2, grads[Parts::kLn2], output_grad, tokens);
    show(CheckedTensor::AttendedGradient, between);
    grads[Parts::kFc2] = std::move(output_grad);

    std::vector<const Buffer*> qkv;
    std::vector<Buffer*> qkv_grads;
    WorkQueue& on = layers_.queue();
    const auto own = [&](Buffer& changes) {
        if (changes.shared()) changes = on.copyOf(changes);
    };
    if (!attention_.fused()) own(saved.weights);
    for (Saved* const slice : earlier) {
        own(slice->later_grad);
        qkv.push_back(&slice->qkv);
        if (slice->later_grad.empty()) {
            const std::int64_t values = slice->qkv.bytes() / static_cast<std::int64_t>(sizeof(T)) / 3 * 2;
            slice->later_grad = layers_.template take<float>(values);
            on.device().zero(slice->later_grad.template as<void>(), slice->later_grad.bytes(), on.stream());
        }
        qkv_grads.push_back(&slice->later_grad);
    }
    grads[Parts::kQkv] = attention_.gradient(layers_.inputGradient(Parts::kProjection, between, tokens), saved.qkv, qkv,
                                             tokens, {saved.attended, saved.weights}, saved.later_grad, qkv_grads);
    show(CheckedTensor::ColumnsGradient, grads[Parts::kQkv]);
    for (const Buffer* const one : qkv_grads)
        layers_.template show<float>(CheckedTensor::EarlierGradient, *one);
    grads[Parts::kLn1] = layers_.inputGradient(Parts::kQkv, grads[Parts::kQkv], tokens);
    show(CheckedTensor::NormalisedGradient, grads[Parts::kLn1]);
    Buffer input_grad = layers_.normInputGradient(Parts::kLn1, saved.ln1, grads[Parts::kLn1], between, tokens);
    show(CheckedTensor::InputGradient, input_grad);
    grads[Parts::kProjection] = std::move(between);

    saved.qkv = Buffer();
    saved.weights = Buffer();
    saved.later_grad = Buffer();
    saved.ln1.inverse_deviations = Buffer();
    saved.ln2.inverse_deviations = Buffer();
    return input_grad;
}

template <class T>
void TransformerBlock<T>::backwardWeight(const Saved& saved, std::int64_t tokens, GradientSum::Target target) const {
    const auto& grads = saved.output_grads;
    layers_.normWeightGradient(Parts::kLn1, saved.ln1, grads[Parts::kLn1], tokens, target);
    layers_.weightGradient(Parts::kQkv, Parts::kLn1, saved.ln1, grads[Parts::kQkv], tokens, target);
    layers_.weightGradient(Parts::kProjection, saved.attended, grads[Parts::kProjection], tokens, target);
    layers_.normWeightGradient(Parts::kLn2, saved.ln2, grads[Parts::kLn2], tokens, target);
    layers_.weightGradient(Parts::kFc1, Parts::kLn2, saved.ln2, grads[Parts::kFc1], tokens, target);
    layers_.weightGradient(Parts::kFc2, layers_.gelu(saved.hidden), grads[Parts::kFc2], tokens, target);
}

template class TransformerBlock<float>;
template class TransformerBlock<Bf16>;

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
                                             target.beforeAt(tables.part(0).weight)});
    queue.launch(PositionTableGradientKernel<T>{target.column + tables.part(1).weight, output_grad.as<T>(), width(),
                                                tables.part(1).rows, rows.batch, rows.begin, rows.length,
                                                target.beforeAt(tables.part(1).weight)});
}

template <class T>
void Head<T>::forward(const Buffer& input, const Buffer& targets, const PieceRows& rows, Saved& saved,
                      const Buffer& losses, std::size_t number) const {
    WorkQueue& queue = layers_.queue();
    const std::int64_t tokens = rows.tokens();
    const std::int64_t vocabulary = layers_.columns(kLinear);
    auto [normalised, scaled] = layers_.normaliseAndScale(kNorm, input, tokens);
    saved.normalised = std::move(normalised);
    const Buffer logits = layers_.applyExactly(kLinear, scaled, tokens);
    double* const loss = losses.as<double>() + number;
    const Buffer row_losses = layers_.template take<float>(tokens);
    saved.logits_grad = layers_.take(tokens * vocabulary);
    const std::int64_t all = std::int64_t{rows.batch} * rows.sequence;
    queue.launch(CrossEntropyKernel<T>{saved.logits_grad.template as<T>(), row_losses.as<float>(), logits.as<float>(),
                                       targets.as<int>(), tokens, vocabulary, 1.0F / static_cast<float>(all)});
    queue.launch(LossKernel{loss, row_losses.as<float>(), tokens, 1.0 / static_cast<double>(all)});
    // A double is passed as two floats that contain its bits.
    layers_.place().show(CheckedTensor::Loss, static_cast<float*>(static_cast<void*>(loss)), 2,
                         std::make_shared<const Buffer>(losses.share()));
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
    layers_.weightGradient(kLinear, kNorm, saved.normalised, saved.logits_grad, rows.tokens(), target);
}

template class Embedding<float>;
template class Embedding<Bf16>;
template class Head<float>;
template class Head<Bf16>;

} // namespace bubblescope::runtime
