#pragma once

#include "core/analysis/report.h"
#include "core/families/registry.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>

// Simulated runs with jitter, into which a known fault may be put: what findings are measured against.
namespace bubblescope::campaign {

enum class FaultKind {
    None,
    SlowRank,
    SlowRankFromStep,
    SlowLink,
    SlowOp,
    WrongOrder,
    DroppedRecord,
    SkewedClock,
    SlowStage
};
inline constexpr int kFaultKinds = 9;
[[nodiscard]] std::string faultName(FaultKind kind);

/// The planted fault. Fields that a kind does not need keep their defaults.
struct Fault {
    FaultKind kind = FaultKind::None;
    Rank rank;
    Rank peer;
    Chunk chunk;
    Op op;
    int step = 0;
    double size = 0; ///< share by which times are longer; of a clock its offset in ns
};

struct Job {
    Run run;
    Fault fault;
    double cost = 0; ///< by what share of a step it makes the steps longer that it touches
};

/// A random run of a schedule, `seed` after `seed` the same, with a fault of this kind.
[[nodiscard]] Job makeJob(const ScheduleSpec& spec, FaultKind kind, std::uint64_t seed);

/// True if a finding is of a kind that tells this fault, and names its rank, and its op, chunk, link or step.
[[nodiscard]] bool blames(const Anomaly& anomaly, const Job& job);

} // namespace bubblescope::campaign
