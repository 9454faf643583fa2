#include "runtime/model/captured_layer.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// Replays the sums of the first execution.
class RecordedSums final : public PartSums {
public:
    RecordedSums(const std::vector<Buffer>& sums, WorkQueue& on) : sums_(sums), on_(on) {}
    [[nodiscard]] Buffer addUp(Buffer /*part*/, std::int64_t /*rows*/, std::int64_t /*columns*/) override {
        return on_.copyOf(sums_.at(next_++));
    }

private:
    const std::vector<Buffer>& sums_;
    WorkQueue& on_;
    std::size_t next_ = 0;
};

} // namespace

Buffer GroupSums::addUp(Buffer part, std::int64_t rows, std::int64_t columns) {
    Buffer sum = queue_.take(group_.addUp(queue_.give(std::move(part), rows, columns, Storage::Float)), rows, columns,
                             Storage::Float);
    if (copies_ != nullptr) copies_->push_back(queue_.copyOf(sum));
    return sum;
}

template <class T>
void CapturedGptLayer<T>::run(LayerProbe& probe) const {
    WorkQueue& on = queue_->checks();
    RecordedSums recorded(sums, on);
    const Layers<T> layers({*queue_, on, shared ? &recorded : nullptr, &probe}, parameters_);
    switch (layer_) {
    case Layer::Embedding: return runEmbedding(layers);
    case Layer::Block: return runBlock(layers);
    case Layer::Head: return runHead(layers);
    }
}

// These functions discard their results, because the probe has received them.

template <class T>
void CapturedGptLayer<T>::runEmbedding(const Layers<T>& layers) const {
    const Embedding<T> embedding(layers);
    switch (part_) {
    case LayerPart::Forward: static_cast<void>(embedding.forward(tokens, rows)); break;
    case LayerPart::InputGradient: {
        const Buffer grad = layers.queue().copyOf(input); // a probe may change it
        layers.show(CheckedTensor::InputGradient, grad);
        break;
    }
    case LayerPart::WeightGradient:
        weightGradient(layers, [&](GradientSum::Target to) { embedding.backwardWeight(tokens, input, rows, to); });
        break;
    }
}

template <class T>
void CapturedGptLayer<T>::runBlock(const Layers<T>& layers) const {
    const Block block(layers, rows.batch, heads);
    if (part_ == LayerPart::WeightGradient) {
        return weightGradient(layers, [&](GradientSum::Target to) { block.backwardWeight(saved, rows.tokens(), to); });
    }
    std::vector<typename Block::Saved> slices;
    std::vector<typename Block::Saved*> pointers;
    for (const auto& slice : earlier)
        slices.push_back(shareOfSlice(slice));
    for (auto& slice : slices)
        pointers.push_back(&slice);
    if (part_ == LayerPart::Forward) {
        typename Block::Saved scratch;
        static_cast<void>(block.forward(input.share(), rows.tokens(), pointers, scratch));
    } else {
        typename Block::Saved scratch = shareForBackward(saved);
        static_cast<void>(block.backwardInput(input.share(), rows.tokens(), pointers, scratch));
    }
}

template <class T>
void CapturedGptLayer<T>::runHead(const Layers<T>& layers) const {
    const Head<T> last(layers);
    switch (part_) {
    case LayerPart::Forward: {
        typename Head<T>::Saved scratch;
        last.forward(input, targets, rows, scratch, layers.template take<double>(1), 0);
        break;
    }
    case LayerPart::InputGradient: {
        Buffer normalised_grad;
        static_cast<void>(last.backwardInput(head, normalised_grad, rows));
        break;
    }
    case LayerPart::WeightGradient:
        weightGradient(layers, [&](GradientSum::Target to) { last.backwardWeight(head, rows, to); });
        break;
    }
}

template <class T>
template <class Work>
void CapturedGptLayer<T>::weightGradient(const Layers<T>& layers, const Work& work) const {
    WorkQueue& on = layers.queue();
    const FlatRun run = weightRun();
    const Buffer column = layers.template take<float>(run.size);
    float* const start = column.as<float>() - run.first;
    zeroGaps(on, parameters_.parts, start);
    work(GradientSum::Target{start, gradient_sum.memory ? gradient_sum.values - run.first : nullptr});
    layers.template show<float>(CheckedTensor::WeightGradient, column);
}

