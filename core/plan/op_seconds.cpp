#include "core/plan/op_seconds.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::plan {
namespace {

constexpr double kElement = 2;    // bytes of weights and activations
constexpr double kGradient = 4;   // accumulated and reduced in 32 bits
constexpr double kOptimizer = 30; // read: gradient, weight, two moments; written: weight, moments, 16-bit weight
constexpr double kLeast = 2e-6;   // time to start a kernel

double real(std::int64_t number) {
    return static_cast<double>(number);
}

/// The exposed part of a collective over a rank's layers that overlaps with work; one layer's share has no work to
/// overlap with.
double exposed(double whole, double behind, int layers) {
    return std::max(whole - behind, whole / std::max(1, layers));
}

} // namespace

Seconds& Seconds::operator+=(const Seconds& other) {
    compute += other.compute;
    recompute += other.recompute;
    tensor += other.tensor;
    context += other.context;
    experts += other.experts;
    shards += other.shards;
    return *this;
}

Seconds operator*(Seconds a, double times) {
    return {a.compute * times, a.recompute * times, a.tensor * times,
            a.context * times, a.experts * times,   a.shards * times};
}

OpSeconds operator*(const OpSeconds& op, double times) {
    return {op.forward * times, op.input_grad * times, op.weight_grad * times};
}

OpSeconds& OpSeconds::operator+=(const OpSeconds& other) {
    forward += other.forward;
    input_grad += other.input_grad;
    weight_grad += other.weight_grad;
    return *this;
}

ModelSeconds::Products& ModelSeconds::Products::operator+=(const Products& other) {
    all += other.all;
    second += other.second;
    elements += other.elements;
    inputs += other.inputs;
    return *this;
}

RankParameters& RankParameters::operator+=(const RankParameters& other) {
    shared += other.shared;
    experts += other.experts;
    return *this;
}

ModelSeconds::ModelSeconds(const TransformerShape& shape, const Layout& layout, const Cluster& cluster)
    : shape_(shape), cluster_(cluster), tensor_(tensorLinks(cluster, layout)), context_(contextLinks(cluster, layout)),
      experts_(expertLinks(cluster, layout)), stages_(stageLinks(cluster, layout)), widths_(attentionWidths(shape)),
      tokens_(real(layout.microbatch) * real(shape.sequence) / layout.cp), t_(layout.tp), h_(real(shape.hidden)),
      gates_(shape.swiglu ? 2 : 1), recompute_(layout.recompute) {
    shape_.experts.ranks = layout.ep;
}

double ModelSeconds::grouped(double groups, double tokens, double in, double out, bool low_precision) const {
    const DeviceSpec& device = cluster_.device;
    const bool fp8 = low_precision && cluster_.precision == Precision::Fp8 && device.flops_fp8 > 0;
    const double best = fp8 ? device.flops_fp8 * device.product_share_fp8 : device.flops * device.product_share;
    const double least = std::min({tokens, in, out});
    const double rate = best * cluster_.product_share * least / (least + 128);
    const double bytes = kElement * (tokens * (in + out) + in * out);
    const double moved = bytes / (device.memory_rate * cluster_.memory_share);
    return std::max({groups * 2 * tokens * in * out / rate, groups * moved, kLeast});
}

double ModelSeconds::elementwise(double bytes_per_token) const {
    return tokens_ * bytes_per_token / (cluster_.device.memory_rate * cluster_.memory_share);
}

ModelSeconds::Attention ModelSeconds::attention() const {
    const DeviceSpec& device = cluster_.device;
    const double best = device.flops * device.product_share;
    const double square = 2 * tokens_ * real(shape_.sequence) * real(widths_.query + widths_.result) / t_;
    if (shape_.flash_attention) {
        const double forward = square / 2 / (best * cluster_.attention_share);
        return {forward, 2.5 * forward};
    }
    const double depth = real(shape_.head_size);
    const double products = square / (best * cluster_.product_share * depth / (depth + 128));
    const double scores = real(shape_.heads) / t_ * real(shape_.sequence);
    return {products + elementwise(12 * scores), 2 * products + elementwise(16 * scores)};
}

