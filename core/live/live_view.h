#pragma once

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/steps/findings_log.h"
#include "core/base/time.h"
#include "core/live/record_stream.h"
#include "core/theory/analysis.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Content of a live view as plain values, for text, JSON, metrics and the app.
namespace bubblescope::live {

/// A histogram of durations with eight bins per power of two, which bounds its memory.
class Latency {
public:
    void add(TimeNs time) {
        ++bins_[binOf(time)];
        ++count_;
        longest_ = std::max(longest_, time);
    }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] TimeNs longest() const { return longest_; }
    /// Upper end of the bin that contains the given quantile (0 to 1).
    [[nodiscard]] TimeNs quantile(double fraction) const {
        const double wanted = fraction * static_cast<double>(count_);
        std::int64_t below = 0;
        for (std::size_t bin = 0; bin < kBins; ++bin) {
            below += bins_[bin];
            if (below > 0 && static_cast<double>(below) >= wanted) return std::min(endOf(bin), longest_);
        }
        return longest_;
    }

private:
    static constexpr std::size_t kParts = 8; ///< number of bins per power of two
    static constexpr std::size_t kBins = 62 * kParts;

    static std::size_t binOf(TimeNs time) {
        const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), kParts));
        const auto power = static_cast<std::size_t>(std::bit_width(value)) - 1; // at least 3
        const auto part = static_cast<std::size_t>(value >> (power - 3)) - kParts;
        return (power - 3) * kParts + part;
    }
    static TimeNs endOf(std::size_t bin) {
        const std::size_t shift = bin / kParts;
        return TimeNs{static_cast<std::int64_t>((kParts + bin % kParts + 1) << shift)};
    }

    std::array<std::int64_t, kBins> bins_{};
    std::int64_t count_ = 0;
    TimeNs longest_{0};
};

enum class RankState : std::uint8_t {
    Awaited, ///< part of the run, but no data has been received yet
    Running,
    Late, ///< other ranks wait at the end of a step that this rank has not completed
    Gone, ///< the process exited without reporting its end
    Ended,
};
[[nodiscard]] std::string_view rankStateName(RankState state); ///< "awaited", "running", …

struct LiveRank {
    int replica = 0;
    Rank rank;
    RankState state = RankState::Awaited;
    int step = -1;                ///< last step from which an op was received
    std::int64_t records = 0;     ///< number of slices received
    std::int64_t dropped = 0;     ///< slices lost in the rank's process, according to its own count
    std::int64_t undelivered = 0; ///< slices written by the rank but not received; known when the rank ends
    TimeNs busy{0};               ///< total over the complete steps
    TimeNs bubble{0};             ///< total over the complete steps
    std::string host;
    std::int64_t pid = 0;
    std::string reason; ///< for Gone: known facts about the exit
};

/// aadiff checks, by outcome.
struct CheckCounts {
    std::int64_t equal = 0;
    std::int64_t mismatch = 0;
    std::int64_t aborted = 0;
    std::int64_t skipped = 0;
    std::int64_t digests = 0;
    TimeNs time{0}; ///< total time of the executed checks

    [[nodiscard]] std::int64_t planned() const { return equal + mismatch + aborted + skipped; }
    /// Fraction of the planned checks that ran; empty if no checks were planned.
    [[nodiscard]] std::optional<double> coverage() const {
        if (planned() == 0) return std::nullopt;
        return static_cast<double>(equal + mismatch) / static_cast<double>(planned());
    }
    void add(const CheckCounts& other);
};

/// Data about a step that is stored during the entire run. Steps that were not recorded completely have no times,
/// because unknown time is not bubble time.
struct LiveStep {
    int index = 0;
    bool complete = false;
    std::string fault;                         ///< reason why the step is incomplete
    std::vector<std::pair<int, Rank>> unknown; ///< replica and rank whose records are incomplete
    TimeNs wall{0};                            ///< duration of the longest replica
    double bubble_rate = 0;                    ///< idle time over makespan, averaged over replicas
    std::optional<double> expected_rate;       ///< rate from the closed form; empty if none applies
    TimeNs bubble{0};                          ///< sum over all ranks
    std::optional<TimeNs> expected_bubble;     ///< from the closed form, if one applies
    TimeNs busy{0};                            ///< sum over all ranks
    PerCause<TimeNs> causes{};                 ///< bubble time by cause, summed over all ranks, see RankAccounting
    StepValues values;                         ///< values over all replicas; set only if a job's framework reports them
    CheckCounts checks;                        ///< checks received before the step was closed
    std::vector<std::pair<std::string, std::string>> mismatches; ///< rank, and the check with its verdict
};

/// Combines the times of the replicas that completed a step: the longest wall time, and the other times summed over the
/// ranks of these replicas.
[[nodiscard]] LiveStep summed(std::span<const StepAnalysis> analyses, std::span<const StepAccounting> accounts);

/// Totals for the entire run.
struct LiveCounts {
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::int64_t slices = 0;
    std::int64_t torn = 0;         ///< positions at which a stream did not continue with a packet
    std::int64_t damaged = 0;      ///< packets and events that could not be decoded
    std::int64_t duplicates = 0;   ///< records received twice
    std::int64_t out_of_order = 0; ///< accepted records of steps older than the rank's latest step
    std::int64_t late = 0;         ///< rejected records of steps that were already closed
    std::int64_t bad = 0;          ///< records with impossible numbers
    std::int64_t dropped = 0;      ///< records dropped by the ranks themselves
    std::int64_t undelivered = 0;  ///< records that were not received, see LiveRank::undelivered
    std::int64_t steps = 0;        ///< number of closed steps
    std::int64_t incomplete = 0;   ///< closed steps with missing records
};

/// An event that occurred after the previous call to advance().
struct LiveEvent {
    enum class Kind : std::uint8_t {
        RunBegan,
        RankChanged,     ///< the state of `rank` has changed
        StepClosed,      ///< `step`
        AnomalyFound,    ///< `anomaly` was found
        AnomalyResolved, ///< `anomaly` was resolved
        Mismatch,        ///< a check of `rank`, described by `text`, found a mismatch
        RunEnded,        ///< all ranks have ended or were lost
    };
    Kind kind = Kind::RunBegan;
    int step = 0;
    LiveRank rank;
    std::optional<LoggedFinding> anomaly;
    std::string text;
};

} // namespace bubblescope::live
