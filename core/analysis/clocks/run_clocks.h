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

/// Whether a run's times are put on one clock before it is analysed.
enum class ClockUse {
    Auto,  ///< where files come from different hosts, or events contradict the clocks as recorded
    Align, ///< always; ranks whose host is not known count as having a clock each
    Off,   ///< never
};

enum class ClockMethod {
    Shared,     ///< one file, one host, or one process: offsets are 0 by construction
    AsRecorded, ///< several files of unknown hosts whose events agree with their clocks, or ClockUse::Off
    Aligned,    ///< from events that several ranks saw
};
[[nodiscard]] std::string_view clockMethodName(ClockMethod method); ///< "shared", "as recorded", "aligned"

/// The clock of one rank of one replica, relative to that of the first rank it can be compared with.
struct RankClock {
    int replica = 0;
    Rank rank;
    std::string host; ///< empty where it is not known
    ClockFit fit;     ///< offset, drift and bound; all 0 for shared clocks
    /// Of the trace's files the one that the rank's ops were recorded in, by its own clock; none where it is not known.
    std::optional<std::uint32_t> file = std::nullopt;
};

/// A clock was set while the run went on.
struct ClockStep {
    const RankClock* clock = nullptr; ///< one of RunClocks::ranks
    TimeNs at{0};                     ///< on the reference's clock
    TimeNs within{0};                 ///< of the true time
    TimeNs size{0};                   ///< by which it was set ahead
};

/// How the times of a run's ranks compare.
struct RunClocks {
    ClockMethod method = ClockMethod::Shared;
    std::string reason;        ///< why that method, for people
    std::size_t transfers = 0; ///< events used, by what they are
    std::size_t op_orders = 0; ///< see addStepEvents()
    std::size_t collectives = 0;
    std::size_t pings = 0;        ///< exchanges of clocks that the run itself made and recorded
    TimeNs residual{0};           ///< by how much events contradict each other for any offsets
    TimeNs moved{0};              ///< the largest correction made
    std::vector<RankClock> ranks; ///< by replica, then rank

    /// No two ranks of one step are further off each other than this: what is smaller than it says nothing.
    [[nodiscard]] TimeNs bound() const;
    /// By rank, then time; several ranks may share a clock.
    [[nodiscard]] std::vector<ClockStep> steps() const;
};

struct ClockOptions {
    ClockUse use = ClockUse::Auto;
    ClockLimits limits;
    TimeNs collective_spread{50'000};   ///< members leave a collective within this of each other; see addCollectives()
    TimeNs tolerance{10'000};           ///< recorded clocks are trusted if events contradict them by no more
    TimeNs largest_residual{1'000'000}; ///< events that contradict each other by more relate no clocks
};

/// Estimates how the clocks of a run's ranks compare, by its transfers, the order of its ops, collectives of its trace
/// and recorded pings. Ranks of one host share a clock. Errors: Input, where clocks that differ (of different hosts, or
/// with ClockUse::Align) cannot be related: no bound in both directions, or none that holds; Run, where a process that
/// holds a part of the trace fails.
[[nodiscard]] Result<RunClocks> estimateClocks(const Run& run, const ClockOptions& options = {});

/// The run with the times of its steps and checks on one clock, where estimateClocks() of it calls for that
/// (ClockMethod::Aligned); else the run as it is. The raw trace keeps the recorded times.
[[nodiscard]] Run alignRun(Run run, const RunClocks& clocks);

/// Puts a step's times on the clock that `fits`, one per rank, refer to.
void moveToReference(StepTimeline& step, std::span<const ClockFit> fits);

} // namespace bubblescope
