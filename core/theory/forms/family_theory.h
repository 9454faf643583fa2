#pragma once

#include "core/base/result.h"
#include "core/theory/forms/form.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Theory for the orders of one schedule family, used by closedForm(). Any function may be null. Functions are called
/// with a schedule that the family generated, or one equal to it. Errors name the condition that the schedule or the
/// costs violate.
struct FamilyTheory {
    std::string_view family; ///< ScheduleFamily::name
    /// Bubbles per position or in total, for equal stages and transfers that take no time.
    Result<ClosedForm> (*closed_form)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// Peak activations, which do not depend on timing. Contains no values if none are known.
    PeakForm (*peak_form)(const Schedule& schedule) = nullptr;
    /// Same as closed_form, but for transfers with latency or unequal stages: called for all costs that closed_form
    /// does not cover.
    Result<ClosedForm> (*general_form)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// Published forms of this family, evaluated for a schedule with equal stages, each with a verdict.
    std::vector<QuotedForm> (*quoted_forms)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// True if closed_form includes all-reduces that are hidden by pairs and complete backwards. All other forms are
    /// correct only for orders that have no pairs and whose backwards are either all complete or all split.
    bool hides_all_reduces = false;
};

/// Entries of all families that have at least one form.
[[nodiscard]] std::span<const FamilyTheory> familyTheories();

/// Finds an entry by the name of the family (not an alias); nullptr if there is no theory for the family.
[[nodiscard]] const FamilyTheory* findFamilyTheory(std::string_view family);

// The entries of familyTheories(). Each entry is defined next to its forms.
[[nodiscard]] FamilyTheory fThenBTheory();
[[nodiscard]] FamilyTheory loopedBfsTheory();
[[nodiscard]] FamilyTheory circularTheory();
[[nodiscard]] FamilyTheory interleavedFThenBTheory();
[[nodiscard]] FamilyTheory oneFOneBTheory();
[[nodiscard]] FamilyTheory eager1F1BTheory();
[[nodiscard]] FamilyTheory seq1F1BTheory();
[[nodiscard]] FamilyTheory seqPipeTheory();
[[nodiscard]] FamilyTheory seqVppTheory();
[[nodiscard]] FamilyTheory seqSmartVppTheory();
[[nodiscard]] FamilyTheory vppBalancedMemoryTheory();
[[nodiscard]] FamilyTheory interleaved1F1BTheory();
[[nodiscard]] FamilyTheory oneFOneBOverlapTheory();
[[nodiscard]] FamilyTheory interleavedOverlapTheory();
[[nodiscard]] FamilyTheory zbH1Theory();
[[nodiscard]] FamilyTheory interleavedZbTheory();
[[nodiscard]] FamilyTheory zbH2Theory();
[[nodiscard]] FamilyTheory zbVTheory();
[[nodiscard]] FamilyTheory vHalfTheory();
[[nodiscard]] FamilyTheory vMinTheory();
[[nodiscard]] FamilyTheory v1F1BTheory();
[[nodiscard]] FamilyTheory dualPipeVTheory();
[[nodiscard]] FamilyTheory dualPipeTheory();
[[nodiscard]] FamilyTheory stpTheory();
[[nodiscard]] FamilyTheory chimeraTheory();
[[nodiscard]] FamilyTheory bitPipeTheory();
[[nodiscard]] FamilyTheory hanayoTheory();
[[nodiscard]] FamilyTheory pipeDream2BwTheory();
[[nodiscard]] FamilyTheory pipeDreamTheory();

/// Form of every order in which all micro-batches pass through one chunk after another, first forward and then
/// backward; derived in forwards_first.cpp. Errors: Usage if the stages are not equal.
[[nodiscard]] Result<ClosedForm> breadthFirstForm(const Schedule& schedule, const CostModel& costs, std::string domain);

/// Form of 1F1B with encoders before a trunk; derived in encoders.cpp. Errors: Usage outside its domain.
[[nodiscard]] Result<ClosedForm> encoderForm(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
