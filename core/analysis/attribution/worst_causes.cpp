#include "core/analysis/attribution/worst_causes.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace bubblescope {
namespace {

struct Candidate {
    RootCause root_cause;
    double waits = 0;
};

/// Excess that is counted together.
struct CauseSum {
    std::int64_t count = 0;
    TimeNs excess{0};
    double waits = 0;
    Rank peer; ///< for a link

    void add(TimeNs time, double fraction) {
        if (time == TimeNs{0}) return;
        ++count;
        excess += time;
        waits += fraction * static_cast<double>(time.count());
    }
};

/// How many ops of a rank are clearly slower than usual on their stages.
struct SlowShare {
    static constexpr std::size_t kFewestOps = 8;
    std::size_t ops = 0;
    std::size_t slow = 0;

    void add(TimeNs longer, TimeNs typical) {
        ++ops;
        if (10 * longer > typical) ++slow;
    }
    /// With symmetric noise, half of the ops are slower than the median.
    [[nodiscard]] bool nearlyAll() const { return ops >= kFewestOps && 5 * slow >= 4 * ops; }
};

using WaitedForOp = std::pair<double, UnitIndex>; ///< the waiting that it caused, and its unit

void keepGreatest(std::vector<WaitedForOp>& worst, const WaitedForOp& op) {
    if (worst.size() == kMaxRootCauses) {
        if (op <= worst.back()) return;
        worst.pop_back();
    }
    worst.insert(std::ranges::upper_bound(worst, op, std::ranges::greater{}), op);
}

RootCause rootCauseOf(RootCauseKind kind, std::size_t rank) {
    RootCause root_cause;
    root_cause.kind = kind;
    root_cause.rank = Rank{rank};
    return root_cause;
}

/// The sums of one step. The add… functions may run in parallel, including addOps() for both halves.
class CauseSums {
public:
    CauseSums(const StepExcess& excess, const ExplainedWaits& waits, int vpp)
        : excess_(excess), waits_(waits), graph_(excess.graph()), ranks_(graph_.last.size()),
          chunks_(static_cast<std::size_t>(std::max(1, vpp))), stages_(ranks_ * chunks_), links_(ranks_ * 2),
          starts_(ranks_), shares_(ranks_), slow_ranks_(ranks_) {}

    /// Keeps only the slow ops that may enter the ranking, worst first. Works in two halves by rank; the sums of a
    /// rank's stages are in the order of its units, which are mostly in one half.
    void addOps(std::size_t half) {
        eachUnit(half, [&](std::size_t unit, std::size_t rank) {
            shares_[rank].add(excess_.longerAt(unit).of_op, excess_.typical()[unit]);
        });
        eachUnit(half, [&](std::size_t unit, std::size_t rank) {
            const StepExcess::Longer longer = excess_.longerAt(unit);
            if (const Chunk chunk = graph_.chunk[unit]; chunk.value >= 0 && chunk.index() < chunks_)
                stages_[rank * chunks_ + chunk.index()].add(longer.of_stage, waits_.ofOp(unit));
            if (shares_[rank].nearlyAll()) {
                slow_ranks_[rank].add(longer.of_op, waits_.ofOp(unit));
                return;
            }
            const double waits = waits_.ofOp(unit) * static_cast<double>(longer.of_op.count());
            if (waits > 0) keepGreatest(slow_ops_[half], {waits, static_cast<UnitIndex>(unit)});
        });
    }
    void addLinks() {
        const std::vector<Binding>& bindings = excess_.bindings();
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            if (!bindings[unit].crosses) continue;
            const TransferPlace by = graph_.latestTransfer(unit);
            const auto rank = StepGraph::at(graph_.rank[by.unit]);
            const Rank from{graph_.rank[StepGraph::at(graph_.input(by.side, by.unit))]};
            const std::size_t next = from.index() + 1 == ranks_ ? 0 : from.index() + 1;
            CauseSum& link = links_[2 * from.index() + (rank == next ? 0U : 1U)];
            link.peer = Rank{rank};
            link.add(excess_.slowTransferTo(unit), waits_.ofStart(unit));
        }
    }
    void addStarts() {
        for (std::size_t i = 0; i < kDelayKinds.size(); ++i) {
            const std::vector<TimeNs>& delays = excess_.delaysOf(kDelayKinds[i]);
            for (std::size_t unit = 0; unit < delays.size(); ++unit)
                starts_[StepGraph::at(graph_.rank[unit])][i].add(delays[unit], waits_.ofStart(unit));
        }
    }

