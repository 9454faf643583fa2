#include "runtime/model/gpt_layers.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace bubblescope::runtime {
namespace {

/// A double is shown as the two floats that its bits make.
void showNumber(LayerProbe* probe, CheckedTensor tensor, double& number) {
    if (probe == nullptr) return;
    std::array<float, 2> halves{};
    static_assert(sizeof halves == sizeof number);
    std::memcpy(halves.data(), &number, sizeof number);
    probe->touch(tensor, halves.data(), halves.size());
    std::memcpy(&number, halves.data(), sizeof number);
}

} // namespace

Matrix<float> embed(std::span<const Weights<float>> tables, const PieceTokens& data, LayerProbe* probe) {
    Matrix<float> output(static_cast<Eigen::Index>(data.tokens.size()), tables[0].weight.cols());
    for (std::size_t i = 0; i < data.tokens.size(); ++i) {
        output.row(static_cast<Eigen::Index>(i)) =
            tables[0].weight.row(data.tokens[i]) + tables[1].weight.row(data.positions[i]);
    }
    show(probe, CheckedTensor::Output, output);
    return output;
}

Matrix<float> embeddingInputGradient(Matrix<float> output_grad, LayerProbe* probe) {
    show(probe, CheckedTensor::InputGradient, output_grad);
    return output_grad;
}

Parameters<float> embeddingWeightGradient(std::span<const Weights<float>> tables, const PieceTokens& data,
                                          const Matrix<float>& output_grad, LayerProbe* probe) {
    Parameters<float> result(2);
    for (std::size_t table = 0; table < 2; ++table) {
        result[table].weight = Matrix<float>::Zero(tables[table].weight.rows(), tables[table].weight.cols());
        const std::vector<int>& rows = table == 0 ? data.tokens : data.positions;
        for (std::size_t i = 0; i < rows.size(); ++i)
            result[table].weight.row(rows[i]) += output_grad.row(static_cast<Eigen::Index>(i));
    }
    showWeights(probe, CheckedTensor::WeightGradient, result);
    return result;
}

double headForward(std::span<const Weights<float>> parts, const PieceTokens& data, float share,
                   const Matrix<float>& input, HeadKept& kept, LayerProbe* probe) {
    kept.normalised = normalise(input);
    show(probe, CheckedTensor::Normalised, kept.normalised.values);
    show(probe, CheckedTensor::Deviations, kept.normalised.inverse_deviations);
    auto loss = crossEntropy(apply(parts[1], scaled(parts[0], kept.normalised.values)), data.targets, share);
    kept.logits_grad = std::move(loss.logits_grad);
    showNumber(probe, CheckedTensor::Loss, loss.sum);
    show(probe, CheckedTensor::LogitsGradient, kept.logits_grad);
    return loss.sum;
}

Matrix<float> headInputGradient(std::span<const Weights<float>> parts, HeadKept& kept, LayerProbe* probe) {
    kept.normalised_grad = inputGradient(parts[1], kept.logits_grad);
    show(probe, CheckedTensor::NormalisedGradient, kept.normalised_grad);
    Matrix<float> grad = normInputGradient(parts[0], kept.normalised, kept.normalised_grad);
    kept.normalised.inverse_deviations.resize(0);
    show(probe, CheckedTensor::InputGradient, grad);
    return grad;
}

Parameters<float> headWeightGradient(std::span<const Weights<float>> parts, const HeadKept& kept, LayerProbe* probe) {
    Parameters<float> result;
    result.push_back(normWeightGradient(kept.normalised.values, kept.normalised_grad));
    result.push_back(weightGradient(scaled(parts[0], kept.normalised.values), kept.logits_grad));
    showWeights(probe, CheckedTensor::WeightGradient, result);
    return result;
}

void showWeights(LayerProbe* probe, CheckedTensor tensor, std::span<Weights<float>> parts) {
    if (probe == nullptr) return;
    for (Weights<float>& part : parts) {
        show(probe, tensor, part.weight);
        if (part.bias.size() > 0) show(probe, tensor, part.bias);
    }
}

} // namespace bubblescope::runtime
