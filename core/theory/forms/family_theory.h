#pragma once

#include "core/base/result.h"
#include "core/theory/forms/form.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The theory of one schedule family's orders; closedForm() combines it. Each function may be null. It is called with a
/// schedule that the family generated, or one equal to it. An error names the domain that the schedule or the costs are
/// outside of.
struct FamilyTheory {
    std::string_view family; ///< ScheduleFamily::name
    /// Bubbles per position or in total, for equal stages and free transfers.
    Result<ClosedForm> (*closed_form)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// Peak activations, which do not depend on times. Without values if none are known.
    PeakForm (*peak_form)(const Schedule& schedule) = nullptr;
    /// Like closed_form, but for transfers with latency or unequal stages: called for all costs that closed_form does
    /// not cover.
    Result<ClosedForm> (*general_form)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// Published forms of this family, evaluated for a schedule on equal stages, each with a verdict.
    std::vector<QuotedForm> (*quoted_forms)(const Schedule& schedule, const CostModel& costs) = nullptr;
    /// True if closed_form covers all-reduces that pairs and whole backwards hide. All other forms are right only for
    /// orders in which every backward is whole or every one is split, without pairs.
    bool hides_all_reduces = false;
};

/// Families without any form have no entry.
[[nodiscard]] std::span<const FamilyTheory> familyTheories();

/// Finds an entry by the family's name (not an alias); nullptr if there is no theory for it.
[[nodiscard]] const FamilyTheory* findFamilyTheory(std::string_view family);

// The entries. Each is defined next to its forms.
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

/// The form of every order that takes all micro-batches through one chunk after another, forward and then back; derived
/// in forwards_first.cpp. Errors: Usage on unequal stages.
[[nodiscard]] Result<ClosedForm> breadthFirstForm(const Schedule& schedule, const CostModel& costs, std::string domain);

} // namespace bubblescope
