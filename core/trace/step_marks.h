#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// A training step marked by the name of a range: "ProfilerStep#12", "training_step_12", "iteration 12".
struct StepMark {
    std::size_t kind = 0; ///< the spelling of the name; smaller is more specific
    std::int64_t index = 0;
};
/// The number of kinds that stepMarkNamed() returns.
inline constexpr std::size_t kStepMarkKinds = 9;
/// The kind of PyTorch's own marks, which cover everything that its profiler recorded.
inline constexpr std::size_t kProfilerStep = 0;

[[nodiscard]] std::optional<StepMark> stepMarkNamed(std::string_view name);

/// True if slices of a category may mark steps: ranges by users or frameworks. Other slices may have such names too.
[[nodiscard]] bool holdsStepMarks(std::string_view category);

} // namespace bubblescope
