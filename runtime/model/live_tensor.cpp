#include "runtime/model/live_tensor.h"

#include "core/aadiff/digest.h"
#include "runtime/accelerator/kernels/number_hash.h"

#include <bit>
#include <cstddef>

namespace bubblescope::runtime {

void HostTensor::flip(std::int64_t element, std::int64_t bit) {
    float& value = values_[element];
    value =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << static_cast<unsigned>(bit)));
}

void HostTensor::disturb(std::uint64_t chance) {
    for (std::int64_t i = 0; i < count_; ++i) {
        if ((mixBits(chance + static_cast<std::uint64_t>(i)) & 1U) != 0) flip(i, 0);
    }
}

ShownTensor HostTensor::show(CheckedTensor tensor, bool with_values) {
    ShownTensor shown;
    shown.tensor = tensor;
    shown.digest = digest::of(values_, static_cast<std::size_t>(count_) * sizeof(float));
    shown.count = count_;
    if (with_values) shown.values.assign(values_, values_ + count_);
    return shown;
}

} // namespace bubblescope::runtime
