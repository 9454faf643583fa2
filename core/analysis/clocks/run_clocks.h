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

/// Option for converting a run's times to one clock before the analysis.
enum class ClockUse {
    Auto,  ///< only if files are from different hosts or events contradict the recorded clocks
    Align, ///< always; each rank whose host is unknown is assumed to have a separate clock
    Off,   ///< never
};

enum class ClockMethod {
    Shared,     ///< one file, one host, or one process: offsets are 0 by construction
    AsRecorded, ///< several files whose events agree with their clocks, or ClockUse::Off
    Aligned,    ///< offsets estimated from events that several ranks recorded
};
[[nodiscard]] std::string_view clockMethodName(ClockMethod method); ///< "shared", "as recorded", "aligned"

/// The clock of one rank of one replica. Offsets are relative to the first rank with a comparable clock.
struct RankClock {
    int replica = 0;
    Rank rank;
    std::string host; ///< empty if unknown
    ClockFit fit;     ///< offset, drift and bound; all 0 for shared clocks
    /// Index of the trace file that contains the rank's ops on the rank's own clock; none if unknown.
    std::optional<std::uint32_t> file = std::nullopt;
};

/// A jump of a clock that was set during the run.
struct ClockStep {
    const RankClock* clock = nullptr; ///< an entry of RunClocks::ranks
    TimeNs at{0};                     ///< on the reference's clock
    TimeNs within{0};                 ///< uncertainty of the time
    TimeNs size{0};                   ///< amount by which the clock was set ahead
};

/// The relation between the clocks of a run's ranks.
struct RunClocks {
    ClockMethod method = ClockMethod::Shared;
    std::string reason;        ///< reason for choosing the method, for display
    std::size_t transfers = 0; ///< number of events used, by kind
    std::size_t op_orders = 0; ///< see addStepEvents()
    std::size_t collectives = 0;
    std::size_t pings = 0;        ///< clock exchanges performed and recorded by the run
    TimeNs residual{0};           ///< amount by which events contradict each other, whatever the offsets
    TimeNs moved{0};              ///< largest correction of a timestamp
    std::vector<RankClock> ranks; ///< by replica, then rank

    /// Maximum error between the clocks of two ranks in one step. Smaller time differences are meaningless.
    [[nodiscard]] TimeNs bound() const;
    /// The times at which clocks were set, sorted by rank and time. Several ranks may share a clock.
    [[nodiscard]] std::vector<ClockStep> steps() const;
};

struct ClockOptions {
    ClockUse use = ClockUse::Auto;
    ClockLimits limits;
    TimeNs collective_spread{50'000};   ///< maximum time between the first and the last member leaving a collective;
                                        ///< see addCollectives()
    TimeNs tolerance{10'000};           ///< maximum contradiction up to which recorded clocks are trusted
    TimeNs largest_residual{1'000'000}; ///< maximum contradiction between events up to which clocks can be related
};

/// Estimates the relation between the clocks of a run's ranks from its transfers, the order of its ops, collectives in
/// its trace and recorded pings. Ranks on one host share a clock. Errors: Input if different clocks (on different
/// hosts, or with ClockUse::Align) cannot be related, because bounds in one direction are missing or contradict each
/// other; Run if a process that loaded part of the trace fails.
[[nodiscard]] Result<RunClocks> estimateClocks(const Run& run, const ClockOptions& options = {});

/// Returns the run with its steps and checks on one clock if estimateClocks() returned ClockMethod::Aligned; otherwise
/// returns it unchanged. The raw trace keeps the recorded times.
[[nodiscard]] Run alignRun(Run run, const RunClocks& clocks);

/// Converts a step's times to the reference clock of `fits`, which has one entry per rank.
void moveToReference(StepTimeline& step, std::span<const ClockFit> fits);

} // namespace bubblescope
