#pragma once

#include "core/cost/memory_estimate.h"
#include "core/plan/layout.h"
#include "core/plan/machine.h"

namespace bubblescope::plan {

/// Time of a rank in seconds, by purpose.
struct Seconds {
    double compute = 0;
    double recompute = 0; ///< repeated forwards, including their communication
    double tensor = 0;    ///< exposed tensor-parallel communication
    double context = 0;   ///< exposed context-parallel communication
    double experts = 0;   ///< exposed expert-parallel communication
    double shards = 0;    ///< exposed communication of weights and gradients per micro-batch, with ZeRO 2 and 3

    [[nodiscard]] double all() const { return compute + recompute + tensor + context + experts + shards; }
    Seconds& operator+=(const Seconds& other);
    friend Seconds operator+(Seconds a, const Seconds& b) { return a += b; }
    friend Seconds operator*(Seconds a, double times);
};

/// Time in seconds that one rank needs for part of the model and one micro-batch.
struct OpSeconds {
    Seconds forward;
    Seconds input_grad; ///< includes recomputation
    Seconds weight_grad;

    [[nodiscard]] Seconds all() const { return forward + input_grad + weight_grad; }
    OpSeconds& operator+=(const OpSeconds& other);
    friend OpSeconds operator*(const OpSeconds& op, double times);
};

/// Times of a transformer's parts in a layout, from first principles, per micro-batch of T = b·s/cp tokens:
///
/// - A product of a T×n and an n×m matrix takes as long as the slower of computation and memory access, and at least 2
///   µs. Computation runs at the rate of matrix products, reduced by the factor d/(d+128), where d is the smallest
///   dimension. The product's two gradients are products of the same size. A rank's experts run as one grouped product,
///   in which d is at most an expert's number of tokens.
/// - Fused causal attention: half of 4·T·s·h/t FLOPs in the forward, 2.5 times as many in the backward. Unfused: two
///   products over the full square, and 12 bytes accessed per score in the forward, 16 in the backward.
/// - Element-wise ops (norms, residuals, the activation, rotations of Q and K) take as long as their memory accesses.
///   Their backward takes 1.5 times as long.
/// - Tensor parallelism: an all-gather before attention and the MLP, and a reduce-scatter after each, of T·h elements
///   in both passes.
/// - Context parallelism: keys and values are passed around a ring, which overlaps with attention.
/// - Experts: tokens are assumed to be spread evenly. In both passes, each rank sends its T/t tokens to k experts with
///   one all-to-all of k·h·T/t elements, and receives the results with another. Before and after, the tokens are
///   permuted, which reads and writes the same number of elements.
/// - Recomputation repeats the forward, including its communication. Selective recomputation repeats the products of K,
///   of the attention output and of the gate, and all element-wise ops; it gathers their inputs with two all-gathers.
class ModelSeconds {
public:
    /// `shape` must be complete (see withDefaults()), with the layout's micro-batch, tp and recomputation.
    ModelSeconds(const TransformerShape& shape, const Layout& layout, const Cluster& cluster);

    /// Times of a layer, either with experts or with a dense feed-forward.
    [[nodiscard]] OpSeconds layer(bool experts) const;
    /// Times of the model's average layer.
    [[nodiscard]] OpSeconds meanLayer() const;
    [[nodiscard]] OpSeconds embedding() const;
    [[nodiscard]] OpSeconds head() const; ///< including the loss
    /// Time in seconds of a transfer between two neighbouring stages.
    [[nodiscard]] double transfer() const;

private:
    /// Seconds for `groups` products, each of a `tokens` × in and an in × out matrix, that run as one operation.
    [[nodiscard]] double grouped(double groups, double tokens, double in, double out, bool low_precision = true) const;
    [[nodiscard]] double product(double in, double out, bool low_precision = true) const {
        return grouped(1, tokens_, in, out, low_precision);
    }
    [[nodiscard]] double elementwise(double bytes_per_token) const;
    struct Attention {
        double forward;
        double backward;
    };
    [[nodiscard]] Attention attention() const;
    [[nodiscard]] double exposedTensor(int collectives) const;
    [[nodiscard]] double exposedExchange(double behind) const;
    [[nodiscard]] double ringRound() const;
    /// Times (in seconds) and sizes of some of a layer's matrix products.
    struct Products {
        double all = 0;
        double second = 0;   ///< time of the products that selective recomputation repeats
        double elements = 0; ///< number of elements read or written between the products, per token
        double inputs = 0;   ///< number of elements of the products' inputs, per token

        Products& operator+=(const Products& other);
    };
    [[nodiscard]] Products attentionProducts() const;
    [[nodiscard]] Products feedForward(double size) const;
    [[nodiscard]] Products expertProducts() const;
    [[nodiscard]] double repeated(const Seconds& forward, const Products& products, double other,
                                  int collectives) const;

    TransformerShape shape_;
    const Cluster& cluster_;
    Links tensor_;
    Links context_;
    Links experts_;
    Links stages_;
    AttentionWidths widths_;
    double tokens_;
    double t_;
    double h_;
    double gates_;
    TransformerShape::Recompute recompute_;
};

/// Time in seconds of a rank's exposed data-parallel communication, which overlaps with no other work.
struct StepEnd {
    double gradients = 0; ///< part of the gradient reduce-scatter that runs after the last backward
    double weights = 0;   ///< part of the all-gather of weights that ends after the first forward
    double optimizer = 0;

    [[nodiscard]] double all() const { return gradients + weights + optimizer; }
};

/// Number of parameters on a rank. The ranks that replicate experts differ from those that replicate other parameters.
struct RankParameters {
    double shared = 0;
    double experts = 0;

    RankParameters& operator+=(const RankParameters& other);
};

/// `once` is the rank's time for one micro-batch. The data-parallel communication overlaps with this time, except for
/// that of the rank's last layer (of `layers`).
[[nodiscard]] StepEnd stepEnd(const RankParameters& parameters, const OpSeconds& once, int layers, const Layout& layout,
                              const Cluster& cluster);

/// Adds the exposed communication of a stage per micro-batch with ZeRO 2 and 3: with ZeRO 3, all weights are gathered
/// for the forward and again for the backward; with both, all gradients are reduced after the backward.
void addShards(OpSeconds& once, const RankParameters& parameters, int layers, const Layout& layout,
               const Cluster& cluster);

} // namespace bubblescope::plan
