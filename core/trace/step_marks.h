#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// A training step that a range's name marks: "ProfilerStep#12", "training_step_12", "iteration 12".
struct StepMark {
    std::size_t kind = 0; ///< how the name is spelled; the smaller, the more specific
    std::int64_t index = 0;
};
/// The number of kinds that stepMarkNamed() returns.
inline constexpr std::size_t kStepMarkKinds = 9;
/// The kind of PyTorch's own marks, which cover all that its profiler recorded.
inline constexpr std::size_t kProfilerStep = 0;

[[nodiscard]] std::optional<StepMark> stepMarkNamed(std::string_view name);

/// Whether slices of a category may mark steps: ranges by users or frameworks. Other slices may be called "step 3" too.
[[nodiscard]] bool holdsStepMarks(std::string_view category);

} // namespace bubblescope
