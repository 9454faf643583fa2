#pragma once

#include "runtime/engine/rank_bubbles.h"
#include "runtime/engine/rank_exchange.h"
#include "runtime/engine/rank_stages.h"
#include "runtime/engine/rank_state.h"

#include <optional>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// One rank: executes its list of ops step by step, for any schedule. Lives on the rank's thread.
class RankLoop {
public:
    /// `local` is the rank's place among those that run here.
    RankLoop(RunState& run, std::size_t local);

    /// All steps. Catches everything: a failure ends the run for all ranks.
    void run() noexcept;

    /// After run() has returned.
    [[nodiscard]] const RankCounts& counts() const { return rank_.counts; }

private:
    using Arrivals = std::vector<std::optional<Arrival>>;

    void runSteps();
    /// Whether there is a step `rank_.step`.
    [[nodiscard]] bool goesOn();
    void runStep();
    /// Calls after_step where this rank is the one that does.
    void endStep();

    /// The ops that begin at `index` of the list: one, or both of an overlapped pair. They begin together, when the
    /// inputs of both are there, and end together.
    void runTogether(std::size_t index);
    /// The rest of runTogether(). On the host the maths is done here, in the order of the list, and each output is sent
    /// when it exists. On a device all of it is queued, and nothing waits for it.
    void runOnHost(std::size_t index, std::span<const Op> ops, TimeNs nominal, Arrivals inputs);
    void queueOnDevice(std::size_t index, std::span<const Op> ops, TimeNs nominal, Arrivals inputs);
    /// One op: its maths, and what the hook adds to its output.
    [[nodiscard]] Message compute(const Op& op, std::optional<Arrival>& input, TimeNs begin);
    /// Sums the gradients of all copies of the rank's stages, and updates their weights.
    void runOptimizer();
    /// When the rank has finished what it has begun; waits for its device.
    [[nodiscard]] TimeNs finish();
    /// Holds the rank until the ops have ended, then records them; they waited for sums for `exposed`.
    void holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end,
                       TimeNs exposed);
    void countOps(std::size_t ops);

    /// Announces the sums inside these ops, where ranks share stages.
    void beginSums(std::span<const Op> ops, TimeNs begin, TimeNs nominal);
    [[nodiscard]] std::size_t sumsSoFar() const { return rank_.sums ? rank_.sums->spans().size() : 0; }
    /// What sums have added to ops of a nominal time.
    [[nodiscard]] TimeNs withSums(TimeNs nominal) const;
    void recordSums(const Op& op, std::size_t first);

    /// Injects what is due before the ops; throws where that ends the rank.
    void injectFaults(std::span<const Op> ops);
    [[noreturn]] void die();
    [[noreturn]] void hang();
    /// With what faults add to it.
    [[nodiscard]] TimeNs nominalTime(std::span<const Op> ops) const;
    /// Where ops take the host's time, so do faults: waits until work that began then has taken long enough.
    void stretch(std::span<const Op> ops, TimeNs began, TimeNs nominal);
    void throwIfEnded();

    RankState rank_;
    RankStages stages_;
    RankExchange exchange_;
    RankBubbles bubbles_;
    bool ends_steps_; ///< calls after_step
};

} // namespace bubblescope::runtime
