#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace bubblescope {

/// Values that the framework of a recorded job reports about a step in addition to its times.
struct StepValues {
    std::optional<double> loss;         ///< mean over the micro-batches of the step; may be infinite or NaN
    std::optional<std::int64_t> tokens; ///< number of tokens used for training in this step
    std::optional<std::int64_t> samples;
    std::optional<std::int64_t> sequence_length; ///< length of the longest sequence, in tokens

    [[nodiscard]] bool empty() const { return !loss && !tokens && !samples && !sequence_length; }
    /// Copies missing values from another rank of the same replica.
    void fill(const StepValues& other);

    friend bool operator==(const StepValues&, const StepValues&) = default;
};

/// The counts, with their names in traces and reports.
inline constexpr std::array<std::pair<std::string_view, std::optional<std::int64_t> StepValues::*>, 3> kStepCounts{
    {{"tokens", &StepValues::tokens},
     {"samples", &StepValues::samples},
     {"sequence_length", &StepValues::sequence_length}}};

/// Combines the replicas of a step: mean loss, total tokens and samples, longest sequence.
[[nodiscard]] StepValues together(std::span<const StepValues> replicas);

} // namespace bubblescope
