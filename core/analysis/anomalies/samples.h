#pragma once

#include "core/graph/step_replay.h"
#include "core/timeline/step_selection.h"
#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

// The data from which anomalies are computed: times of ops and transfers in groups of similar ones, and times saved by
// changes.
namespace bubblescope {

class TransferBatches;
class TransferTable;

/// The ops, except optimizers, that a rank ran in a step, in order: entries from `begin` to `end()` of OpSamples. Only
/// 24 bytes, because a run of small steps has one row for every few ops.
struct OpRow {
    std::uint32_t step = 0; ///< index into the run's steps
    Rank rank;
    std::size_t begin = 0;
    std::uint32_t count = 0;
    bool steady = true; ///< see StepSelection::isSteady()

    [[nodiscard]] std::size_t end() const { return begin + count; }
};

/// The durations of a rank's ops in ns, by place (see OpSamples::placeOf()).
class PlaceDurations {
public:
    PlaceDurations(std::size_t first, std::vector<std::size_t> begin, std::vector<double> durations)
        : first_(first), begin_(std::move(begin)), durations_(std::move(durations)) {}

    /// The durations at one place of this rank, by step.
    [[nodiscard]] std::span<const double> of(std::size_t place) const {
        const std::size_t at = place - first_;
        return std::span(durations_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
    }

private:
    std::size_t first_; ///< the rank's first place
    std::vector<std::size_t> begin_;
    std::vector<double> durations_;
};

/// The durations of all ops of a run except optimizers, in groups of similar ones: same replica, rank, chunk and kind.
/// The halves of a pair, which last as long as the pair, are separate kinds. 8 bytes per op, or 12 if an op takes
/// longer than four seconds; linear in ops. Warm-up and outlier steps have samples too, but medians exclude them if
/// other steps have similar ops.
class OpSamples {
public:
    /// `selection` must belong to the steps.
    OpSamples(std::span<const StepTimeline> steps, const StepSelection& selection);

    static constexpr std::size_t kKinds = 8; ///< F, B, I, W, each alone and as half of a pair
    [[nodiscard]] static std::size_t kindOf(const Op& op) {
        return static_cast<std::size_t>(op.kind) + (op.overlapped ? 4 : 0);
    }
    [[nodiscard]] std::size_t kindOf(std::size_t sample) const { return groups_[sample] % kKinds; }
    [[nodiscard]] Chunk chunkOf(std::size_t sample) const { return Chunk{placeOf(groups_[sample]) / kKinds % chunks_}; }

    [[nodiscard]] std::span<const OpRow> rows() const { return rows_; } ///< by step, then rank
    /// The row of a sample, as an index into rows().
    [[nodiscard]] std::size_t rowOf(std::size_t sample) const;
    [[nodiscard]] std::size_t size() const { return groups_.size(); }
    [[nodiscard]] std::size_t group(std::size_t sample) const { return groups_[sample]; }
    /// ns
    [[nodiscard]] double duration(std::size_t sample) const {
        return long_durations_.empty() ? static_cast<double>(durations_[sample])
                                       : static_cast<double>(long_durations_[sample]);
    }

    [[nodiscard]] std::size_t chunks() const { return chunks_; } ///< per rank
    [[nodiscard]] std::size_t groupCount() const { return medians_.size(); }
    [[nodiscard]] double median(std::size_t group) const { return medians_[group]; }
    [[nodiscard]] std::size_t count(std::size_t group) const { return counts_[group]; }
    [[nodiscard]] int replicas() const { return replicas_; }
    /// The number of steps per replica from which medians are computed: the steady ones, or all if there are none.
    [[nodiscard]] std::size_t medianSteps() const;

    /// The place of a group, which is its index within the replica.
    [[nodiscard]] std::size_t placeOf(std::size_t group) const { return group % per_replica_; }
    [[nodiscard]] std::size_t placeOf(Rank rank, Chunk chunk, std::size_t kind) const {
        return (rank.index() * chunks_ + chunk.index()) * kKinds + kind;
    }
    /// The durations that are used for the medians of a rank's ops. 8 bytes per op; linear in the ops of the rank.
    [[nodiscard]] PlaceDurations ofRank(Rank rank) const;
    [[nodiscard]] std::size_t countOfPlace(std::size_t place) const; ///< number of samples
    [[nodiscard]] double medianOfPlace(std::size_t place) const { return place_medians_[place]; }
    [[nodiscard]] std::size_t groupAt(int replica, std::size_t place) const {
        return static_cast<std::size_t>(replica) * per_replica_ + place;
    }

    /// Calls visit(row) for the rows of a rank, in order of steps. Linear in steps.
    template <class Visit>
    void eachRowOf(Rank rank, const Visit& visit) const {
        for (std::size_t s = 0; s + 1 < step_begin_.size(); ++s) {
            if (rank.index() < step_begin_[s + 1] - step_begin_[s]) visit(rows_[step_begin_[s] + rank.index()]);
        }
    }
    /// Memory use in bytes, including spare capacity.
    [[nodiscard]] std::size_t bytes() const;

private:
    void read(std::span<const StepTimeline> steps, const StepSelection& selection);
    void addDuration(TimeNs duration);
    /// Visits the samples of a rank that are used for medians.
    template <class Visit>
    void eachSteadyOf(Rank rank, const Visit& visit) const;
    [[nodiscard]] std::size_t steadyCount(std::size_t group) const {
        return steady_counts_[group] > 0 ? steady_counts_[group] : counts_[group];
    }
    void findMedians();
    void findMediansOf(Rank rank);

