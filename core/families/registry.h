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
    std::string name;   ///< family name or alias from scheduleFamilies()
    std::string flavor; ///< empty = the family's default
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    int group_size = 0;      ///< number of micro-batches that pass through a chunk together; 0 = the family's default
    int memory_limit = 0;    ///< maximum activations per rank, in units of one chunk's forward; 0 = the default
    int sequence_slices = 1; ///< number of slices of a micro-batch's sequence, for families that split sequences
    Encoders encoders = {};  ///< ranks of encoders before the trunk, of the `pp` ranks; for families that support them
    /// Op times, for families whose order depends on them. By default, both halves of the backward take the same time.
    OpTimes times{.forward = TimeNs{1'000'000},
                  .backward = TimeNs{2'000'000},
                  .input_grad = TimeNs{1'000'000},
                  .weight_grad = TimeNs{1'000'000},
                  .optimizer = TimeNs{0}};
    TimeNs comm{0};
    /// Memory of ops, for families whose weight gradients free memory; memory_limit is in units of sizes.forward.
    ActivationSizes sizes = {};
    TimeNs loss{0}; ///< time added to the last stage's forward and to each half of its backward
};

/// Parts of a spec that affect the orders of only some families.
enum class SpecPart : std::uint8_t { GroupSize, MemoryLimit, SequenceSlices, ActivationSizes, Encoders };

/// A part of the spec that affects a family's orders.
struct UsedPart {
    SpecPart part;
    std::vector<std::string_view> flavors = {}; ///< flavors for which this applies; empty = all
};

/// A family of schedules with its names, its limits and the generator of its orders. The closed forms of bubbles are
/// defined elsewhere (core/theory/forms/family_theory.h).
struct ScheduleFamily {
    std::string_view name;
    std::string_view title; ///< display name: "1F1B (PipeDream-Flush)"
    std::vector<std::string_view> aliases = {};
    std::vector<std::string_view> flavors = {}; ///< the first one is the default; empty if there is only one order
    Placement placement = Placement::Loop;
    std::string_view limits; ///< limits on p, m and v, as text
    std::vector<UsedPart> uses = {};
    /// Generates the order. `spec` must have positive sizes and a flavor of this family. Errors: Usage; the message
    /// contains the limit on p, m or v that the spec violates.
    Result<Schedule> (*generate)(const ScheduleSpec& spec) = nullptr;
};

[[nodiscard]] std::span<const ScheduleFamily> scheduleFamilies();

/// The family's flavors; a single empty name if there is only one order.
[[nodiscard]] std::vector<std::string_view> flavorsOf(const ScheduleFamily& family);

/// Finds a family by name or alias; nullptr if unknown.
[[nodiscard]] const ScheduleFamily* findScheduleFamily(std::string_view name);

/// Default number of chunks per rank for a family and flavor: one if possible, else two. Returns one for unknown
/// families or flavors.
[[nodiscard]] int usualChunks(std::string_view name, std::string_view flavor);

struct FamilyFlavor {
    std::string name;   ///< may be an alias
    std::string flavor; ///< empty: the default
};

/// The error for a name that findScheduleFamily() does not find: suggests a name, or commands that support it.
[[nodiscard]] Error unknownSchedule(std::string_view name);

/// Rejects parts of the spec that do not affect the order of any of these families; makeSchedule() ignores such parts.
/// Errors: Usage.
[[nodiscard]] Status checkUsedParts(const ScheduleSpec& spec, std::span<const FamilyFlavor> families);

/// Generates a valid schedule. Errors: Usage; the message contains the limit that the spec violates. Thread-safe.
[[nodiscard]] Result<Schedule> makeSchedule(const ScheduleSpec& spec);

} // namespace bubblescope