    [[nodiscard]] std::vector<Candidate> candidates() const {
        std::vector<Candidate> all;
        std::vector<WaitedForOp> slow_ops = slow_ops_[0];
        for (const WaitedForOp& op : slow_ops_[1])
            keepGreatest(slow_ops, op);
        for (const auto& [waits, index] : slow_ops) {
            const std::size_t unit = StepGraph::at(index);
            CauseSum op;
            op.add(excess_.longerAt(unit).of_op, waits_.ofOp(unit));
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowOp, StepGraph::at(graph_.rank[unit]));
            root_cause.unit = index;
            addCandidate(all, op, std::move(root_cause));
        }
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowStage, i / chunks_);
            root_cause.chunk = Chunk{i % chunks_};
            addCandidate(all, stages_[i], std::move(root_cause));
        }
        for (std::size_t i = 0; i < links_.size(); ++i) {
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowLink, i / 2);
            root_cause.peer = links_[i].peer;
            addCandidate(all, links_[i], std::move(root_cause));
        }
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            addCandidate(all, slow_ranks_[rank], rootCauseOf(RootCauseKind::SlowRank, rank));
            for (std::size_t i = 0; i < kDelayKinds.size(); ++i)
                addCandidate(all, starts_[rank][i], rootCauseOf(kDelayKinds[i], rank));
        }
        return all;
    }

private:
    /// Visits the units of the ranks in the first or second half, with their ranks.
    template <class Visit>
    void eachUnit(std::size_t half, Visit visit) const {
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            const auto rank = StepGraph::at(graph_.rank[unit]);
            if ((2 * rank < ranks_ ? 0U : 1U) == half) visit(unit, rank);
        }
    }
    static void addCandidate(std::vector<Candidate>& to, const CauseSum& sum, RootCause root_cause) {
        if (sum.waits < 1) return; // ignore rounding errors
        root_cause.count = sum.count;
        root_cause.excess = sum.excess;
        root_cause.waits = TimeNs{std::llround(sum.waits)};
        to.push_back({std::move(root_cause), sum.waits});
    }

    const StepExcess& excess_;
    const ExplainedWaits& waits_;
    const StepGraph& graph_;
    std::size_t ranks_;
    std::size_t chunks_;                                           ///< per rank
    std::vector<CauseSum> stages_;                                 ///< per rank and chunk
    std::vector<CauseSum> links_;                                  ///< per rank: to the next rank, and to any other
    std::vector<std::array<CauseSum, kDelayKinds.size()>> starts_; ///< per rank
    std::vector<SlowShare> shares_;                                ///< per rank
    std::vector<CauseSum> slow_ranks_;                             ///< per rank, if nearly all of its ops are slow
    std::array<std::vector<WaitedForOp>, 2> slow_ops_;
};

} // namespace

std::vector<RootCause> worstCauses(const StepExcess& excess, const ExplainedWaits& waits, int vpp) {
    CauseSums sums(excess, waits, vpp);
    parallelCalls(
        excess.graph().rank.size(), [&] { sums.addOps(0); }, [&] { sums.addOps(1); }, [&] { sums.addLinks(); },
        [&] { sums.addStarts(); });
    std::vector<Candidate> candidates = sums.candidates();
    const auto worst_first = [](const Candidate& a, const Candidate& b) { return a.waits > b.waits; };
    const auto most = static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMaxRootCauses));
    std::ranges::partial_sort(candidates, candidates.begin() + most, worst_first);
    candidates.resize(static_cast<std::size_t>(most));
    std::vector<RootCause> worst;
    for (Candidate& candidate : candidates)
        worst.push_back(std::move(candidate.root_cause));
    return worst;
}

} // namespace bubblescope
