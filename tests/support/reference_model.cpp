#include "tests/support/reference_model.h"

#include "runtime/model/synthetic.h"

#include <cmath>
#include <utility>

namespace bubblescope::runtime::reference {
namespace {

template <class Scalar>
constexpr Scalar kSqrtTwoOverPi = static_cast<Scalar>(0.797884560802865355879892);
template <class Scalar>
constexpr Scalar kCubic = static_cast<Scalar>(0.044715);
template <class Scalar>
constexpr Scalar kNormEpsilon = static_cast<Scalar>(1e-5);

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
    // The part that the mean and the deviation remove: the component of the gradient along 1 and along x̂.
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

BUBBLESCOPE_LAYERS(double)

#undef BUBBLESCOPE_LAYERS

Block::M Block::forward(M input, std::span<Saved* const> earlier, Saved& saved) const {
    saved.ln1 = normalise(input);
    saved.qkv = apply(parameters_[Parts::kQkv], scaled(parameters_[Parts::kLn1], saved.ln1.values));
    std::vector<const M*> columns;
    for (const Saved* const slice : earlier)
        columns.push_back(&slice->qkv);
    saved.attended = attend<double>(saved.qkv, columns, shape_, saved.weights);
    M between = std::move(input);
    between += apply(parameters_[Parts::kProjection], saved.attended);
    saved.ln2 = normalise(between);
    saved.hidden = apply(parameters_[Parts::kFc1], scaled(parameters_[Parts::kLn2], saved.ln2.values));
    between += apply(parameters_[Parts::kFc2], gelu(saved.hidden));
    return between;
}

Block::M Block::backwardInput(M output_grad, std::span<Saved* const> earlier, Saved& saved) const {
    auto& grads = saved.output_grads;
    grads[Parts::kFc1] =
        inputGradient(parameters_[Parts::kFc2], output_grad).cwiseProduct(geluDerivative(saved.hidden));
    grads[Parts::kLn2] = inputGradient(parameters_[Parts::kFc1], grads[Parts::kFc1]);
    M between = output_grad;
    between += normInputGradient(parameters_[Parts::kLn2], saved.ln2, grads[Parts::kLn2]);
    grads[Parts::kFc2] = std::move(output_grad);

    std::vector<const M*> columns;
    std::vector<M*> columns_grads;
    for (Saved* const slice : earlier) {
        columns.push_back(&slice->qkv);
        if (slice->later_grad.size() == 0) slice->later_grad = M::Zero(slice->qkv.rows(), slice->qkv.cols());
        columns_grads.push_back(&slice->later_grad);
    }
    grads[Parts::kQkv] = attendGradient<double>(inputGradient(parameters_[Parts::kProjection], between), saved.qkv,
                                                columns, shape_, saved.weights, columns_grads);
    if (saved.later_grad.size() > 0) grads[Parts::kQkv] += saved.later_grad;
    grads[Parts::kLn1] = inputGradient(parameters_[Parts::kQkv], grads[Parts::kQkv]);
    M input_grad = between;
    input_grad += normInputGradient(parameters_[Parts::kLn1], saved.ln1, grads[Parts::kLn1]);
    grads[Parts::kProjection] = std::move(between);

    saved.qkv.resize(0, 0);
    saved.later_grad.resize(0, 0);
    saved.weights.clear();
    saved.ln1.inverse_deviations.resize(0);
    saved.ln2.inverse_deviations.resize(0);
    return input_grad;
}

Parameters<double> Block::backwardWeight(const Saved& saved) const {
    const auto& grads = saved.output_grads;
    Parameters<double> result(Parts::kParts);
    // The inputs of the linears are made again from what is saved of the normalisations: that is cheap and saves
    // memory.
    result[Parts::kLn1] = normWeightGradient(saved.ln1.values, grads[Parts::kLn1]);
    result[Parts::kQkv] = weightGradient(scaled(parameters_[Parts::kLn1], saved.ln1.values), grads[Parts::kQkv]);
    result[Parts::kProjection] = weightGradient(saved.attended, grads[Parts::kProjection]);
    result[Parts::kLn2] = normWeightGradient(saved.ln2.values, grads[Parts::kLn2]);
    result[Parts::kFc1] = weightGradient(scaled(parameters_[Parts::kLn2], saved.ln2.values), grads[Parts::kFc1]);
    result[Parts::kFc2] = weightGradient(gelu(saved.hidden), grads[Parts::kFc2]);
    return result;
}

// ---- One stage

Stage::Stage(const ModelConfig& config, StageTask task) : config_(config), task_(std::move(task)) {
    for (const PartLayout& part : stageLayout(config_, task_)) {
        M weight = M::Ones(part.rows, part.columns);
        if (!part.ones) {
            const std::vector<float> values =
                Synthetic(config_.seed)
                    .uniform(Synthetic::Stream::Weights, part.name, part.rows * part.columns, part.scale);
            weight = Eigen::Map<const Matrix<float>>(values.data(), part.rows, part.columns).cast<double>();
        }
        parameters_.push_back({std::move(weight), Row<double>::Zero(part.bias)});
        decays_.push_back(part.decays);
    }
}

std::vector<float> Stage::values() const {
    std::vector<float> values;
    for (const Weights<double>& part : parameters_) {
        for (const double weight : part.weight.reshaped())
            values.push_back(static_cast<float>(weight));
        for (const double bias : part.bias)
            values.push_back(static_cast<float>(bias));
    }
    return values;
}

Stage::M Stage::forward(Piece piece, M input) {
    Saved saved;
    saved.blocks.resize(static_cast<std::size_t>(config_.layersAt(task_.place)));
    saved.data = config_.text->sequences(config_.seed, 0, piece.sample.value, config_.batch, config_.sequence);
    const Eigen::Index tokens = Eigen::Index{config_.batch} * config_.sequence;
    M x = std::move(input);
    if (first()) {
        x.resize(tokens, config_.width);
        for (Eigen::Index i = 0; i < tokens; ++i) {
            x.row(i) = parameters_[0].weight.row(saved.data.tokens[static_cast<std::size_t>(i)]) +
                       parameters_[1].weight.row(i % config_.sequence);
        }
    }
    for (std::size_t i = 0; i < saved.blocks.size(); ++i)
        x = block(i).forward(std::move(x), {}, saved.blocks[i]);
    if (last()) {
        saved.normalised = normalise(x);
        const M logits = apply(fromLast(1), scaled(fromLast(2), saved.normalised.values));
        const auto loss = crossEntropy<double>(logits, saved.data.targets, 1.0 / static_cast<double>(tokens));
        saved.logits_grad = loss.logits_grad;
        loss_ += loss.sum / static_cast<double>(tokens);
    }
    saved_.insert_or_assign(piece, std::move(saved));
    return x;
}

Stage::M Stage::backwardInput(Piece piece, M output_grad) {
    Saved& saved = saved_.at(piece);
    M grad = std::move(output_grad);
    if (last()) {
        saved.normalised_grad = inputGradient(fromLast(1), saved.logits_grad);
        grad = normInputGradient(fromLast(2), saved.normalised, saved.normalised_grad);
    }
    for (std::size_t i = saved.blocks.size(); i-- > 0;)
        grad = block(i).backwardInput(std::move(grad), {}, saved.blocks[i]);
    if (first()) saved.embedding_grad = grad;
    return grad;
}

void Stage::backwardWeight(Piece piece) {
    const Saved& saved = saved_.at(piece);
    Parameters<double> gradients;
    if (first()) {
        for (const std::size_t table : {0U, 1U}) {
            M grad = M::Zero(parameters_[table].weight.rows(), parameters_[table].weight.cols());
            for (Eigen::Index i = 0; i < saved.embedding_grad.rows(); ++i) {
                const Eigen::Index row =
                    table == 0 ? saved.data.tokens[static_cast<std::size_t>(i)] : i % config_.sequence;
                grad.row(row) += saved.embedding_grad.row(i);
            }
            gradients.push_back({std::move(grad), {}});
        }
    }
    for (std::size_t i = 0; i < saved.blocks.size(); ++i) {
        for (Weights<double>& part : block(i).backwardWeight(saved.blocks[i]))
            gradients.push_back(std::move(part));
    }
    if (last()) {
        gradients.push_back(normWeightGradient(saved.normalised.values, saved.normalised_grad));
        gradients.push_back(weightGradient(scaled(fromLast(2), saved.normalised.values), saved.logits_grad));
    }
    if (gradients_.empty()) {
        gradients_ = std::move(gradients);
        return;
    }
    for (std::size_t part = 0; part < gradients_.size(); ++part) {
        gradients_[part].weight += gradients[part].weight;
        gradients_[part].bias += gradients[part].bias;
    }
}

Stage::M Stage::gradient() const {
    std::vector<double> values;
    for (const Weights<double>& part : gradients_) {
        values.insert(values.end(), part.weight.data(), part.weight.data() + part.weight.size());
        values.insert(values.end(), part.bias.data(), part.bias.data() + part.bias.size());
    }
    return Eigen::Map<const M>(values.data(), static_cast<Eigen::Index>(values.size()), 1);
}

void Stage::step() {
    const OptimizerConfig& adamw = config_.optimizer;
    const double rate = static_cast<double>(adamw.learning_rate);
    // Corrected for their bias, the moments of a first step are the gradient and its square.
    const auto update = [&](double& value, double sum, bool decays) {
        const double gradient = sum / task_.microbatches;
        if (decays) value *= 1 - rate * static_cast<double>(adamw.weight_decay);
        value -= rate * gradient / (std::abs(gradient) + static_cast<double>(adamw.epsilon));
    };
    for (std::size_t part = 0; part < parameters_.size(); ++part) {
        for (Eigen::Index i = 0; i < parameters_[part].weight.size(); ++i)
            update(parameters_[part].weight.data()[i], gradients_[part].weight.data()[i], decays_[part]);
        for (Eigen::Index i = 0; i < parameters_[part].bias.size(); ++i)
            update(parameters_[part].bias(i), gradients_[part].bias(i), false);
    }
}

} // namespace bubblescope::runtime::reference
