#pragma once

#include "core/recognise/compute_blocks.h"
#include "core/recognise/run.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// A schedule that may explain what unannotated ranks did, and how well it does.
struct ScheduleFit {
    Schedule schedule;
    double confidence =
        0;            ///< product of the fractions below, divided by the number of other orders that fit equally well
    double order = 0; ///< fraction of the steps' ranks whose forwards and backwards are in the schedule's order
    /// Fraction of places without transfers among those where the first stage (or the last) must not transfer anything;
    /// the smaller of the two stages' values.
    double ends = 1;
    double links = 1;     ///< fraction of autograd's flows that connect ops of one micro-batch and stage
    double causality = 1; ///< fraction of the pairs of ranks for which, after the best clock shift, no op starts before
                          ///< its input was produced
    double calls = 1;     ///< fraction of the ops with the expected number of sends, plus or minus one
    std::vector<std::string> alternatives; ///< other schedules, with another order, that explain the trace equally well
};

/// The observations of one pipeline, all replicas together.
struct ObservedPipeline {
    int pp = 1;
    std::vector<CutStep> steps;
    bool sends_marked = false; ///< transfers are marked as sends or receives
    /// True if the first and the last rank exchange data; empty unless transfers name their peers and there are more
    /// than two ranks.
    std::optional<bool> ring;
};

/// The schedule of the registry that explains the steps best; nothing if no schedule with one forward and one backward
/// per micro-batch and chunk explains at least half of them. If several do equally well, takes the simplest and lists
/// the others. If `options` names a schedule or family, only that is considered, and only the number of its ops must
/// agree.
[[nodiscard]] std::optional<ScheduleFit> fitSchedule(const ObservedPipeline& observed, const LoadOptions& options);

/// Maps the ops of a rank's list to the blocks of a step: the k-th forward block is the k-th forward, and likewise for
/// backwards. One block number per op; empty if their numbers differ.
[[nodiscard]] std::vector<std::size_t> assignBlocks(std::span<const ComputeBlock> blocks, const std::vector<Op>& ops);

/// Measures how well a schedule of forwards and whole backwards explains a pipeline: all of ScheduleFit except the
/// alternatives.
[[nodiscard]] ScheduleFit evaluateFit(const ObservedPipeline& observed, Schedule schedule);

} // namespace bubblescope
