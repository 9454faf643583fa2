#include "runtime/model/layers.h"

#include <cmath>

namespace bubblescope::runtime {
namespace {

template <class Scalar>
constexpr Scalar kSqrtTwoOverPi = static_cast<Scalar>(0.797884560802865355879892);
template <class Scalar>
constexpr Scalar kCubic = static_cast<Scalar>(0.044715);
template <class Scalar>
constexpr Scalar kNormEpsilon = static_cast<Scalar>(1e-5);

/// tanh(x) as Eigen's own is a rational approximation for float and the library's function for double; both depend on
/// x alone.
template <class Scalar>
auto innerTanh(const Matrix<Scalar>& x) {
    const auto a = x.array();
    return (kSqrtTwoOverPi<Scalar> * (a + kCubic<Scalar> * a.cube())).tanh();
}

/// One sequence and head of one slice: `part` 0 = queries, 1 = keys, 2 = values.
template <class Dense>
auto headOf(Dense& columns, AttentionShape shape, int sequence, int head, int part) {
    const Eigen::Index tokens = columns.rows() / shape.batch;
    const Eigen::Index width = columns.cols() / 3;
    const Eigen::Index each = width / shape.heads;
    return columns.block(sequence * tokens, part * width + head * each, tokens, each);
}

/// Keys or values of one sequence and head over all slices.
template <class Scalar>
Matrix<Scalar> gather(const Matrix<Scalar>& columns, std::span<const Matrix<Scalar>* const> earlier,
                      AttentionShape shape, int sequence, int head, int part) {
    Eigen::Index tokens = columns.rows() / shape.batch;
    for (const auto* const slice : earlier)
        tokens += slice->rows() / shape.batch;
    Matrix<Scalar> all(tokens, columns.cols() / 3 / shape.heads);
    Eigen::Index at = 0;
    const auto append = [&](const Matrix<Scalar>& slice) {
        const auto rows = headOf(slice, shape, sequence, head, part);
        all.middleRows(at, rows.rows()) = rows;
        at += rows.rows();
    };
    for (const auto* const slice : earlier)
        append(*slice);
    append(columns);
    return all;
}

/// By row, over the columns up to the row's own token; the rest becomes 0.
template <class Scalar>
void causalSoftmax(Matrix<Scalar>& scores) {
    const Eigen::Index past = scores.cols() - scores.rows();
    for (Eigen::Index row = 0; row < scores.rows(); ++row) {
        const Eigen::Index seen = past + row + 1;
        auto visible = scores.row(row).head(seen).array();
        visible = (visible - visible.maxCoeff()).exp();
        visible /= visible.sum();
        scores.row(row).tail(scores.cols() - seen).setZero();
    }
}

} // namespace

template <class Scalar>
Matrix<Scalar> apply(const Weights<Scalar>& linear, const Matrix<Scalar>& input) {
    Matrix<Scalar> output = input * linear.weight;
    output.rowwise() += linear.bias;
    return output;
}

template <class Scalar>
Matrix<Scalar> inputGradient(const Weights<Scalar>& linear, const Matrix<Scalar>& output_grad) {
    return output_grad * linear.weight.transpose();
}

template <class Scalar>
Weights<Scalar> weightGradient(const Matrix<Scalar>& input, const Matrix<Scalar>& output_grad) {
    return {input.transpose() * output_grad, output_grad.colwise().sum()};
}

template <class Scalar>
Matrix<Scalar> gelu(const Matrix<Scalar>& x) {
    return Scalar{0.5} * x.array() * (Scalar{1} + innerTanh(x));
}

template <class Scalar>
Matrix<Scalar> geluDerivative(const Matrix<Scalar>& x) {
    using Array = Eigen::Array<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    const auto a = x.array();
    const Array t = innerTanh(x);
    return Scalar{0.5} * (Scalar{1} + t) +
           Scalar{0.5} * a * (Scalar{1} - t.square()) *
               (kSqrtTwoOverPi<Scalar> * (Scalar{1} + Scalar{3} * kCubic<Scalar> * a.square()));
}

template <class Scalar>
Normalised<Scalar> normalise(const Matrix<Scalar>& x) {
    Normalised<Scalar> result;
    const auto width = static_cast<Scalar>(x.cols());
    const Column<Scalar> means = x.rowwise().sum() / width;
    result.values = x.colwise() - means;
    const Column<Scalar> variances = result.values.array().square().rowwise().sum().matrix() / width;
    result.inverse_deviations = (variances.array() + kNormEpsilon<Scalar>).rsqrt().matrix();
    result.values.array().colwise() *= result.inverse_deviations.array();
    return result;
}

template <class Scalar>
Matrix<Scalar> scaled(const Weights<Scalar>& norm, const Matrix<Scalar>& normalised) {
    Matrix<Scalar> output = normalised.array().rowwise() * norm.weight.row(0).array();
    output.rowwise() += norm.bias;
    return output;
}

template <class Scalar>
Matrix<Scalar> normInputGradient(const Weights<Scalar>& norm, const Normalised<Scalar>& normalised,
                                 const Matrix<Scalar>& output_grad) {
    const auto width = static_cast<Scalar>(output_grad.cols());
    // What the mean and the deviation take back: the part of the gradient along 1 and along x̂.
    Matrix<Scalar> grad = output_grad.array().rowwise() * norm.weight.row(0).array();
    const Column<Scalar> mean = grad.rowwise().sum() / width;
    const Column<Scalar> along = (grad.array() * normalised.values.array()).rowwise().sum().matrix() / width;
    grad.colwise() -= mean;
    grad.array() -= normalised.values.array().colwise() * along.array();
    grad.array().colwise() *= normalised.inverse_deviations.array();
    return grad;
}

template <class Scalar>
Weights<Scalar> normWeightGradient(const Matrix<Scalar>& normalised, const Matrix<Scalar>& output_grad) {
    return {(normalised.array() * output_grad.array()).colwise().sum().matrix(), output_grad.colwise().sum()};
}

template <class Scalar>
Matrix<Scalar> attend(const Matrix<Scalar>& columns, std::span<const Matrix<Scalar>* const> earlier,
                      AttentionShape shape, AttentionWeights<Scalar>& weights) {
    const Eigen::Index width = columns.cols() / 3;
    const Eigen::Index tokens = columns.rows() / shape.batch;
    const Eigen::Index each = width / shape.heads;
    const Scalar scale = Scalar{1} / std::sqrt(static_cast<Scalar>(each));
    Matrix<Scalar> output(columns.rows(), width);
    weights.clear();
    for (int sequence = 0; sequence < shape.batch; ++sequence) {
        for (int head = 0; head < shape.heads; ++head) {
            const Matrix<Scalar> queries = headOf(columns, shape, sequence, head, 0);
            const Matrix<Scalar> keys = gather(columns, earlier, shape, sequence, head, 1);
            const Matrix<Scalar> values = gather(columns, earlier, shape, sequence, head, 2);
            Matrix<Scalar> scores = scale * (queries * keys.transpose());
            causalSoftmax(scores);
            output.block(sequence * tokens, head * each, tokens, each) = scores * values;
            weights.push_back(std::move(scores));
        }
    }
    return output;
}

template <class Scalar>
Matrix<Scalar> attendGradient(const Matrix<Scalar>& output_grad, const Matrix<Scalar>& columns,
                              std::span<const Matrix<Scalar>* const> earlier, AttentionShape shape,
                              const AttentionWeights<Scalar>& weights, std::span<Matrix<Scalar>* const> earlier_grads) {
    const Eigen::Index width = columns.cols() / 3;
    const Eigen::Index tokens = columns.rows() / shape.batch;
    const Eigen::Index each = width / shape.heads;
    const Scalar scale = Scalar{1} / std::sqrt(static_cast<Scalar>(each));
    Matrix<Scalar> grad = Matrix<Scalar>::Zero(columns.rows(), columns.cols());
    const auto scatter = [&](const Matrix<Scalar>& all, int sequence, int head, int part) {
        Eigen::Index at = 0;
        const auto addTo = [&](Matrix<Scalar>& slice) {
            auto rows = headOf(slice, shape, sequence, head, part);
            rows += all.middleRows(at, rows.rows());
            at += rows.rows();
        };
        for (Matrix<Scalar>* const slice : earlier_grads)
            addTo(*slice);
        addTo(grad);
    };
    for (int sequence = 0; sequence < shape.batch; ++sequence) {
        for (int head = 0; head < shape.heads; ++head) {
            const Matrix<Scalar>& seen = weights[static_cast<std::size_t>(sequence * shape.heads + head)];
            const Matrix<Scalar> queries = headOf(columns, shape, sequence, head, 0);
            const Matrix<Scalar> keys = gather(columns, earlier, shape, sequence, head, 1);
            const Matrix<Scalar> values = gather(columns, earlier, shape, sequence, head, 2);
            const Matrix<Scalar> heads_grad = output_grad.block(sequence * tokens, head * each, tokens, each);
            const Matrix<Scalar> seen_grad = heads_grad * values.transpose();
            const Column<Scalar> along = (seen_grad.array() * seen.array()).rowwise().sum().matrix();
            Matrix<Scalar> scores_grad = seen_grad.colwise() - along;
            scores_grad.array() *= scale * seen.array();
            headOf(grad, shape, sequence, head, 0) += scores_grad * keys;
            scatter(scores_grad.transpose() * queries, sequence, head, 1);
            scatter(seen.transpose() * heads_grad, sequence, head, 2);
        }
    }
    return grad;
}

template <class Scalar>
CrossEntropy<Scalar> crossEntropy(Matrix<Scalar> logits, std::span<const int> targets, Scalar share) {
    CrossEntropy<Scalar> result;
    for (Eigen::Index row = 0; row < logits.rows(); ++row) {
        const Eigen::Index target = targets[static_cast<std::size_t>(row)];
        auto values = logits.row(row).array();
        values -= values.maxCoeff();
        const Scalar at_target = values(target);
        values = values.exp();
        const Scalar sum = values.sum();
        result.sum += std::log(static_cast<double>(sum)) - static_cast<double>(at_target);
        values *= share / sum;
        values(target) -= share;
    }
    result.logits_grad = std::move(logits);
    return result;
}

#define BUBBLESCOPE_LAYERS(Scalar)                                                                                \
    template Matrix<Scalar> apply(const Weights<Scalar>&, const Matrix<Scalar>&);                                 \
    template Matrix<Scalar> inputGradient(const Weights<Scalar>&, const Matrix<Scalar>&);                         \
    template Weights<Scalar> weightGradient(const Matrix<Scalar>&, const Matrix<Scalar>&);                        \
    template Matrix<Scalar> gelu(const Matrix<Scalar>&);                                                          \
    template Matrix<Scalar> geluDerivative(const Matrix<Scalar>&);                                                \
    template Normalised<Scalar> normalise(const Matrix<Scalar>&);                                                 \
    template Matrix<Scalar> scaled(const Weights<Scalar>&, const Matrix<Scalar>&);                                \
    template Matrix<Scalar> normInputGradient(const Weights<Scalar>&, const Normalised<Scalar>&,                  \
                                              const Matrix<Scalar>&);                                             \
    template Weights<Scalar> normWeightGradient(const Matrix<Scalar>&, const Matrix<Scalar>&);                    \
    template Matrix<Scalar> attend(const Matrix<Scalar>&, std::span<const Matrix<Scalar>* const>, AttentionShape, \
                                   AttentionWeights<Scalar>&);                                                    \
    template Matrix<Scalar> attendGradient(const Matrix<Scalar>&, const Matrix<Scalar>&,                          \
                                           std::span<const Matrix<Scalar>* const>, AttentionShape,                \
                                           const AttentionWeights<Scalar>&, std::span<Matrix<Scalar>* const>);    \
    template CrossEntropy<Scalar> crossEntropy(Matrix<Scalar>, std::span<const int>, Scalar);

BUBBLESCOPE_LAYERS(float)
BUBBLESCOPE_LAYERS(double)

#undef BUBBLESCOPE_LAYERS

} // namespace bubblescope::runtime