template <class T>
typename CapturedGptLayer<T>::Block::Saved CapturedGptLayer<T>::shareForBackward(const typename Block::Saved& from) {
    typename Block::Saved share = shareOfSlice(from);
    share.ln1 = {from.ln1.values.share(), from.ln1.inverse_deviations.share()};
    share.weights = from.weights.share();
    // Only fused attention reads its own output again, and only with rounded numbers.
    if constexpr (std::is_same_v<T, Bf16>) share.attended = from.attended.share();
    share.ln2 = {from.ln2.values.share(), from.ln2.inverse_deviations.share()};
    share.hidden = from.hidden.share();
    return share;
}

template <class T>
typename CapturedGptLayer<T>::Block::Saved CapturedGptLayer<T>::shareOfSlice(const typename Block::Saved& from) {
    typename Block::Saved share;
    share.qkv = from.qkv.share();
    share.later_grad = from.later_grad.share();
    return share;
}

template <class T>
std::int64_t CapturedGptLayer<T>::bytes() const {
    std::int64_t all =
        input.bytes() + tokens.bytes() + targets.bytes() + saved.bytes() + head.bytes() + own_weights_.bytes();
    if (gradient_sum.memory) all += weightRun().size * bytesOf(Storage::Float);
    for (const auto& slice : earlier)
        all += slice.bytes();
    for (const Buffer& sum : sums)
        all += sum.bytes();
    return all;
}

template <class T>
bool CapturedGptLayer<T>::travels() const {
    return std::is_same_v<T, float> && queue_->device().sharesHostMemory();
}

template <class T>
void CapturedGptLayer<T>::detach() {
    if (!own_parts_.empty()) return; // other threads may be running it already
    if (!travels()) throw std::logic_error("a layer on a device can only be repeated by its own rank");
    const FlatRun weights = weightRun();
    own_weights_ = queue_->pool().take(weights.size * bytesOf(Storage::Float));
    queue_->device().copy(own_weights_.as<void>(), parameters_.exact + weights.first, own_weights_.bytes(),
                          queue_->stream());
    own_parts_.assign(parameters_.parts.begin(), parameters_.parts.end());
    for (FlatPart& part : own_parts_) {
        part.weight -= weights.first;
        part.bias -= weights.first;
    }
    parameters_ = {own_parts_, own_weights_.as<float>(), own_weights_.as<T>()};
}

// Serialisation for another process. Received data are validated before use, because tensors of wrong shapes would make
// the maths read beyond their ends.

namespace {

void buffer(WireWriter& wire, const Buffer& value, ComputeQueue& /*queue*/) {
    wire(value.bytes());
    wire.block(value.as<void>(), static_cast<std::size_t>(value.bytes()));
}

/// Does not allocate a buffer that claims more bytes than follow in the message.
void buffer(WireReader& wire, Buffer& value, ComputeQueue& queue) {
    std::int64_t bytes = 0;
    wire(bytes);
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > wire.left()) return wire.reject();
    value = queue.pool().take(bytes);
    wire.block(value.as<void>(), static_cast<std::size_t>(bytes));
}

/// Serialises a vector; `entry` is called for each element.
template <class Element, class Entry>
void entries(WireWriter& wire, const std::vector<Element>& values, const Entry& entry) {
    wire(std::uint64_t{values.size()});
    for (const Element& value : values)
        entry(value);
}

template <class Element, class Entry>
void entries(WireReader& wire, std::vector<Element>& values, const Entry& entry) {
    std::uint64_t count = 0;
    wire(count);
    for (std::uint64_t i = 0; i < count && !wire.failed(); ++i)
        entry(values.emplace_back());
}

} // namespace

template <class T>
template <class Wire, class Self>
void CapturedGptLayer<T>::fields(Wire& wire, Self& self) {
    ComputeQueue& queue = *self.queue_;
    const auto all = [&](auto&... buffers) { (buffer(wire, buffers, queue), ...); };
    const auto block = [&](auto& of) {
        auto& [ln1, qkv, weights, attended, ln2, hidden, later_grad, output_grads] = of;
        all(ln1.values, ln1.inverse_deviations, qkv, weights, attended, ln2.values, ln2.inverse_deviations, hidden,
            later_grad);
        for (auto& grad : output_grads)
            all(grad);
    };
    auto& [batch, begin, length, sequence] = self.rows;
    wire(self.part_, self.layer_, batch, begin, length, sequence, self.heads);
    all(self.input, self.tokens, self.targets);
    block(self.saved);
    entries(wire, self.earlier, block);
    auto& [normalised, logits_grad, normalised_grad] = self.head;
    all(normalised.values, normalised.inverse_deviations, logits_grad, normalised_grad);
    entries(wire, self.sums, all);
}

