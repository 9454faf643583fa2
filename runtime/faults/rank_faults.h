#pragma once

#include "runtime/faults/fault.h"
#include "runtime/model/stage_model.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// One execution of an op of one layer.
struct LayerRun {
    Op op;
    int step = 0;
    int layer = 0;
    int again = 0;            ///< 0 for the first execution, then the number of the repetition
    std::uint64_t number = 0; ///< number among all executions on the rank; the source of random variation
};

/// The faults of a run that affect one rank. The effects depend only on the specified faults, their seeds, and the
/// names of ops and steps, so runs with the same faults are affected in the same way. For the rank's thread.
class RankFaults {
public:
    /// `tensor` is the rank's index among the ranks that share its stages.
    RankFaults(std::span<const Fault> faults, Rank rank, int tensor = 0);

    /// True if there are no faults, which is the common case.
    [[nodiscard]] bool none() const { return faults_.empty(); }

    /// The time of an op that would take `usual` without faults.
    [[nodiscard]] TimeNs opTime(const Op& op, int step, TimeNs usual) const;

    /// How long the rank pauses before an op.
    [[nodiscard]] TimeNs pauseBefore(const Op& op, int step) const;

    /// Returns the arrival time, with faults, of a transfer that would otherwise arrive at `arrival`. Call this once
    /// per transfer, in the order in which the rank receives them.
    [[nodiscard]] TimeNs arrival(Rank from, int step, TimeNs arrival);

    /// True if the records of an op and its transfers are lost.
    [[nodiscard]] bool drops(const Op& op, int step) const;

    /// Flips the bits of the op's tensor that faults specify. Throws std::out_of_range if a bit is beyond the tensor's
    /// end.
    void flip(const Op& op, int step, FaultTensor which, Tensor& tensor) const;

    /// True if any fault affects layers or known answers.
    [[nodiscard]] bool inLayers() const;

    /// Injects faults into a tensor that an execution has just computed. `before` is the number of values of the same
    /// tensor that were reported earlier.
    void inject(const LayerRun& run, CheckedTensor tensor, LiveTensor& values, std::int64_t before) const;

    /// True if a fault flips a layer's weights before the op.
    [[nodiscard]] bool injectsIntoWeights(const Op& op, int step, int layer) const;

    /// Returns Die or Hang if a fault ends the rank before this op.
    [[nodiscard]] std::optional<FaultKind> endsBefore(const Op& op, int step) const;

private:
    [[nodiscard]] static bool applies(const Fault& fault, FaultKind kind, const Op& op, int step) {
        return fault.kind == kind && fault.steps.holds(step) && fault.ops.matches(op);
    }

    std::vector<Fault> faults_; ///< the rank's faults
    Rank rank_;
    struct Stalled {
        int step = -1;
        TimeNs until{0};
    };
    std::map<std::pair<std::size_t, Rank>, Stalled> stalled_; ///< by fault and sender
};

/// The faults of one execution, which reports its tensors one after another.
class LayerInjection {
public:
    LayerInjection(const RankFaults& faults, const LayerRun& run) : faults_(faults), run_(run) {}

    [[nodiscard]] bool none() const { return faults_.none(); }
    void inject(CheckedTensor tensor, LiveTensor& values) {
        if (faults_.none()) return;
        std::int64_t& before = seen_[tensor];
        faults_.inject(run_, tensor, values, before);
        before += values.count();
    }

private:
    const RankFaults& faults_;
    LayerRun run_;
    std::map<CheckedTensor, std::int64_t> seen_; ///< numbers shown so far
};

/// Numbers the executions of layers on a rank, including repetitions.
class LayerExecutions {
public:
    /// `faults` must outlive it.
    explicit LayerExecutions(const RankFaults& faults) : faults_(faults) {}

    [[nodiscard]] LayerRun next(const Op& op, int step, int layer, int again = 0) {
        return {op, step, layer, again, ++count_};
    }
    [[nodiscard]] LayerInjection injection(const LayerRun& run) const { return {faults_, run}; }
    /// Call this before an op of this stage: injects faults into the stage's weights.
    void injectIntoWeights(const Op& op, int step, StageModel& stage);

private:
    const RankFaults& faults_;
    std::uint64_t count_ = 0;
};

} // namespace bubblescope::runtime