/// Collectives of a layer's tokens that do not overlap with matrix products.
double ModelSeconds::exposedTensor(int collectives) const {
    return collectives * tensor_.gather(kElement * tokens_ * h_) * (1 - cluster_.tensor_overlap);
}

/// Sending tokens to their experts and receiving the results, as far as `behind` does not hide it.
double ModelSeconds::exposedExchange(double behind) const {
    const double k = real(shape_.experts.top_k);
    const double sent = kElement * tokens_ / t_ * k * h_;
    return std::max(0.0, 2 * experts_.exchange(sent, k, cluster_.sends_once) - cluster_.expert_overlap * behind);
}

/// Keys and values of all context-parallel ranks, passed around a ring.
double ModelSeconds::ringRound() const {
    if (context_.ranks == 1) return 0;
    return (context_.ranks - 1) * context_.send(kElement * tokens_ * real(widths_.key + widths_.value) / t_);
}

ModelSeconds::Products ModelSeconds::attentionProducts() const {
    const double out = product(real(widths_.result) / t_, h_);
    const double projected = real(widths_.query + widths_.key + widths_.value) / t_;
    Products made;
    made.elements = 2 * projected;
    made.inputs = h_ + real(widths_.result) / t_;
    const LatentAttention& latent = shape_.latent;
    if (latent.keys == 0) {
        made.all = product(h_, projected) + out;
        made.second = product(h_, real(widths_.key) / t_) + out;
        return made;
    }
    made.second = product(real(latent.query), real(widths_.query) / t_) +
                  product(real(latent.keys), 2 * real(widths_.value) / t_);
    made.all = grouped(1, tokens_ / t_, h_, real(widths_.latent)) + made.second + out;
    made.elements += 4 * real(widths_.latent) / t_;
    return made;
}

/// A feed-forward that every token passes.
ModelSeconds::Products ModelSeconds::feedForward(double size) const {
    Products made;
    made.all = product(h_, gates_ * size / t_) + product(size / t_, h_);
    made.second = gates_ == 2 ? product(h_, size / t_) : 0;
    made.elements = (gates_ + 1) * size / t_;
    made.inputs = h_ + size / t_;
    return made;
}

/// The router and a rank's share of the routed experts.
ModelSeconds::Products ModelSeconds::expertProducts() const {
    const Experts& experts = shape_.experts;
    const double k = real(experts.top_k);
    const double f = real(experts.ffn);
    const double own = real(experts.count / experts.ranks);
    const double tokens = tokens_ / t_ * k / own; // of an expert
    Products made;
    made.all = grouped(1, tokens_ / t_, h_, real(experts.count), false) + grouped(own, tokens, h_, gates_ * f) +
               grouped(own, tokens, f, h_);
    made.second = gates_ == 2 ? grouped(own, tokens, h_, f) : 0;
    const double permutations = experts.ranks > 1 ? 4 : 2; // before and after the experts, on both ends of a transfer
    made.elements = k * ((gates_ + 1) * f + 2 * permutations * h_) / t_;
    made.inputs = k * (h_ + f) / t_;
    return made;
}

/// Seconds of the forward that the backward repeats.
double ModelSeconds::repeated(const Seconds& forward, const Products& products, double other, int collectives) const {
    using enum TransformerShape::Recompute;
    if (recompute_ == Full) return forward.all();
    if (recompute_ == Selective) return products.second + other + exposedTensor(collectives / 2);
    return 0;
}

