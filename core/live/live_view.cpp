#include "core/live/live_view.h"

#include <fmt/format.h>

namespace bubblescope::profiler {
namespace {

/// Whether an anomaly is about one step, and not about what holds from then on.
bool isOfOneStep(AnomalyKind kind) {
    switch (kind) {
    case AnomalyKind::SlowOp:
    case AnomalyKind::OrderDeparture:
    case AnomalyKind::MissingOp:
    case AnomalyKind::DuplicateOp:
    case AnomalyKind::OutOfPlaceOp:
    case AnomalyKind::CausalityViolation:
    case AnomalyKind::AadiffMismatch: return true;
    default: return false;
    }
}

} // namespace

// The step at which something is seen to have begun may move by a few between looks, and is left out.
std::string identityOf(const Anomaly& anomaly) {
    const auto number = [](const auto& id) { return id ? id->value : -1; };
    return fmt::format("{}/{}/{}/{}/{}/{}/{}", anomalyKindName(anomaly.kind), number(anomaly.rank),
                       number(anomaly.peer), anomaly.replica.value_or(-1), number(anomaly.chunk),
                       anomaly.op ? opName(*anomaly.op) : "",
                       isOfOneStep(anomaly.kind) ? anomaly.step.value_or(-1) : -1);
}

std::string_view rankStateName(RankState state) {
    switch (state) {
    case RankState::Awaited: return "awaited";
    case RankState::Running: return "running";
    case RankState::Late: return "late";
    case RankState::Gone: return "gone";
    case RankState::Ended: return "ended";
    }
    return "awaited";
}

void CheckCounts::add(const CheckCounts& other) {
    equal += other.equal;
    mismatch += other.mismatch;
    aborted += other.aborted;
    skipped += other.skipped;
    digests += other.digests;
    time += other.time;
}

} // namespace bubblescope::profiler
