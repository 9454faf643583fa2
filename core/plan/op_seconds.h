#pragma once

#include "core/cost/memory_estimate.h"
#include "core/plan/layout.h"
#include "core/plan/machine.h"

namespace bubblescope::plan {

/// A rank's seconds, by purpose.
struct Seconds {
    double compute = 0;
    double recompute = 0; ///< repeated forwards, their communication included
    double tensor = 0;    ///< exposed communication of tensor parallelism
    double context = 0;   ///< exposed communication of context parallelism
    double shards = 0;    ///< exposed communication of weights and gradients for every micro-batch, with ZeRO 2 and 3

    [[nodiscard]] double all() const { return compute + recompute + tensor + context + shards; }
    Seconds& operator+=(const Seconds& other);
    friend Seconds operator+(Seconds a, const Seconds& b) { return a += b; }
    friend Seconds operator*(Seconds a, double times);
};

/// Seconds that a part of the model takes on one rank for one micro-batch.
struct OpSeconds {
    Seconds forward;
    Seconds input_grad; ///< recomputation included
    Seconds weight_grad;

    [[nodiscard]] Seconds all() const { return forward + input_grad + weight_grad; }
    OpSeconds& operator+=(const OpSeconds& other);
};

/// Times of a transformer's parts in a layout, from first principles, per micro-batch of T = b·s/cp tokens:
///
/// - A matrix product of T×n and n×m takes the longer of two times: its FLOPs at the rate of matrix products, reduced
///   by the factor d/(d+128) for the smallest dimension d, and its operands' bytes at the memory bandwidth; at least 2
///   µs. Its two gradients are products of the same size.
/// - Fused causal attention: half of 4·T·s·h/t FLOPs forward, 2.5 times that backward. Without fusion: the full square
///   as two products and 12 bytes forward, 16 backward per score.
/// - Element-wise ops take the time to move their bytes: norms, residuals, the activation, rotations of Q and K; the
///   backward takes half as much again.
/// - Tensor parallelism: an all-gather before attention and before the MLP, and a reduce-scatter after each, forward
///   and backward, of T·h elements. Context parallelism: keys and values are passed around a ring, overlapped with
///   attention.
class ModelSeconds {
public:
    /// `shape` is valid and complete (withDefaults()); its micro-batch, tp and recomputation are the layout's.
    ModelSeconds(const TransformerShape& shape, const Layout& layout, const Cluster& cluster);

    [[nodiscard]] OpSeconds layer() const;
    [[nodiscard]] OpSeconds embedding() const;
    [[nodiscard]] OpSeconds head() const; ///< including the loss
    /// Seconds of a transfer between neighbouring stages.
    [[nodiscard]] double transfer() const;

private:
    [[nodiscard]] double product(double in, double out, bool low_precision = true) const;
    [[nodiscard]] double elementwise(double bytes_per_token) const;
    struct Attention {
        double forward;
        double backward;
    };
    [[nodiscard]] Attention attention() const;
    [[nodiscard]] double exposedTensor(int collectives) const;
    [[nodiscard]] double ringRound() const;

    TransformerShape shape_;
    const Cluster& cluster_;
    Links tensor_;
    Links context_;
    Links stages_;
    double tokens_;
    double t_;
    double h_;
    double h_kv_;
    double f_;
    bool recompute_;
};

/// The part of a rank's data-parallel communication that no other work hides.
struct StepEnd {
    double gradients = 0; ///< reduce-scatter of gradients that extends beyond the last backward
    double weights = 0;   ///< all-gather of weights that extends beyond the first forward
    double optimizer = 0;

    [[nodiscard]] double all() const { return gradients + weights + optimizer; }
};

/// `once` is the rank's time for one micro-batch, with which its data-parallel communication overlaps, except that of
/// the last of its `layers`.
[[nodiscard]] StepEnd stepEnd(double parameters, const OpSeconds& once, int layers, const Layout& layout,
                              const Cluster& cluster);

/// Adds the communication of ZeRO 2 and 3 per micro-batch that computation does not hide, for a rank that holds all
/// layers of the model.
void addShards(OpSeconds& once, double parameters, int layers, const Layout& layout, const Cluster& cluster);

} // namespace bubblescope::plan
