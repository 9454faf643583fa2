#pragma once

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/base/time.h"
#include "core/live/record_stream.h"
#include "core/timeline/run_info.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What a live view shows: plain values, for text, JSON, metrics and the desktop app alike.
namespace bubblescope::live {

/// How long things took, in bins that are an eighth wide, so that memory stays the same however many there are.
class Latency {
public:
    void add(TimeNs time) {
        ++bins_[binOf(time)];
        ++count_;
        longest_ = std::max(longest_, time);
    }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] TimeNs longest() const { return longest_; }
    /// No less than this share of them, 0 to 1, took no longer: the upper end of a bin.
    [[nodiscard]] TimeNs quantile(double share) const {
        const double wanted = share * static_cast<double>(count_);
        std::int64_t below = 0;
        for (std::size_t bin = 0; bin < kBins; ++bin) {
            below += bins_[bin];
            if (below > 0 && static_cast<double>(below) >= wanted) return std::min(endOf(bin), longest_);
        }
        return longest_;
    }

private:
    static constexpr std::size_t kParts = 8; ///< of each power of two
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
    Awaited, ///< the run has it, nothing was heard of it yet
    Running,
    Late, ///< others wait at the end of a step that it has not ended
    Gone, ///< its process has ended without stating so
    Ended,
};
[[nodiscard]] std::string_view rankStateName(RankState state); ///< "awaited", "running", …

struct LiveRank {
    int replica = 0;
    Rank rank;
    RankState state = RankState::Awaited;
    int step = -1;            ///< the last of which an op was heard
    std::int64_t records = 0; ///< slices heard
    std::int64_t dropped = 0; ///< that the rank itself lost, by its own count
    std::int64_t unheard = 0; ///< that the rank wrote and nobody heard; known at its end
    TimeNs busy{0};           ///< over the complete steps
    TimeNs bubble{0};         ///< likewise
    std::string host;
    std::int64_t pid = 0;
    std::string why; ///< of Gone: what is known of it
};

/// Checks of aadiff, by what came of them.
struct CheckCounts {
    std::int64_t equal = 0;
    std::int64_t mismatch = 0;
    std::int64_t aborted = 0;
    std::int64_t skipped = 0;
    std::int64_t digests = 0;
    TimeNs time{0}; ///< in those that ran

    [[nodiscard]] std::int64_t planned() const { return equal + mismatch + aborted + skipped; }
    /// The share of the planned checks that were done; none where none was planned.
    [[nodiscard]] std::optional<double> coverage() const {
        if (planned() == 0) return std::nullopt;
        return static_cast<double>(equal + mismatch) / static_cast<double>(planned());
    }
    void add(const CheckCounts& other);
};

/// A step, reduced to what is kept of it for ever. Where not all of it was recorded there are no times: what is not
/// known is no bubble.
struct LiveStep {
    int index = 0;
    bool complete = false;
    std::string fault;                         ///< why it is not
    std::vector<std::pair<int, Rank>> unknown; ///< replica and rank of those whose records lack
    TimeNs wall{0};                            ///< the longest replica's
    double bubble_rate = 0;                    ///< idle over makespan, mean of the replicas
    std::optional<double> expected_rate;       ///< of the closed form; none where no form applies
    TimeNs bubble{0};                          ///< sum over all ranks
    std::optional<TimeNs> expected_bubble;     ///< the same of the form
    TimeNs busy{0};                            ///< sum over all ranks
    PerCause<TimeNs> causes{};                 ///< of the bubble, sums over all ranks; see RankAccounting
    CheckCounts checks;                        ///< as far as they were heard before it was closed
    std::vector<std::pair<std::string, std::string>> mismatches; ///< rank, and which check, with its verdict
};

/// A rank's step, reduced to what collectors send each other.
struct ReducedRank {
    Rank rank;
    TimeNs busy{0};
    TimeNs bubble{0};
    std::optional<TimeNs> expected_bubble; ///< of the closed form; none where no form applies
    PerCause<TimeNs> causes{};             ///< of the bubble, see RankAccounting
};

/// The same of a replica. Where not all of it was recorded there are no times.
struct ReducedReplica {
    int replica = 0;
    bool complete = false;
    std::string fault; ///< why it is not
    TimeNs wall{0};
    double bubble_rate = 0;
    std::optional<double> expected_rate;
    std::vector<ReducedRank> ranks; ///< all of them, where it is complete
    std::vector<Rank> unknown;      ///< of an incomplete one: those whose records lack
};

/// A step, or as much of it as one collector sees.
struct ReducedStep {
    int index = 0;
    std::vector<ReducedReplica> replicas;
    CheckCounts checks;
    std::vector<std::pair<std::string, std::string>> mismatches; ///< as LiveStep has them
};

/// What a view keeps of a step of a run with so many replicas.
[[nodiscard]] LiveStep summed(const ReducedStep& step, int replicas);

/// An anomaly that holds at present, or did once.
struct LiveAnomaly {
    Anomaly anomaly;
    int found_at = 0; ///< the step after which it was first reported
    int last_at = 0;  ///< the last after which it was
};

/// Equal for what is the same anomaly in two looks at a run that goes on, or in two collectors' eyes.
[[nodiscard]] std::string identityOf(const Anomaly& anomaly);

/// Counted over the whole run.
struct LiveCounts {
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::int64_t slices = 0;
    std::int64_t torn = 0;         ///< places where a stream did not go on with a packet
    std::int64_t damaged = 0;      ///< packets and events that could not be read
    std::int64_t duplicates = 0;   ///< records that came twice
    std::int64_t out_of_order = 0; ///< records of a step before the rank's latest; taken
    std::int64_t late = 0;         ///< records of steps that were closed; not taken
    std::int64_t bad = 0;          ///< records whose numbers cannot be
    std::int64_t dropped = 0;      ///< by the ranks themselves
    std::int64_t unheard = 0;      ///< see LiveRank
    std::int64_t steps = 0;        ///< closed
    std::int64_t incomplete = 0;   ///< of these, without all records
};

/// What happened since the analyzer was last asked.
struct LiveEvent {
    enum class Kind : std::uint8_t {
        RunBegan,
        RankChanged, ///< `rank`, with its new state
        StepClosed,  ///< `step`
        AnomalyFound,
        Mismatch, ///< of a check, which `text` names
        RunEnded, ///< all ranks have ended or are gone
    };
    Kind kind = Kind::RunBegan;
    int step = 0;
    LiveRank rank;
    ReducedStep reduced; ///< of StepClosed: the same step, not summed up
    std::optional<LiveAnomaly> anomaly;
    std::string text;
};

} // namespace bubblescope::live
