#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A request for a schedule.
struct ScheduleSpec {
    std::string name;   ///< family name or alias, see scheduleFamilies()
    std::string flavor; ///< empty = the family's default
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    int group_size = 0;      ///< micro-batches that pass a chunk together; 0 = the family's default
    int memory_limit = 0;    ///< maximum activations per rank, in forward ops of one chunk; 0 = the default
    int sequence_slices = 1; ///< slices of a micro-batch's sequence, for families that split it
    /// For families whose order depends on times. Unless given, the halves of the backward are equal.
    OpTimes times{.forward = TimeNs{1'000'000},
                  .backward = TimeNs{2'000'000},
                  .input_grad = TimeNs{1'000'000},
                  .weight_grad = TimeNs{1'000'000},
                  .optimizer = TimeNs{0}};
    TimeNs comm{0};
    /// For families whose weight gradients free memory; memory_limit counts units of sizes.forward.
    ActivationSizes sizes = {};
    TimeNs loss{0}; ///< added to the last stage's forward and to each half of its backward
};

/// Parts of a spec that change the orders of only some families.
enum class SpecPart : std::uint8_t { GroupSize, MemoryLimit, SequenceSlices, ActivationSizes };

/// A part that a family's orders depend on.
struct UsedPart {
    SpecPart part;
    std::vector<std::string_view> flavors = {}; ///< with these flavors; empty: with all
};

/// A family of schedules: its names, its limits and the generator of its orders. Closed forms of its bubbles are kept
/// separately (core/theory/forms/family_theory.h).
struct ScheduleFamily {
    std::string_view name;
    std::string_view title; ///< display name: "1F1B (PipeDream-Flush)"
    std::vector<std::string_view> aliases = {};
    std::vector<std::string_view> flavors = {}; ///< the first is the default; empty if there is only one order
    Placement placement = Placement::Loop;
    std::string_view limits; ///< limits on p, m and v, in words
    std::vector<UsedPart> uses = {};
    /// Generates the order. `spec` must have positive sizes and a flavor of this family. Errors: Usage, naming the
    /// limit on p, m or v that the spec violates.
    Result<Schedule> (*generate)(const ScheduleSpec& spec) = nullptr;
};

[[nodiscard]] std::span<const ScheduleFamily> scheduleFamilies();

/// Finds a family by name or alias; nullptr if unknown.
[[nodiscard]] const ScheduleFamily* findScheduleFamily(std::string_view name);

/// The chunks per rank that the family uses by default: one if possible, else two. One if there is no such family or
/// flavor.
[[nodiscard]] int usualChunks(std::string_view name, std::string_view flavor);

struct FamilyFlavor {
    std::string name;   ///< may be an alias
    std::string flavor; ///< empty: the default
};

/// Rejects parts of the spec that change the order of none of these families; makeSchedule() ignores such parts.
/// Errors: Usage.
[[nodiscard]] Status checkUsedParts(const ScheduleSpec& spec, std::span<const FamilyFlavor> families);

/// Generates a valid schedule. Errors: Usage, naming the limit that the spec violates. Thread-safe.
[[nodiscard]] Result<Schedule> makeSchedule(const ScheduleSpec& spec);

} // namespace bubblescope
