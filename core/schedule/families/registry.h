#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/activation_sizes.h"
#include "core/schedule/schedule.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

// core/theory/closed_form.h
struct ClosedForm;
struct PeakForm;
struct QuotedForm;

/// Which schedule is wanted.
struct ScheduleSpec {
    std::string name;   ///< family or alias, see scheduleFamilies()
    std::string flavor; ///< empty = the family's default
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    int group_size = 0;      ///< micro-batches that go through a chunk together; 0 = the family's default
    int memory_limit = 0;    ///< most activations a rank may hold, in forward ops of one chunk; 0 = the default
    int sequence_slices = 1; ///< slices of a micro-batch's sequence, for families that split it
    /// For families whose order depends on times. Equal halves of the backward unless given.
    OpTimes times{TimeNs{1'000'000}, TimeNs{2'000'000}, TimeNs{1'000'000}, TimeNs{1'000'000}, TimeNs{0}};
    TimeNs comm{0};
    /// For families that make room by weight gradients; memory_limit counts sizes.forward each.
    ActivationSizes sizes = {};
    TimeNs loss{0}; ///< of the last stage's forward and of either half of its backward, beside `times`
};

/// A family of schedules: its names, its limits, how its orders are made and what bubbles theory gives
/// them. One file in this folder each.
struct ScheduleFamily {
    std::string_view name;
    std::string_view title; ///< for people: "1F1B (PipeDream-Flush)"
    std::vector<std::string_view> aliases;
    std::vector<std::string_view> flavors; ///< first = default; empty where there is only one order
    Placement placement = Placement::Loop;
    std::string_view limits; ///< on m and v, in words
    /// The order; `spec` has positive sizes, a flavor of this family, and p, m, v are still to be checked.
    Result<Schedule> (*generate)(const ScheduleSpec& spec);
    // What theory says; closedForm() puts it together. Each may be null, and is called with a schedule that this
    // family generated, or one equal to it. An error says outside which domain the schedule or the costs are.

    /// Bubbles per position or in total, for equal stages and free transfers.
    Result<ClosedForm> (*closed_form)(const Schedule& schedule, const CostModel& costs);
    /// Peak activations; they do not depend on times. Without values where none are known.
    PeakForm (*peak_form)(const Schedule& schedule) = nullptr;
    /// The same for transfers with latency or unequal stages: called with all costs that `closed_form` is not.
    Result<ClosedForm> (*general_form)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// What others state of this family, evaluated for a schedule on equal stages, with a verdict each.
    std::vector<QuotedForm> (*quoted_forms)(const Schedule& schedule, const CostModel& costs) = nullptr;
};

[[nodiscard]] std::span<const ScheduleFamily> scheduleFamilies();

/// By name or alias, nullptr if unknown.
[[nodiscard]] const ScheduleFamily* findScheduleFamily(std::string_view name);

/// Generates a valid schedule or says, as a usage error, which limit the spec breaks.
[[nodiscard]] Result<Schedule> makeSchedule(const ScheduleSpec& spec);

} // namespace bubblescope
