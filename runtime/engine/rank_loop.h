#pragma once

#include "runtime/engine/rank_bubbles.h"
#include "runtime/engine/rank_exchange.h"
#include "runtime/engine/rank_state.h"
#include "runtime/engine/ready_ops.h"

#include <optional>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// Executes one rank's list of ops, step by step, for any schedule. Used on the rank's thread.
class RankLoop {
public:
    /// `local` is the index of the rank among the ranks of this process.
    RankLoop(RunState& run, std::size_t local);

    /// Runs all steps. Catches all exceptions: a failure ends the run for all ranks.
    void run() noexcept;

    /// Call this after run() has returned.
    [[nodiscard]] const RankCounts& counts() const { return rank_.counts; }

private:
    using Arrivals = std::vector<std::optional<Arrival>>;

    void runSteps();
    /// True if the run includes step `rank_.step`.
    [[nodiscard]] bool goesOn();
    void runStep();
    /// Run the ops of a step, except the optimizer, in the order of the list or as they become ready.
    void runList();
    void runReady();
    /// Calls after_step and next_order if this rank is responsible for them.
    void endStep();

    /// Runs the ops that begin at `index` in the list: one op, or both ops of an overlapped pair. The ops begin
    /// together, when the inputs of both have arrived, and end together.
    void runTogether(std::size_t index);
    [[nodiscard]] Arrivals receiveInputs(std::size_t index);
    /// The second part of runTogether(). On the host, the computation is done here, in the order of the list, and each
    /// output is sent as soon as it is computed. On a device everything is queued without waiting.
    void runOnHost(std::size_t index, std::span<const Op> ops, TimeNs nominal, Arrivals inputs);
    void queueOnDevice(std::size_t index, std::span<const Op> ops, TimeNs nominal, Arrivals inputs);
    /// Offloads, reloads and recomputes activations before the op at `index`. A recomputation that is not part of an op
    /// takes its forward's nominal time.
    void moveActivations(std::size_t index);
    /// Recomputes the activations of the backward at `index` if the backward includes the recomputation.
    void recomputeFor(std::size_t index);
    /// Computes one op, and lets the hook add to its output.
    [[nodiscard]] Message compute(const Op& op, std::optional<Arrival>& input, TimeNs begin);
    /// Sums the gradients of all copies of the rank's stages, and updates the weights.
    void runOptimizer();
    /// Updates the weights in the middle of a step. On an emulated clock, the update takes its nominal time even if
    /// that is 0.
    void updateWithin();
    /// Applies a gradient for each chunk; the op begins at `ready`.
    void applyGradients(const std::vector<Tensor>& sums, TimeNs ready, TimeNs nominal);
    /// Waits for the rank's device; returns the time at which the rank has finished all work that it has begun.
    [[nodiscard]] TimeNs finish();
    /// Blocks the rank until the ops have ended, then records them. `exposed` is the time that the ops waited for sums.
    void holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end,
                       TimeNs exposed);
    void countOps(std::size_t ops);

    /// Announces the sums inside these ops if ranks share stages.
    void beginSums(std::span<const Op> ops, TimeNs begin, TimeNs nominal);
    [[nodiscard]] std::size_t sumsSoFar() const { return rank_.sums ? rank_.sums->spans().size() : 0; }
    /// A nominal time plus the time that sums have added to the ops.
    [[nodiscard]] TimeNs withSums(TimeNs nominal) const;
    void recordSums(const Op& op, std::size_t first);

    /// Injects the faults due before the ops; throws an exception if a fault ends the rank.
    void injectFaults(std::span<const Op> ops);
    [[noreturn]] void die();
    [[noreturn]] void hang();
    /// The nominal time of the ops, including injected delays.
    [[nodiscard]] TimeNs nominalTime(std::span<const Op> ops) const;
    [[nodiscard]] TimeNs forwardTime(const Action& recompute) const;
    /// Injects delays into ops whose time is measured on the host: waits until work that began at `began` has lasted
    /// long enough.
    void stretch(std::span<const Op> ops, TimeNs began, TimeNs nominal);

    RankState rank_;
    RankStages stages_;
    RankExchange exchange_;
    RankBubbles bubbles_;
    ReadyOps ready_;  ///< used only if ranks choose their ops
    bool ends_steps_; ///< true if this rank calls after_step
    int updates_;     ///< number of updates per step
    int update_ = 0;  ///< index of the next update in this step
};

} // namespace bubblescope::runtime
