#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/attribution/attribution.h"
#include "core/graph/step_replay.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// The causes that consist of delayed starts.
inline constexpr std::array kDelayKinds{RootCauseKind::InTransfer, RootCauseKind::Blocked, RootCauseKind::ReplayedWork,
                                        RootCauseKind::LateStart};

/// The typical times of a step's units and transfers, and the excess over them: in a unit's duration, in the transfer
/// of its latest input, and in its start.
///
/// The constructor is linear in units and handles the transfers of both directions in parallel. Queries take constant
/// time. Stores references to the observed step and the usual times, which must outlive the object. Thread-safe.
class StepExcess {
public:
    StepExcess(const ObservedStep& observed, const UnitTimes& usual);
    StepExcess(const StepExcess&) = delete;
    StepExcess& operator=(const StepExcess&) = delete;

    [[nodiscard]] const StepGraph& graph() const { return graph_; }
    [[nodiscard]] const std::vector<Binding>& bindings() const { return bindings_; }

    /// The typical duration of each unit.
    [[nodiscard]] std::span<const TimeNs> typical() const { return typical_; }
    /// Typical time of the transfers in this direction; 0 if there are none.
    [[nodiscard]] TimeNs typicalTransfer(Way way) const { return typical_transfer_[indexOf(way)]; }

    /// The excess of a unit's duration over its typical duration.
    struct Longer {
        TimeNs of_stage{0}; ///< part that is due to a slow stage
        TimeNs of_op{0};
    };
    [[nodiscard]] Longer longerAt(std::size_t unit) const {
        const TimeNs real = graph_.end[unit] - graph_.start[unit];
        const TimeNs typical = typical_[unit];
        // A fast op on a slow stage lowers the stage's excess, and a fast stage lowers the excess of its slow ops.
        const TimeNs over = std::max(TimeNs{0}, real - typical);
        const bool work = graph_.kind[unit] != OpKind::Optimizer;
        const TimeNs slower = work ? usual_[unit] - typical : TimeNs{0};
        const TimeNs of_stage = std::clamp(slower, TimeNs{0}, over);
        return {of_stage, over - of_stage};
    }
    [[nodiscard]] TimeNs ofOp(std::size_t unit) const {
        const Longer longer = longerAt(unit);
        return longer.of_stage + longer.of_op;
    }
    /// The excess time of the transfer of a unit's latest input.
    [[nodiscard]] TimeNs slowTransferTo(std::size_t unit) const {
        if (!bindings_[unit].crosses) return TimeNs{0};
        const TransferPlace by = graph_.latestTransfer(unit);
        const TimeNs slow =
            graph_.transfer[by.side][by.unit] - typical_transfer_[indexOf(graph_.way[by.side][by.unit])];
        return std::max(TimeNs{0}, slow);
    }
    /// All delays per unit; empty if there are none.
    [[nodiscard]] const std::vector<TimeNs>& delays() const { return delays_; }
    /// Like delays(), but only those of one kind.
    [[nodiscard]] const std::vector<TimeNs>& delaysOf(RootCauseKind kind) const {
        switch (kind) {
        case RootCauseKind::InTransfer: return parts_.communication;
        case RootCauseKind::Blocked: return parts_.peer;
        case RootCauseKind::ReplayedWork: return parts_.replay;
        default: return parts_.late;
        }
    }
    [[nodiscard]] TimeNs ofStart(std::size_t unit) const {
        const TimeNs delay = delays_.empty() ? TimeNs{0} : delays_[unit];
        return slowTransferTo(unit) + delay;
    }
    [[nodiscard]] TimeNs ofKind(RootCauseKind kind, std::size_t unit) const {
        switch (kind) {
        case RootCauseKind::SlowStage: return longerAt(unit).of_stage;
        case RootCauseKind::SlowRank:
        case RootCauseKind::SlowOp: return longerAt(unit).of_op;
        case RootCauseKind::SlowLink: return slowTransferTo(unit);
        default: {
            const std::vector<TimeNs>& delays = delaysOf(kind);
            return delays.empty() ? TimeNs{0} : delays[unit];
        }
        }
    }

private:
    [[nodiscard]] static constexpr std::size_t indexOf(Way way) { return static_cast<std::size_t>(way); }
    void findTypicalTransfers();
    void findTypicalTimes();

    const StepGraph& graph_;
    const std::vector<Binding>& bindings_;
    const DelayParts& parts_;
    std::vector<TimeNs> delays_;               ///< their sum
    std::span<const TimeNs> typical_;          ///< per unit
    std::span<const TimeNs> usual_;            ///< per unit
    std::vector<TimeNs> own_typical_;          ///< storage for `typical_` if UnitTimes does not contain it
    std::array<TimeNs, 4> typical_transfer_{}; ///< per way
};

} // namespace bubblescope
