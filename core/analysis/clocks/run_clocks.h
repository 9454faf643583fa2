#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Options for putting a run's times on one clock before the analysis.
enum class ClockUse {
    Auto,  ///< if files come from different hosts, or events contradict the recorded clocks
    Align, ///< always; each rank on an unknown host counts as having its own clock
    Off,   ///< never
};

enum class ClockMethod {
    Shared,     ///< one file, one host, or one process: offsets are 0 by construction
    AsRecorded, ///< several files of unknown hosts whose events agree with their clocks, or ClockUse::Off
    Aligned,    ///< from events that several ranks recorded
};
[[nodiscard]] std::string_view clockMethodName(ClockMethod method); ///< "shared", "as recorded", "aligned"

/// The clock of one rank of one replica, relative to that of the first rank that it can be compared with.
struct RankClock {
    int replica = 0;
    Rank rank;
    std::string host; ///< empty if unknown
    ClockFit fit;     ///< offset, drift and bound; all 0 for shared clocks
    /// The trace file that contains the rank's ops, on its own clock; none if unknown.
    std::optional<std::uint32_t> file = std::nullopt;
};

/// A clock was set during the run.
struct ClockStep {
    const RankClock* clock = nullptr; ///< one of RunClocks::ranks
    TimeNs at{0};                     ///< on the reference's clock
    TimeNs within{0};                 ///< uncertainty of the time
    TimeNs size{0};                   ///< amount by which it was set ahead
};

/// The relation between the clocks of a run's ranks.
struct RunClocks {
    ClockMethod method = ClockMethod::Shared;
    std::string reason;        ///< reason for this method, for display
    std::size_t transfers = 0; ///< number of events used, by kind
    std::size_t op_orders = 0; ///< see addStepEvents()
    std::size_t collectives = 0;
    std::size_t pings = 0;        ///< clock exchanges that the run itself made and recorded
    TimeNs residual{0};           ///< amount by which events contradict each other regardless of the offsets
    TimeNs moved{0};              ///< the largest correction made
    std::vector<RankClock> ranks; ///< by replica, then rank

    /// Maximum clock error between two ranks of one step: smaller time differences are meaningless.
    [[nodiscard]] TimeNs bound() const;
    /// The times at which clocks were set, by rank, then time; several ranks may share a clock.
    [[nodiscard]] std::vector<ClockStep> steps() const;
};

struct ClockOptions {
    ClockUse use = ClockUse::Auto;
    ClockLimits limits;
    TimeNs collective_spread{50'000};   ///< members leave a collective within this time of each other; see
                                        ///< addCollectives()
    TimeNs tolerance{10'000};           ///< recorded clocks are trusted if events contradict them by at most this much
    TimeNs largest_residual{1'000'000}; ///< events that contradict each other by more cannot relate clocks
};

/// Estimates the relation between the clocks of a run's ranks from its transfers, the order of its ops, collectives in
/// its trace and recorded pings. Ranks of one host share a clock. Errors: Input if different clocks (of different
/// hosts, or with ClockUse::Align) cannot be related, because bounds in one direction are missing or contradict each
/// other; Run if a process that holds part of the trace fails.
[[nodiscard]] Result<RunClocks> estimateClocks(const Run& run, const ClockOptions& options = {});

/// Returns the run with the times of its steps and checks on one clock if estimateClocks() requires it
/// (ClockMethod::Aligned); otherwise unchanged. The raw trace keeps the recorded times.
[[nodiscard]] Run alignRun(Run run, const RunClocks& clocks);

/// Converts a step's times to the clock that `fits`, one per rank, refer to.
void moveToReference(StepTimeline& step, std::span<const ClockFit> fits);

} // namespace bubblescope
