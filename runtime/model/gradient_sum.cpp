#include "runtime/model/gradient_sum.h"

#include <stdexcept>

namespace bubblescope::runtime {

void GradientSum::add(Piece piece, Parameters<float> gradients) {
    if (next_ == order_.size() || piece != order_[next_]) {
        early_.insert_or_assign(piece, std::move(gradients));
        return;
    }
    addNext(std::move(gradients));
    while (next_ < order_.size()) {
        const auto waiting = early_.find(order_[next_]);
        if (waiting == early_.end()) return;
        addNext(std::move(waiting->second));
        early_.erase(waiting);
    }
}

void GradientSum::addNext(Parameters<float> gradients) {
    if (next_++ == 0) {
        sum_ = std::move(gradients);
        return;
    }
    for (std::size_t i = 0; i < sum_.size(); ++i) {
        sum_[i].weight += gradients[i].weight;
        sum_[i].bias += gradients[i].bias;
    }
}

Parameters<float> GradientSum::take() {
    if (next_ != order_.size() || !early_.empty()) {
        throw std::logic_error("a micro-batch's weight gradient is missing");
    }
    next_ = 0;
    return std::exchange(sum_, {});
}

} // namespace bubblescope::runtime
