#pragma once

#include "core/cost/cost_model.h"
#include "core/cost/measured_times.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace bubblescope {

/// A payload sent from one rank to another.
struct Transfer {
    Payload payload = Payload::Activation;
    Microbatch microbatch;
    std::int32_t sequence = 0;
    Stage stage; ///< the receiving stage, or as transferStages() defines it where two encoders join
    Rank to;
};

/// The transfer that feeds an op.
[[nodiscard]] inline Transfer inputOf(const OpGraph& graph, OpIndex index) {
    const Op& op = graph.op(index);
    return {payloadOf(op.kind), op.microbatch, op.sequence, graph.stage(index), graph.rank(index)};
}

/// A cost model tabulated for one schedule, for looking up op and transfer times quickly. Stores a reference to the
/// model, which must outlive the table.
class CostTable {
public:
    CostTable(const Schedule& schedule, const CostModel& costs);

    [[nodiscard]] TimeNs op(const OpGraph& graph, OpIndex index) const {
        const Op& op = graph.op(index);
        if (costs_.measured != nullptr) {
            if (const auto measured = costs_.measured->op(graph.rank(index), op)) return *measured;
        }
        return times_[costs_.stages.empty() ? 0 : graph.stage(index).index()][static_cast<std::size_t>(op.kind)];
    }

    /// Time for an op, or for a pair that runs as one unit.
    [[nodiscard]] TimeNs unit(const OpGraph& graph, OpIndex index, OpIndex partner) const {
        return partner == kNoOp ? op(graph, index) : pair(graph, index, partner);
    }

    /// Sets `out` to the transfer of an op's output. Returns false if no other rank needs the output.
    [[nodiscard]] bool leaves(const OpGraph& graph, OpIndex index, Transfer& out) const {
        const Op& op = graph.op(index);
        const bool forward = op.kind == OpKind::Forward;
        if (!forward && !producesInputGradient(op.kind)) return false;
        out.payload = payloadOf(op.kind);
        out.microbatch = op.microbatch;
        out.sequence = op.sequence;
        const int stage = graph.stage(index).value;
        out.stage.value = forward ? stageAfter(placement_, stage) : stageBefore(placement_, stage);
        if (out.stage.value < 0 || out.stage.index() >= rank_of_.size()) return false;
        out.to = rank_of_[out.stage.index()];
        if (joins_.first >= 0) {
            const int stages = static_cast<int>(rank_of_.size());
            out.stage.value = transferNumber(placement_, stages, out.payload, stage);
        }
        return out.to != graph.rank(index);
    }

    [[nodiscard]] TimeNs transfer(Rank from, const Transfer& out) const {
        if (costs_.measured != nullptr) {
            const auto measured = costs_.measured->transfer(out.payload, out.microbatch, out.stage, out.sequence);
            if (measured) return *measured;
        }
        return transfers_[way(from, out.to)][static_cast<std::size_t>(out.payload)];
    }

    /// Index of the communication stream that a transfer uses, less than streamCount(); -1 if none.
    [[nodiscard]] int stream(Rank from, const Transfer& out) const;
    [[nodiscard]] std::size_t streamCount() const { return transfers_.size(); }

    /// An upper bound on the time of any op or transfer.
    [[nodiscard]] TimeNs longest() const;

private:
    /// Consecutive stages are on neighbouring ranks; the last and the first rank count as neighbours too. Therefore a
    /// rank sends to at most two others, except for the links between the trunk and the first of two encoders.
    [[nodiscard]] std::size_t way(Rank from, Rank to) const {
        if (joins_.first >= 0 && std::minmax(from.value, to.value) == std::minmax(joins_.first, joins_.second)) {
            return 2 * static_cast<std::size_t>(pp_) + (from.value < to.value ? 0U : 1U);
        }
        return 2 * from.index() + (to.value == (from.value + 1) % pp_ ? 0U : 1U);
    }
    [[nodiscard]] TimeNs pair(const OpGraph& graph, OpIndex index, OpIndex partner) const;

    const CostModel& costs_;
    int pp_;
    Placement placement_;
    std::pair<int, int> joins_{-1, -1};            ///< last rank of the first of two encoders, first rank of the trunk
    std::vector<std::array<TimeNs, 5>> times_;     ///< per stage, or one entry for all; by kind of op
    std::vector<std::array<TimeNs, 2>> transfers_; ///< per direction; by payload
    std::vector<Rank> rank_of_;                    ///< per stage
};

} // namespace bubblescope
