#include "core/cost/cost_model.h"

#include <fmt/format.h>

namespace bubblescope {

TimeNs OpTimes::of(OpKind kind) const {
    switch (kind) {
    case OpKind::Forward: return forward;
    case OpKind::Backward: return backward;
    case OpKind::BackwardInput: return input_grad;
    case OpKind::BackwardWeight: return weight_grad;
    case OpKind::Optimizer: return optimizer;
    }
    return TimeNs{0};
}

Result<OpTimes> makeOpTimes(TimeNs forward, std::optional<TimeNs> backward, std::optional<TimeNs> input_grad,
                            std::optional<TimeNs> weight_grad, TimeNs optimizer) {
    if (backward && input_grad && weight_grad && *input_grad + *weight_grad != *backward) {
        return usageError(fmt::format("--backward {} is not --input-grad {} plus --weight-grad {}",
                                      formatTime(*backward), formatTime(*input_grad), formatTime(*weight_grad)),
                          "give two of the three");
    }
    if (backward) {
        if (input_grad && !weight_grad) weight_grad = *backward - *input_grad;
        if (weight_grad && !input_grad) input_grad = *backward - *weight_grad;
        if (!weight_grad) weight_grad = *backward / 2;
        if (!input_grad) input_grad = *backward - *weight_grad;
    }
    if (!input_grad || !weight_grad) {
        return usageError("the backward's time is missing", "give --backward, or --input-grad and --weight-grad");
    }
    if (input_grad->count() < 0 || weight_grad->count() < 0) {
        return usageError("one half of the backward is longer than the whole", "make --backward the larger time");
    }
    return OpTimes{forward, *input_grad + *weight_grad, *input_grad, *weight_grad, optimizer};
}

} // namespace bubblescope