    int replicas_ = 1;
    std::size_t chunks_ = 1;
    std::size_t per_replica_ = 0;
    std::vector<OpRow> rows_;
    std::vector<std::size_t> step_begin_;      ///< first row of each step, plus the end of the last step
    std::vector<std::uint32_t> groups_;        ///< per sample
    std::vector<std::uint32_t> durations_;     ///< per sample
    std::vector<std::int64_t> long_durations_; ///< used instead if a duration does not fit into 32 bits
    std::vector<double> medians_;              ///< per group
    std::vector<double> place_medians_;        ///< per place
    std::vector<std::size_t> counts_;
    std::vector<std::size_t> steady_counts_;
};

/// The op that a sample in this row belongs to.
[[nodiscard]] const TimelineOp& sampledOp(std::span<const StepTimeline> steps, const OpRow& row, std::size_t sample);

/// Default number of evenly spaced values to keep from a list, for tests whose cost grows more than linearly.
inline constexpr std::size_t kMostThinned = 2000;
[[nodiscard]] std::vector<double> thinned(std::vector<double> values, std::size_t most = kMostThinned);

/// As above, for a list that is generated value by value.
class Thinned {
public:
    /// `size` is the number of values to be added.
    explicit Thinned(std::size_t size, std::size_t most = kMostThinned) : size_(size), most_(most) {}
    void add(double value) {
        if (at_++ != next_) return;
        kept_.push_back(value);
        next_ = size_ <= most_ ? at_ : kept_.size() * size_ / most_;
    }
    [[nodiscard]] std::vector<double> take() { return std::move(kept_); }

private:
    std::size_t size_;
    std::size_t most_;
    std::size_t at_ = 0;
    std::size_t next_ = 0; ///< index of the next value to store
    std::vector<double> kept_;
};

/// One direction of the link between two ranks of a replica.
struct LinkKey {
    int replica = 0;
    Rank from;
    Rank to;

    friend auto operator<=>(const LinkKey&, const LinkKey&) = default;
};

struct Transferred {
    std::size_t step = 0; ///< index into the run's steps
    double time = 0;      ///< duration in ns, from when both sides had posted the transfer
};

/// A receive whose recorded end is before the recorded start of its send.
struct Backwards {
    std::size_t step = 0; ///< index into the run's steps
    Rank from;
    Rank to;
    TimeNs start{0}; ///< start of the receive
    TimeNs end{0};
    TimeNs early{0};
};

/// The transfers of a run that were recorded on both sides. Linear in transfers.
struct TransferSamples {
    std::map<LinkKey, std::vector<Transferred>> links; ///< transfers between different ranks; each list sorted by step
    std::vector<Backwards> backwards;                  ///< by step

    TransferSamples() = default;
    explicit TransferSamples(std::span<const StepTimeline> steps);

private:
    void addRow(const StepTimeline& step, std::size_t s, const TransferTable& table, std::size_t row,
                const TransferBatches& batches);
    void append(TransferSamples&& others);
};

/// Computes how much time a step would save with other times, using the same replay as accounting and attribution.
class StepCosts {
public:
    explicit StepCosts(const StepTimeline& step, const StepKnowledge& known = {});

    /// The time that the step saves if its ops, except optimizers, take `time(rank, op)`; negative if the step gets
    /// longer. The times of a pair's halves are not known separately: each lasts as long as the pair. If a half would
    /// be faster by some time, the pair becomes faster by half of that time. The sum is correct for a stage or a rank,
    /// which runs both halves.
    [[nodiscard]] TimeNs savedByOps(const std::function<TimeNs(Rank, const TimelineOp&)>& time);
    /// As above, but if no transfer from one rank to another (or, with `both_ways`, between them) takes longer than
    /// `most`.
    [[nodiscard]] TimeNs savedByLink(Rank from, Rank to, TimeNs most, bool both_ways = false);
    /// As above, but without the time that `spent(rank, interval on the step's clock)` returns for ops and for the
    /// waits before the ops.
    [[nodiscard]] TimeNs savedByHosts(const std::function<TimeNs(Rank, TimeInterval)>& spent);
    /// As above, but if transfers of activations, or transfers of gradients, take no time.
    [[nodiscard]] TimeNs savedByPayload(Payload payload);

private:
    /// As above, but if the transfers selected by `chosen(unit, input index)` take at most `most`.
    template <class Chosen>
    [[nodiscard]] TimeNs savedByTransfers(TimeNs most, const Chosen& chosen);

    const StepTimeline& step_;
    ObservedStep observed_;
    StepReplay replay_;
    std::vector<TimeNs> durations_; ///< per unit
    std::vector<TimeNs> delays_;
    TimeNs length_{0};
};

} // namespace bubblescope
