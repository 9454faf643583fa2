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

/// The planted fault. Fields that do not apply to its kind keep their defaults.
struct Fault {
    FaultKind kind = FaultKind::None;
    Rank rank;
    Rank peer;
    Chunk chunk;
    Op op;
    int step = 0;
    double size = 0; ///< relative increase of times; for a clock, its offset in ns
};

struct Job {
    Run run;
    Fault fault;
    double cost = 0; ///< relative increase of the affected steps
};

/// A random run of a schedule with a fault of this kind, reproducible by `seed`.
[[nodiscard]] Job makeJob(const ScheduleSpec& spec, FaultKind kind, std::uint64_t seed);

/// True if a finding has a kind that matches the fault, and names its rank and its op, chunk, link or step.
[[nodiscard]] bool blames(const Anomaly& anomaly, const Job& job);

} // namespace bubblescope::campaign
