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
    shards += other.shards;
    return *this;
}

Seconds operator*(Seconds a, double times) {
    return {a.compute * times, a.recompute * times, a.tensor * times, a.context * times, a.shards * times};
}

OpSeconds& OpSeconds::operator+=(const OpSeconds& other) {
    forward += other.forward;
    input_grad += other.input_grad;
    weight_grad += other.weight_grad;
    return *this;
}

ModelSeconds::ModelSeconds(const TransformerShape& shape, const Layout& layout, const Cluster& cluster)
    : shape_(shape), cluster_(cluster), tensor_(tensorLinks(cluster, layout)), context_(contextLinks(cluster, layout)),
      stages_(stageLinks(cluster, layout)), tokens_(real(layout.microbatch) * real(shape.sequence) / layout.cp),
      t_(layout.tp), h_(real(shape.hidden)), h_kv_(h_ * real(shape.kv_heads) / real(shape.heads)), f_(real(shape.ffn)),
      recompute_(layout.recompute == TransformerShape::Recompute::Full) {}

double ModelSeconds::product(double in, double out, bool low_precision) const {
    const DeviceSpec& device = cluster_.device;
    const bool fp8 = low_precision && cluster_.precision == Precision::Fp8 && device.flops_fp8 > 0;
    const double best = fp8 ? device.flops_fp8 * device.product_share_fp8 : device.flops * device.product_share;
    const double least = std::min({tokens_, in, out});
    const double rate = best * cluster_.product_share * least / (least + 128);
    const double bytes = kElement * (tokens_ * (in + out) + in * out);
    return std::max({2 * tokens_ * in * out / rate, bytes / (device.memory_rate * cluster_.memory_share), kLeast});
}

double ModelSeconds::elementwise(double bytes_per_token) const {
    return tokens_ * bytes_per_token / (cluster_.device.memory_rate * cluster_.memory_share);
}

ModelSeconds::Attention ModelSeconds::attention() const {
    const DeviceSpec& device = cluster_.device;
    const double best = device.flops * device.product_share;
    const double square = 4 * tokens_ * real(shape_.sequence) * h_ / t_;
    if (shape_.flash_attention) {
        const double forward = square / 2 / (best * cluster_.attention_share);
        return {forward, 2.5 * forward};
    }
    const double depth = h_ / real(shape_.heads);
    const double products = square / (best * cluster_.product_share * depth / (depth + 128));
    const double scores = real(shape_.heads) / t_ * real(shape_.sequence);
    return {products + elementwise(12 * scores), 2 * products + elementwise(16 * scores)};
}

/// Collectives of a layer's tokens that do not overlap with matrix products.
double ModelSeconds::exposedTensor(int collectives) const {
    return collectives * tensor_.gather(kElement * tokens_ * h_) * (1 - cluster_.tensor_overlap);
}

/// Keys and values of all context-parallel ranks, passed around a ring.
double ModelSeconds::ringRound() const {
    if (context_.ranks == 1) return 0;
    return (context_.ranks - 1) * context_.send(kElement * tokens_ * 2 * h_kv_ / t_);
}

OpSeconds ModelSeconds::layer() const {
    const double gates = shape_.swiglu ? 2 : 1;
    const double products =
        product(h_, (h_ + 2 * h_kv_) / t_) + product(h_ / t_, h_) + product(h_, gates * f_ / t_) + product(f_ / t_, h_);
    // Reads and writes: two norms (2h), two residuals with bias and dropout (3h), the activation, and Q, K, V.
    double bytes = kElement * (10 * h_ / t_ + (gates + 1) * f_ / t_ + 2 * (h_ + 2 * h_kv_) / t_);
    if (cluster_.precision == Precision::Fp8) bytes += 3 * (2 * h_ + (h_ + f_) / t_); // casts of the products' inputs
    const double other = elementwise(bytes);
    const Attention scores = attention();
    OpSeconds made;
    made.forward.compute = products + scores.forward + other;
    made.forward.tensor = exposedTensor(4);
    made.forward.context = std::max(0.0, ringRound() - scores.forward);
    made.input_grad.compute = products + scores.backward + 1.5 * other;
    made.input_grad.tensor = exposedTensor(4);
    made.input_grad.context = std::max(0.0, 2 * ringRound() - scores.backward);
    made.weight_grad.compute = products;
    if (recompute_) made.input_grad.recompute = made.forward.all();
    return made;
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

StepEnd stepEnd(double parameters, const OpSeconds& once, int layers, const Layout& layout, const Cluster& cluster) {
    StepEnd end;
    const Links group = dataLinks(cluster, layout);
    const double sharers = layout.zero == Zero::None ? 1 : group.ranks;
    end.optimizer = parameters / sharers * kOptimizer / (cluster.device.memory_rate * cluster.memory_share);
    if (layout.zero == Zero::Weights) return end;
    if (layout.zero != Zero::Gradients)
        end.gradients =
            exposed(group.gather(kGradient * parameters), once.input_grad.all() + once.weight_grad.all(), layers);
    end.weights = exposed(group.gather((layout.zero == Zero::None ? kGradient : kElement) * parameters),
                          layout.zero == Zero::None ? 0 : once.forward.all(), layers);
    return end;
}

void addShards(OpSeconds& once, double parameters, int layers, const Layout& layout, const Cluster& cluster) {
    if (layout.zero < Zero::Gradients) return;
    const Links group = dataLinks(cluster, layout);
    const double reduce = group.gather(kGradient * parameters);
    const double gather = layout.zero == Zero::Weights ? group.gather(kElement * parameters) : 0;
    once.forward.shards = exposed(gather, once.forward.all(), layers);
    once.input_grad.shards = exposed(reduce + gather, once.input_grad.all() + once.weight_grad.all(), layers);
}

} // namespace bubblescope::plan
