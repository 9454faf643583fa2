#include "core/trace/step_marks.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>

namespace bubblescope {

std::optional<StepMark> stepMarkNamed(std::string_view name) {
    // The most specific first. NeMo and Megatron Bridge name their NVTX ranges training_step_N.
    constexpr std::array<std::string_view, kStepMarkKinds> kPrefixes{
        "ProfilerStep#", "training_step", "train_step", "TrainStep", "iteration", "Iteration", "iter", "step", "Step"};
    for (std::size_t kind = 0; kind < kPrefixes.size(); ++kind) {
        if (!name.starts_with(kPrefixes[kind])) continue;
        std::string_view rest = name.substr(kPrefixes[kind].size());
        rest.remove_prefix(std::min(rest.find_first_not_of(" _#:-="), rest.size()));
        const auto number = wholeNumber(rest);
        if (number) return StepMark{kind, *number};
    }
    return std::nullopt;
}

bool holdsStepMarks(std::string_view category) {
    constexpr std::array<std::string_view, 4> kCategories{"user_annotation", "cpu_op", "nvtx", "ProfileStep"};
    return std::ranges::find(kCategories, category) != kCategories.end();
}

} // namespace bubblescope
