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

/// An execution of an op of one layer.
struct LayerRun {
    Op op;
    int step = 0;
    int layer = 0;
    int again = 0;            ///< 0 for the first, then how often the rank has repeated it
    std::uint64_t number = 0; ///< of all that the rank executes; what varies from time to time varies with it
};

/// The faults of a run that concern one rank. All follow from the faults, their seeds and the names of ops and steps
/// alone, so that a run with the same faults meets the same. For the rank's thread.
class RankFaults {
public:
    /// `tensor` is its number among those that share its stages.
    RankFaults(std::span<const Fault> faults, Rank rank, int tensor = 0);

    /// True where nothing is planted: the common case.
    [[nodiscard]] bool none() const { return faults_.empty(); }

    /// How long an op takes that would take `usual`.
    [[nodiscard]] TimeNs opTime(const Op& op, int step, TimeNs usual) const;

    /// How long the rank does nothing before an op.
    [[nodiscard]] TimeNs pauseBefore(const Op& op, int step) const;

    /// When a transfer arrives that would arrive at `arrival`; to be asked once for each, in the order in which the
    /// rank takes them.
    [[nodiscard]] TimeNs arrival(Rank from, int step, TimeNs arrival);

    /// Whether a record of an op, or of its transfers, is lost.
    [[nodiscard]] bool drops(const Op& op, int step) const;

    /// Flips the bits of the op's tensor that are to be flipped. Throws std::out_of_range for one beyond its end.
    void flip(const Op& op, int step, FaultTensor which, Tensor& tensor) const;

    /// True where a fault hits inside layers, or known answers.
    [[nodiscard]] bool inLayers() const;

    /// Injects into what an execution has just computed: `before` numbers of the same tensor were shown already.
    void inject(const LayerRun& run, CheckedTensor tensor, LiveTensor& values, std::int64_t before) const;

    /// Whether a fault hits a layer's weights before the op.
    [[nodiscard]] bool injectsIntoWeights(const Op& op, int step, int layer) const;

    /// Die or Hang, if the rank goes no further than this op.
    [[nodiscard]] std::optional<FaultKind> endsBefore(const Op& op, int step) const;

private:
    [[nodiscard]] static bool applies(const Fault& fault, FaultKind kind, const Op& op, int step) {
        return fault.kind == kind && fault.steps.holds(step) && fault.ops.matches(op);
    }

    std::vector<Fault> faults_; ///< those of this rank
    Rank rank_;
    struct Stalled {
        int step = -1;
        TimeNs until{0};
    };
    std::map<std::pair<std::size_t, Rank>, Stalled> stalled_; ///< by fault and sender
};

/// The faults of one execution, which shows its tensors one after the other.
class LayerInjection {
public:
    LayerInjection(const RankFaults& faults, const LayerRun& run) : faults_(faults), run_(run) {}

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

/// Numbers what a rank executes of layers, the first time and again.
class LayerExecutions {
public:
    /// `faults` must outlive it.
    explicit LayerExecutions(const RankFaults& faults) : faults_(faults) {}

    [[nodiscard]] LayerRun next(const Op& op, int step, int layer, int again = 0) {
        return {op, step, layer, again, ++count_};
    }
    [[nodiscard]] LayerInjection injection(const LayerRun& run) const { return {faults_, run}; }
    /// Before the op of this stage: what hits its weights.
    void injectIntoWeights(const Op& op, int step, StageModel& stage);

private:
    const RankFaults& faults_;
    std::uint64_t count_ = 0;
};

} // namespace bubblescope::runtime
