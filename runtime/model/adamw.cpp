#include "runtime/model/adamw.h"

#include <cmath>

namespace bubblescope::runtime {

void AdamW::step(const std::vector<ParameterRun>& runs, const Matrix<float>& gradients) {
    if (first_.size() == 0) {
        first_ = Eigen::ArrayXf::Zero(gradients.size());
        second_ = Eigen::ArrayXf::Zero(gradients.size());
    }
    ++steps_;
    const auto correction = [&](float beta) {
        return static_cast<float>(1.0 - std::pow(static_cast<double>(beta), static_cast<double>(steps_)));
    };
    const float rate = config_.learning_rate / correction(config_.beta1);
    const float scale = 1.0F / std::sqrt(correction(config_.beta2));
    Eigen::Index at = 0;
    for (const ParameterRun& run : runs) {
        const auto gradient = gradients.col(0).segment(at, run.count).array();
        auto first = first_.segment(at, run.count);
        auto second = second_.segment(at, run.count);
        first = config_.beta1 * first + (1.0F - config_.beta1) * gradient;
        second = config_.beta2 * second + (1.0F - config_.beta2) * gradient.square();
        Eigen::Map<Eigen::ArrayXf> values(run.values, run.count);
        if (run.decays) values *= 1.0F - config_.learning_rate * config_.weight_decay;
        values -= rate * first / (second.sqrt() * scale + config_.epsilon);
        at += run.count;
    }
}

} // namespace bubblescope::runtime