OpSeconds ModelSeconds::layer(bool experts) const {
    const double dense = real(experts ? shape_.experts.shared_ffn : shape_.ffn);
    Products products = attentionProducts();
    if (dense > 0) products += feedForward(dense);
    if (experts) products += expertProducts();
    // Memory accesses: two norms (2h), two residuals with bias and dropout (3h), the activation, and Q, K, V.
    double bytes = kElement * (10 * h_ / t_ + products.elements);
    if (cluster_.precision == Precision::Fp8) bytes += 3 * products.inputs; // casts
    const double other = elementwise(bytes);
    const Attention scores = attention();
    const int collectives = dense > 0 ? 4 : 2;
    OpSeconds made;
    made.forward.compute = products.all + scores.forward + other;
    made.forward.tensor = exposedTensor(collectives);
    made.forward.context = std::max(0.0, ringRound() - scores.forward);
    made.forward.experts = experts ? exposedExchange(made.forward.compute) : 0;
    made.input_grad.compute = products.all + scores.backward + 1.5 * other;
    made.input_grad.tensor = exposedTensor(collectives);
    made.input_grad.context = std::max(0.0, 2 * ringRound() - scores.backward);
    made.weight_grad.compute = products.all;
    made.input_grad.experts = experts ? exposedExchange(made.input_grad.compute + products.all) : 0;
    made.input_grad.recompute = repeated(made.forward, products, other, collectives);
    return made;
}

OpSeconds ModelSeconds::meanLayer() const {
    const Experts& experts = shape_.experts;
    if (experts.count == 0) return layer(false);
    const double dense = real(experts.dense_layers) / real(shape_.layers);
    OpSeconds mean = layer(false) * dense;
    mean += layer(true) * (1 - dense);
    return mean;
}

OpSeconds ModelSeconds::embedding() const {
    OpSeconds made;
    if (shape_.vocabulary == 0) return made;
    made.forward.compute = elementwise(kElement * 2 * h_ / t_);
    made.forward.tensor = exposedTensor(1);
    made.weight_grad.compute = elementwise(kElement * 2 * h_ / t_);
    return made;
}

OpSeconds ModelSeconds::head() const {
    OpSeconds made;
    if (shape_.vocabulary == 0) return made;
    const double words = real(shape_.vocabulary) / t_;
    const double logits = product(h_, words, false);
    made.forward.compute = logits + elementwise(12 * words);
    made.forward.tensor = exposedTensor(1);
    made.input_grad.compute = logits + elementwise(8 * words);
    made.input_grad.tensor = exposedTensor(1);
    made.weight_grad.compute = logits;
    return made;
}

double ModelSeconds::transfer() const {
    return stages_.ranks == 1 ? 0 : stages_.send(kElement * tokens_ * h_ / t_);
}

namespace {

/// Seconds of a collective over all replicas of a rank's weights, with `bytes` per parameter.
double gatherAll(const RankParameters& parameters, double bytes, const Layout& layout, const Cluster& cluster) {
    return dataLinks(cluster, layout).gather(bytes * parameters.shared) +
           expertDataLinks(cluster, layout).gather(bytes * parameters.experts);
}

} // namespace

StepEnd stepEnd(const RankParameters& parameters, const OpSeconds& once, int layers, const Layout& layout,
                const Cluster& cluster) {
    StepEnd end;
    const bool shards = layout.zero != Zero::None;
    const double updated = parameters.shared / (shards ? layout.sharers() : 1) +
                           parameters.experts / (shards ? layout.expertSharers() : 1);
    end.optimizer = updated * kOptimizer / (cluster.device.memory_rate * cluster.memory_share);
    if (layout.zero == Zero::Weights) return end;
    if (layout.zero != Zero::Gradients)
        end.gradients = exposed(gatherAll(parameters, kGradient, layout, cluster),
                                once.input_grad.all() + once.weight_grad.all(), layers);
    end.weights = exposed(gatherAll(parameters, shards ? kElement : kGradient, layout, cluster),
                          shards ? once.forward.all() : 0, layers);
    return end;
}

void addShards(OpSeconds& once, const RankParameters& parameters, int layers, const Layout& layout,
               const Cluster& cluster) {
    if (layout.zero < Zero::Gradients) return;
    const double reduce = gatherAll(parameters, kGradient, layout, cluster);
    const double gather = layout.zero == Zero::Weights ? gatherAll(parameters, kElement, layout, cluster) : 0;
    once.forward.shards = exposed(gather, once.forward.all(), layers);
    once.input_grad.shards = exposed(reduce + gather, once.input_grad.all() + once.weight_grad.all(), layers);
}

} // namespace bubblescope::plan
