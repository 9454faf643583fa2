#pragma once

#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

inline constexpr std::size_t kCheckKindCount = 6;

/// Counts checks by outcome. A check is done if its result is known: equal or mismatched.
struct CheckCounts {
    std::int64_t equal = 0;
    std::int64_t mismatched = 0;
    std::int64_t aborted = 0;
    std::int64_t skipped = 0;

    void add(CheckOutcome outcome);
    [[nodiscard]] std::int64_t done() const { return equal + mismatched; }
    [[nodiscard]] std::int64_t planned() const { return done() + aborted + skipped; }
};

enum class Covered : std::uint8_t {
    Yes,
    NotYet, ///< a check was planned, but none has ended
    Never,  ///< no check was planned
};
[[nodiscard]] std::string_view coveredName(Covered state); ///< "covered", "not yet", "never"

/// The unit of coverage by replays: one kind of op of one layer, in one chunk of a rank. A check of any micro-batch
/// covers the unit.
struct CoveredUnit {
    CheckPlace place;
    Chunk chunk;
    OpKind kind = OpKind::Forward;
    std::optional<int> layer; ///< index across the model; none if no record names layers of the stage
    CheckCounts counts;       ///< replays of the unit by its own rank or by another rank
    int last_step = -1;       ///< last step in which a check of the unit ended

    [[nodiscard]] Covered state() const;
};

/// The part of a run that was checked. The state of uncovered units is unknown; never report them as correct.
struct CheckCoverage {
    std::array<CheckCounts, kCheckKindCount> counts; ///< by CheckKind
    std::vector<CoveredUnit> units;                  ///< by place, chunk, kind and layer
    TimeNs work{0};     ///< time of all ops except optimizers in the run's steps, on all ranks
    TimeNs replayed{0}; ///< part of `work` that was re-executed and compared with the first execution
    int devices = 0;    ///< number of ranks in the run
    int steps = 0;      ///< number of distinct step numbers among the run's timelines

    [[nodiscard]] std::int64_t unitsThatAre(Covered state) const;
    [[nodiscard]] const CheckCounts& of(CheckKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
    [[nodiscard]] CheckCounts all() const;
    /// `replayed` divided by `work`: the probability of detecting a fault at a random point in the run's work.
    [[nodiscard]] double replayedFraction() const;
};

/// Units are the ops that the steps ran, divided into the layers that any rank's records name for the stage. A check
/// adds to `replayed` the mean duration of its kind of op on its rank, divided by the number of layers. `tensor_ranks`
/// is the number of ranks that share each stage; all of them are assumed to run the same ops.
[[nodiscard]] CheckCoverage coverageOf(const CheckLog& log, std::span<const StepTimeline> steps, int tensor_ranks = 1);

/// Coverage as a table: one row per rank, one column per kind of op of a chunk. A cell sums over all layers of the
/// chunk.
struct CoverageMap {
    struct Column {
        Chunk chunk;
        OpKind kind = OpKind::Forward;

        friend constexpr auto operator<=>(const Column&, const Column&) = default;
    };
    struct Cell {
        int units = 0; ///< number of units; 0 if the rank has no such ops
        int covered = 0;
        int not_yet = 0;
        int never = 0;
        CheckCounts counts;
    };
    std::vector<CheckPlace> rows;
    std::vector<Column> columns;
    std::vector<Cell> cells; ///< row by row

    [[nodiscard]] const Cell& cell(std::size_t row, std::size_t column) const {
        return cells[row * columns.size() + column];
    }
};

[[nodiscard]] CoverageMap coverageMap(const CheckCoverage& coverage);

/// The checks in one step of one replica.
struct StepChecks {
    int step = 0;
    int replica = 0;
    CheckCounts counts;
    std::size_t units = 0; ///< units covered by replays up to and including this step
    TimeNs delay{0};       ///< see delayByChecks()
};

/// One entry per step, in the order of `steps`; empty if the log has no checks.
[[nodiscard]] std::vector<StepChecks> checksByStep(const CheckLog& log, std::span<const StepTimeline> steps);

/// Number of steps until the last new unit was covered; empty if no unit was covered.
[[nodiscard]] std::optional<int> stepsToCover(std::span<const StepChecks> steps);

/// A published rate of silent data corruption.
struct PublishedRate {
    std::string_view source;
    double faults = 0;
    double device_hours = 0; ///< device hours in which the faults were observed

    [[nodiscard]] double perDay(int devices) const { return 24.0 * devices * faults / device_hours; }
};

/// Publications that report faults and device hours, lowest rate first:
/// - Llama 3 (arXiv 2407.21783, table 5): 6 interruptions by silent data corruption in 54 days on 16,384 GPUs. These
///   faults were found only by their consequences, so the rate is probably an underestimate.
/// - AEGIS (OSDI '26): 18 faults on 13 GPUs in 3.5e7 GPU-hours, found by a dedicated search.
[[nodiscard]] std::span<const PublishedRate> publishedRates();

/// Faults per day at the lowest and the highest published rate.
struct FaultRange {
    double low = 0;
    double high = 0;
};

/// Expected faults on `devices` devices, and the part detected by checks that re-execute `fraction` of the work.
///
/// Assumes that a fault affects a single op, checked or not, with a probability proportional to compute time. A fault
/// is then detected with the probability that its op is re-executed, which is `fraction`:
///
///     faults per day = devices · 24 h · rate,    caught per day = fraction · faults per day
///
/// If faults persist, `caught` is a lower bound, since a device that fails repeatedly is found sooner.
struct FaultOdds {
    FaultRange faults;
    FaultRange caught;
};
[[nodiscard]] FaultOdds faultOdds(int devices, double fraction);

/// Time that checks added to a step: its wall time minus the wall time of the same step replayed without them.
///
/// Every op keeps its duration in the replay. An op starts when its rank is free, its input has arrived (with the
/// recorded lag after its producer's end), and any other observed delay has passed. This other delay is the time from
/// the latest of these events, including the end of the rank's last check, to the observed start. The replay therefore
/// differs from the recorded step only by the missing checks.
///
/// `checks` contains the intervals of checks per rank, sorted by start, on the step's clock; may be empty.
[[nodiscard]] TimeNs delayByChecks(const StepTimeline& step,
                                   std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks);

} // namespace bubblescope
