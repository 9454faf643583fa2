#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// A training step that is marked by the name of a range: "ProfilerStep#12", "training_step_12", "iteration 12".
struct StepMark {
    std::size_t kind = 0; ///< index of the name's pattern; a lower index is more specific
    std::int64_t index = 0;
};
/// Number of kinds that stepMarkNamed() can return.
inline constexpr std::size_t kStepMarkKinds = 9;

[[nodiscard]] std::optional<StepMark> stepMarkNamed(std::string_view name);

/// True for categories of user or framework ranges, which may mark steps. Other slices may have such names, too.
[[nodiscard]] bool holdsStepMarks(std::string_view category);

} // namespace bubblescope
