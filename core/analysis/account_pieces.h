#pragma once

#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/step_diagnosis.h"

#include <vector>

namespace bubblescope {

/// A part of a rank's accounting: the time of one kind of op, of overlapped pairs, or due to one cause.
struct AccountPiece {
    enum class Kind : std::uint8_t { Compute, Overlapped, Cause };
    Kind kind = Kind::Compute;
    OpKind op = OpKind::Forward;   ///< for Compute
    Cause cause = Cause::Schedule; ///< for Cause

    friend constexpr bool operator==(const AccountPiece&, const AccountPiece&) = default;
};

/// All possible pieces, in the order used in reports: kinds of ops, pairs, causes.
[[nodiscard]] const std::vector<AccountPiece>& accountPieces();
[[nodiscard]] TimeNs timeOf(const RankAccounting& account, const AccountPiece& piece);

/// The intervals of the rank's timeline to show for a piece, sorted by start, on the clock of the trace. For ops and
/// pairs, the intervals are those of the ops. A cause does not have intervals of its own, because it is the difference
/// between two replays. For a cause, the intervals are the waits attributed to it and, for gaps and communication, also
/// the ops that contain such times and the recorded waits for transfers. (Schedule: waits that would remain, at least
/// in part, with typical op times. Imbalance, jitter, communication, peer, replay, late starts: waits caused by an
/// excess of this kind. Slowdown, order, unknown: waits that are longer than usual, although no op or transfer took
/// longer.) May be empty if the cause acts on other ranks. Linear in the rank's ops and waits.
[[nodiscard]] std::vector<TimeInterval> whereIs(const AccountPiece& piece, const StepTimeline& step,
                                                const StepDiagnosis& diagnosis, Rank rank);

} // namespace bubblescope
