#include "core/timeline/step_values.h"

#include <algorithm>

namespace bubblescope {

void StepValues::fill(const StepValues& other) {
    if (!loss) loss = other.loss;
    for (const auto& [name, member] : kStepCounts)
        if (!(this->*member)) this->*member = other.*member;
}

StepValues together(std::span<const StepValues> replicas) {
    StepValues all;
    int losses = 0;
    for (const StepValues& one : replicas) {
        if (one.loss) {
            all.loss = all.loss.value_or(0) + *one.loss;
            ++losses;
        }
        if (one.tokens) all.tokens = all.tokens.value_or(0) + *one.tokens;
        if (one.samples) all.samples = all.samples.value_or(0) + *one.samples;
        if (one.sequence_length) all.sequence_length = std::max(all.sequence_length.value_or(0), *one.sequence_length);
    }
    if (losses > 0) *all.loss /= losses;
    return all;
}

} // namespace bubblescope
