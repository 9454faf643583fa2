#include "runtime/model/transformer_block.h"

#include <type_traits>
#include <utility>

namespace bubblescope::runtime {

template <class Scalar>
std::int64_t TransformerBlock<Scalar>::Kept::bytes() const {
    std::int64_t sum =
        before.bytes() + between.bytes() + bytesOf(columns) + bytesOf(attended) + bytesOf(up) + bytesOf(later_grad);
    for (const Matrix<Scalar>& one : weights)
        sum += bytesOf(one);
    for (const Matrix<Scalar>& one : output_grads)
        sum += bytesOf(one);
    return sum;
}

template <class Scalar>
template <class Values>
void TransformerBlock<Scalar>::show(CheckedTensor tensor, Values& values) const {
    if constexpr (std::is_same_v<Scalar, float>) {
        if (probe_ != nullptr && values.size() > 0) probe_->touch(tensor, values.data(), values.size());
    }
}

template <class Scalar>
Matrix<Scalar> TransformerBlock<Scalar>::applyRows(const Weights<Scalar>& linear, const Matrix<Scalar>& input) const {
    if (sums_ == nullptr) return apply(linear, input);
    Matrix<Scalar> output = input * linear.weight;
    show(CheckedTensor::Part, output);
    sums_->addUp(output);
    output.rowwise() += linear.bias; // once, not once a rank
    return output;
}

template <class Scalar>
Matrix<Scalar> TransformerBlock<Scalar>::columnsInputGradient(const Weights<Scalar>& linear,
                                                              const Matrix<Scalar>& output_grad) const {
    Matrix<Scalar> grad = inputGradient(linear, output_grad);
    if (sums_ == nullptr) return grad;
    show(CheckedTensor::Part, grad);
    sums_->addUp(grad);
    return grad;
}

template <class Scalar>
Matrix<Scalar> TransformerBlock<Scalar>::forward(Matrix<Scalar> input, std::span<Kept* const> earlier,
                                                 Kept& kept) const {
    kept.before = normalise(input);
    show(CheckedTensor::Normalised, kept.before.values);
    show(CheckedTensor::Deviations, kept.before.inverse_deviations);
    kept.columns = apply(parameters_[kColumns], scaled(parameters_[kNormBefore], kept.before.values));
    show(CheckedTensor::Columns, kept.columns);
    std::vector<const Matrix<Scalar>*> columns;
    for (const Kept* const slice : earlier)
        columns.push_back(&slice->columns);
    kept.attended = attend<Scalar>(kept.columns, columns, shape_, kept.weights);
    for (Matrix<Scalar>& one : kept.weights)
        show(CheckedTensor::Attention, one);
    show(CheckedTensor::Attended, kept.attended);
    Matrix<Scalar> between = std::move(input);
    between += applyRows(parameters_[kProjection], kept.attended);
    kept.between = normalise(between);
    show(CheckedTensor::Normalised, kept.between.values);
    show(CheckedTensor::Deviations, kept.between.inverse_deviations);
    kept.up = apply(parameters_[kUp], scaled(parameters_[kNormBetween], kept.between.values));
    show(CheckedTensor::Hidden, kept.up);
    between += applyRows(parameters_[kDown], gelu(kept.up));
    show(CheckedTensor::Output, between);
    return between;
}

template <class Scalar>
Matrix<Scalar> TransformerBlock<Scalar>::backwardInput(Matrix<Scalar> output_grad, std::span<Kept* const> earlier,
                                                       Kept& kept) const {
    auto& grads = kept.output_grads;
    grads[kUp] = inputGradient(parameters_[kDown], output_grad).cwiseProduct(geluDerivative(kept.up));
    show(CheckedTensor::HiddenGradient, grads[kUp]);
    grads[kNormBetween] = columnsInputGradient(parameters_[kUp], grads[kUp]);
    show(CheckedTensor::NormalisedGradient, grads[kNormBetween]);
    Matrix<Scalar> between = output_grad;
    between += normInputGradient(parameters_[kNormBetween], kept.between, grads[kNormBetween]);
    show(CheckedTensor::AttendedGradient, between);
    grads[kDown] = std::move(output_grad);

    std::vector<const Matrix<Scalar>*> columns;
    std::vector<Matrix<Scalar>*> columns_grads;
    for (Kept* const slice : earlier) {
        columns.push_back(&slice->columns);
        if (slice->later_grad.size() == 0)
            slice->later_grad = Matrix<Scalar>::Zero(slice->columns.rows(), slice->columns.cols());
        columns_grads.push_back(&slice->later_grad);
    }
    grads[kColumns] = attendGradient<Scalar>(inputGradient(parameters_[kProjection], between), kept.columns, columns,
                                             shape_, kept.weights, columns_grads);
    if (kept.later_grad.size() > 0) grads[kColumns] += kept.later_grad;
    show(CheckedTensor::ColumnsGradient, grads[kColumns]);
    for (Matrix<Scalar>* const one : columns_grads)
        show(CheckedTensor::EarlierGradient, *one);
    grads[kNormBefore] = columnsInputGradient(parameters_[kColumns], grads[kColumns]);
    show(CheckedTensor::NormalisedGradient, grads[kNormBefore]);
    Matrix<Scalar> input_grad = between;
    input_grad += normInputGradient(parameters_[kNormBefore], kept.before, grads[kNormBefore]);
    show(CheckedTensor::InputGradient, input_grad);
    grads[kProjection] = std::move(between);

    kept.columns.resize(0, 0);
    kept.later_grad.resize(0, 0);
    kept.weights.clear();
    kept.before.inverse_deviations.resize(0);
    kept.between.inverse_deviations.resize(0);
    return input_grad;
}

template <class Scalar>
Parameters<Scalar> TransformerBlock<Scalar>::backwardWeight(const Kept& kept) const {
    const auto& grads = kept.output_grads;
    Parameters<Scalar> result(kParts);
    // The inputs of the linears are made again from what is kept of the normalisations: that is cheap and saves memory.
    result[kNormBefore] = normWeightGradient(kept.before.values, grads[kNormBefore]);
    result[kColumns] = weightGradient(scaled(parameters_[kNormBefore], kept.before.values), grads[kColumns]);
    result[kProjection] = weightGradient(kept.attended, grads[kProjection]);
    result[kNormBetween] = normWeightGradient(kept.between.values, grads[kNormBetween]);
    result[kUp] = weightGradient(scaled(parameters_[kNormBetween], kept.between.values), grads[kUp]);
    result[kDown] = weightGradient(gelu(kept.up), grads[kDown]);
    for (Weights<Scalar>& part : result) {
        show(CheckedTensor::WeightGradient, part.weight);
        show(CheckedTensor::WeightGradient, part.bias);
    }
    return result;
}

template class TransformerBlock<float>;
template class TransformerBlock<double>;

} // namespace bubblescope::runtime
