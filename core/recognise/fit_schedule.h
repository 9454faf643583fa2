#pragma once

#include "core/recognise/compute_blocks.h"
#include "core/recognise/run.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// A schedule that may explain the work of unannotated ranks, with scores for how well it fits.
struct ScheduleFit {
    Schedule schedule;
    double confidence =
        0;            ///< product of the fractions below, divided by the total number of orders that fit equally well
    double order = 0; ///< fraction of ranks (over all steps) that ran forwards and backwards in the schedule's order
    /// Fraction without a transfer, among the points where the first stage must not transfer anything; or that fraction
    /// for the last stage, if smaller.
    double ends = 1;
    double links = 1;     ///< fraction of autograd flows that connect ops of the same micro-batch and stage
    double causality = 1; ///< fraction of rank pairs in which, after the best clock shift, no op starts before its
                          ///< input was produced
    double calls = 1;     ///< fraction of ops with the expected number of sends, give or take one
    std::vector<std::string> alternatives; ///< schedules with a different order that explain the trace equally well
};

/// Observations of one pipeline, combined from all replicas.
struct ObservedPipeline {
    int pp = 1;
    std::vector<CutStep> steps;
    bool sends_marked = false; ///< true if transfers are marked as sends or receives
    /// True if the first and the last rank exchange data. Known only if transfers record their peers and there are more
    /// than two ranks.
    std::optional<bool> ring;
};

/// The schedule in the registry that best explains the steps. None if no schedule with one forward and one
/// backward per micro-batch and chunk reaches a score of 0.5. In case of a tie, returns the simplest and lists the
/// others. If `options` specifies a schedule or family, others are not considered, and only the number of ops must
/// match.
[[nodiscard]] std::optional<ScheduleFit> fitSchedule(const ObservedPipeline& observed, const LoadOptions& options);

/// Maps the ops of a rank's list to the blocks of a step: the k-th forward is in the k-th forward block, and likewise
/// for backwards. Returns one block number per op, or an empty list if the counts differ.
[[nodiscard]] std::vector<std::size_t> assignBlocks(std::span<const ComputeBlock> blocks, const std::vector<Op>& ops);

/// Measures how well a schedule of forwards and combined backwards explains a pipeline. Sets all fields of ScheduleFit
/// except the alternatives.
[[nodiscard]] ScheduleFit evaluateFit(const ObservedPipeline& observed, Schedule schedule);

} // namespace bubblescope
