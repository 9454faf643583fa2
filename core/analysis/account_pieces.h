#pragma once

#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/step_diagnosis.h"

#include <string_view>
#include <vector>

namespace bubblescope {

/// One part of a rank's accounting: the time of its ops of one kind, of its overlapped pairs, or of one cause.
struct AccountPiece {
    enum class Kind : std::uint8_t { Compute, Overlapped, Cause };
    Kind kind = Kind::Compute;
    OpKind op = OpKind::Forward;   ///< of Compute
    Cause cause = Cause::Schedule; ///< of Cause

    friend constexpr bool operator==(const AccountPiece&, const AccountPiece&) = default;
};

/// All there can be, in the order in which reports list them: kinds of ops, pairs, causes.
[[nodiscard]] const std::vector<AccountPiece>& accountPieces();
/// "F", "pairs", "exposed communication".
[[nodiscard]] std::string_view accountPieceName(const AccountPiece& piece);
[[nodiscard]] TimeNs timeOf(const RankAccounting& account, const AccountPiece& piece);

/// Where on the rank's timeline to look for a piece, by start, on the clock of the trace. Ops and pairs are exactly
/// their time. A cause is a difference between two replays and not an interval, so for it these are the places where
/// it shows: the waits attributed to it (the schedule's: those of which a part would remain at typical times;
/// imbalance, jitter, communication, peer, replay, late starts: those behind such an excess; slowdown, order, unknown:
/// those that are longer than usual for no excess), and for gaps and communication also the ops that have them inside
/// and the recorded waits for transfers. May be empty where the cause acts on other ranks. Linear in the rank's ops and
/// waits.
[[nodiscard]] std::vector<TimeInterval> whereIs(const AccountPiece& piece, const StepTimeline& step,
                                                const StepDiagnosis& diagnosis, Rank rank);

} // namespace bubblescope