template <class T>
bool CapturedGptLayer<T>::pack(WireWriter& wire) const {
    if (!travels()) return false;
    wire(static_cast<std::uint8_t>(shared ? 1 : 0));
    fields(wire, *this);
    wire(std::uint64_t{parameters_.parts.size()});
    for (const FlatPart& part : parameters_.parts) {
        wire(part.cut, part.rows, part.columns, part.bias_size);
        wire.block(parameters_.exact + part.weight, static_cast<std::size_t>(part.weightSize()) * sizeof(float));
        wire.block(parameters_.exact + part.bias, static_cast<std::size_t>(part.bias_size) * sizeof(float));
    }
    return true;
}

template <class T>
bool CapturedGptLayer<T>::unpackParameters(WireReader& wire) {
    std::uint64_t count = 0;
    wire(count);
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count && !wire.failed(); ++i) {
        FlatPart& part = own_parts_.emplace_back();
        wire(part.cut, part.rows, part.columns, part.bias_size);
        const auto left = static_cast<std::int64_t>(wire.left() / sizeof(float));
        if (part.rows <= 0 || part.columns <= 0 || part.bias_size < 0 || part.rows > left / part.columns ||
            part.bias_size > left - part.weightSize())
            return false;
        part.weight = static_cast<std::int64_t>(values.size());
        part.bias = part.weight + part.weightSize();
        values.resize(static_cast<std::size_t>(part.bias + part.bias_size));
        wire.block(values.data() + part.weight,
                   static_cast<std::size_t>(part.weightSize() + part.bias_size) * sizeof(float));
    }
    if (wire.failed()) return false;
    own_weights_ = queue_->pool().take(static_cast<std::int64_t>(values.size() * sizeof(float)));
    queue_->device().copyIn(own_weights_.as<void>(), values.data(), own_weights_.bytes(), queue_->stream());
    parameters_ = {own_parts_, own_weights_.as<float>(), own_weights_.as<T>()};
    return true;
}

template <class T>
Result<std::unique_ptr<CapturedGptLayer<T>>> CapturedGptLayer<T>::unpack(WireReader& wire,
                                                                         std::shared_ptr<ComputeQueue> queue) {
    auto made =
        std::make_unique<CapturedGptLayer>(std::move(queue), LayerPart::Forward, Layer::Embedding, ParameterView<T>());
    std::uint8_t shared = 0;
    wire(shared);
    made->shared = shared != 0;
    fields(wire, *made);
    if (!made->unpackParameters(wire) || wire.failed())
        return inputError("a layer from another process", "it is truncated or not a layer");
    if (!made->fits()) return inputError("a layer from another process", "its tensors do not match");
    return made;
}

template <class T>
template <class U>
bool CapturedGptLayer<T>::holds(const Buffer& buffer, std::initializer_list<std::int64_t> sizes) {
    std::int64_t bytes = sizeof(U);
    for (const std::int64_t size : sizes) {
        if (__builtin_mul_overflow(bytes, size, &bytes)) return false;
    }
    return buffer.bytes() == bytes;
}

template <class T>
bool CapturedGptLayer<T>::isPart(std::size_t part, std::int64_t inputs, std::int64_t outputs) const {
    const FlatPart& one = parameters_.part(part);
    return one.rows == inputs && one.columns == outputs && one.bias_size == outputs;
}

template <class T>
bool CapturedGptLayer<T>::namesRows(const Buffer& numbers, std::int64_t count) const {
    return holds<int>(numbers, {rows.tokens()}) &&
           std::all_of(numbers.as<int>(), numbers.as<int>() + rows.tokens(),
                       [&](int number) { return 0 <= number && number < count; });
}

template <class T>
bool CapturedGptLayer<T>::fits() const {
    const bool sane = part_ <= LayerPart::WeightGradient && rows.batch > 0 && rows.begin >= 0 && rows.length > 0 &&
                      rows.sequence >= rows.length && rows.begin <= rows.sequence - rows.length;
    if (!sane) return false;
    switch (layer_) {
    case Layer::Embedding: return embeddingFits();
    case Layer::Block: return blockFits();
    case Layer::Head: return headFits();
    }
    return false;
}

template <class T>
bool CapturedGptLayer<T>::embeddingFits() const {
    if (parameters_.parts.size() != 2 || parameters_.part(0).columns != parameters_.part(1).columns) return false;
    if (part_ == LayerPart::InputGradient) return true;
    if (!namesRows(tokens, parameters_.part(0).rows) || rows.sequence > parameters_.part(1).rows) return false;
    return part_ == LayerPart::Forward || holds(input, {rows.tokens(), parameters_.part(0).columns});
}

template <class T>
bool CapturedGptLayer<T>::blockFits() const {
    using Parts = BlockParts;
    if (parameters_.parts.size() != Parts::kParts) return false;
    const std::int64_t count = rows.tokens();
    const std::int64_t width = parameters_.part(Parts::kLn1).columns;
    const std::int64_t qkv = parameters_.part(Parts::kQkv).columns;
    const std::int64_t hidden = parameters_.part(Parts::kFc1).columns;
    const std::int64_t attended = qkv / 3;
    if (heads <= 0 || qkv % 3 != 0 || attended % heads != 0) return false;
    const bool parts = isPart(Parts::kLn1, 1, width) && isPart(Parts::kQkv, width, qkv) &&
                       isPart(Parts::kProjection, attended, width) && isPart(Parts::kLn2, 1, width) &&
                       isPart(Parts::kFc1, width, hidden) && isPart(Parts::kFc2, hidden, width);
    if (!parts) return false;
    if (part_ == LayerPart::WeightGradient) {
        const auto& grads = saved.output_grads;
        return holds(saved.ln1.values, {count, width}) && holds(saved.ln2.values, {count, width}) &&
               holds(saved.attended, {count, attended}) && holds(saved.hidden, {count, hidden}) &&
               holds(grads[Parts::kLn1], {count, width}) && holds(grads[Parts::kQkv], {count, qkv}) &&
               holds(grads[Parts::kProjection], {count, width}) && holds(grads[Parts::kLn2], {count, width}) &&
               holds(grads[Parts::kFc1], {count, hidden}) && holds(grads[Parts::kFc2], {count, width});
    }
    if (!holds(input, {count, width})) return false;
    std::int64_t seen = rows.length;
    for (const typename Block::Saved& slice : earlier) {
        const std::int64_t row = rows.batch * qkv * static_cast<std::int64_t>(sizeof(T));
        const std::int64_t length = slice.qkv.bytes() / row;
        if (length == 0 || slice.qkv.bytes() % row != 0) return false;
        if (!slice.later_grad.empty() && !holds<float>(slice.later_grad, {rows.batch, length, 2, attended}))
            return false;
        seen += length;
    }
    if (shared) {
        const auto cut = [&](std::size_t part) { return parameters_.part(part).cut; };
        using Cut = PartLayout::Cut;
        if (cut(Parts::kQkv) != Cut::Columns || cut(Parts::kProjection) != Cut::Rows ||
            cut(Parts::kFc1) != Cut::Columns || cut(Parts::kFc2) != Cut::Rows || sums.size() != Parts::kSums ||
            !std::ranges::all_of(sums, [&](const Buffer& sum) {
                return holds<float>(sum, {count, width});
            }))
            return false;
    }
    if (part_ == LayerPart::Forward) return true;
    return holds(saved.ln1.values, {count, width}) && holds<float>(saved.ln1.inverse_deviations, {count}) &&
           holds(saved.ln2.values, {count, width}) && holds<float>(saved.ln2.inverse_deviations, {count}) &&
           holds(saved.qkv, {count, qkv}) && holds(saved.hidden, {count, hidden}) &&
           holds(saved.weights, {count, heads, seen}) &&
           (saved.later_grad.empty() || holds<float>(saved.later_grad, {count, 2, attended}));
}

template <class T>
bool CapturedGptLayer<T>::headFits() const {
    if (parameters_.parts.size() != 2) return false;
    const std::int64_t count = rows.tokens();
    const std::int64_t width = parameters_.part(1).rows;
    const std::int64_t vocabulary = parameters_.part(1).columns;
    if (!isPart(0, 1, width) || !isPart(1, width, vocabulary)) return false;
    if (part_ == LayerPart::Forward) return holds(input, {count, width}) && namesRows(targets, vocabulary);
    if (!holds(head.logits_grad, {count, vocabulary}) || !holds(head.normalised.values, {count, width})) return false;
    return part_ == LayerPart::InputGradient ? holds<float>(head.normalised.inverse_deviations, {count})
                                             : holds(head.normalised_grad, {count, width});
}

template class CapturedGptLayer<float>;
template class CapturedGptLayer<Bf16>;

} // namespace bubblescope::runtime
