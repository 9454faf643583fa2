#include "core/optimize/search/step_bound.h"

#include "core/base/bytes.h"
#include "core/base/time.h"
#include "core/optimize/search/list_order.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string spoken(std::int64_t time) {
    return formatTime(TimeNs{time});
}

class BoundSearch {
public:
    explicit BoundSearch(const OrderProblem& problem) : problem_(problem), chains_(chainTimes(problem)) {}

    StepBound run() {
        byChain();
        byWork();
        if (problem_.limited()) {
            byHolding();
            if (problem_.uniform()) byWindow();
        }
        return std::move(best_);
    }

private:
    [[nodiscard]] std::int64_t head(OpNumber op) const { return chains_.head[static_cast<std::size_t>(op)]; }
    [[nodiscard]] std::int64_t tail(OpNumber op) const { return chains_.tail[static_cast<std::size_t>(op)]; }
    /// From its end to the step's end.
    [[nodiscard]] std::int64_t after(OpNumber op) const { return tail(op) - problem_.op(op).time; }
    [[nodiscard]] OpNumber weightOf(OpNumber gradient) const {
        return problem_.sizes().split ? problem_.op(gradient).own_next : kNoNumber;
    }
    /// From the start of a forward to the end of its input gradient.
    [[nodiscard]] std::int64_t wayBack(OpNumber forward) const {
        const OpNumber gradient = problem_.op(forward).own_next;
        return head(gradient) + problem_.op(gradient).time - head(forward);
    }

    template <class Reason>
    void offer(std::int64_t time, Reason reason) {
        if (time <= best_.time) return;
        best_ = {time, reason()};
    }

    void byChain() {
        std::int64_t longest = 0;
        for (OpNumber op = 0; op < problem_.size(); ++op)
            longest = std::max(longest, head(op) + tail(op));
        offer(longest, [&] { return say("one micro-batch takes {} through all stages and back", spoken(longest)); });
    }

    void byWork() {
        struct Group {
            std::int64_t head = kMost;
            std::int64_t after = kMost;
            std::int64_t work = 0;
        };
        const auto chunks = static_cast<std::size_t>(problem_.sizes().vpp);
        std::vector<std::vector<Group>> ranks(static_cast<std::size_t>(problem_.sizes().pp),
                                              std::vector<Group>(3 * chunks));
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            const std::size_t kind = op.kind == OpKind::Forward ? 0 : op.kind == OpKind::BackwardWeight ? 2 : 1;
            Group& group = ranks[op.rank.index()][3 * op.chunk.index() + kind];
            group.head = std::min(group.head, head(number));
            group.after = std::min(group.after, after(number));
            group.work += op.time;
        }
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            for (const Group& first : ranks[r]) {
                for (const Group& last : ranks[r]) {
                    if (first.head == kMost || last.head == kMost) continue;
                    std::int64_t work = 0;
                    for (const Group& group : ranks[r])
                        if (group.head >= first.head && group.after >= last.after) work += group.work;
                    if (work == 0) continue;
                    offer(first.head + work + last.after, [&] {
                        return say("rank {} is busy {}, its first input can be there after {}, its last result takes "
                                   "{} more",
                                   r, spoken(work), spoken(first.head), spoken(last.after));
                    });
                }
            }
        }
    }

    [[nodiscard]] std::string capacityText(Rank rank) const {
        const std::int64_t capacity = problem_.capacity(rank);
        return problem_.bytes() ? formatBytes(capacity) : std::to_string(capacity);
    }

    /// What is held over time fits into the capacity times the time from the first forward to the last gradient.
    void byHolding() {
        const auto ranks = static_cast<std::size_t>(problem_.sizes().pp);
        std::vector<long double> held(ranks, 0);
        std::vector<std::int64_t> first(ranks, kMost);
        std::vector<std::int64_t> rest(ranks, kMost);
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            const std::size_t r = op.rank.index();
            if (op.kind != OpKind::Forward) {
                if (op.frees > 0) rest[r] = std::min(rest[r], after(number));
                continue;
            }
            first[r] = std::min(first[r], head(number));
            held[r] += static_cast<long double>(op.takes) * static_cast<long double>(wayBack(number));
            const OpNumber weight = weightOf(op.own_next);
            if (weight == kNoNumber) continue;
            const NeededOp& gradient = problem_.op(op.own_next);
            held[r] += static_cast<long double>(op.takes - gradient.frees) *
                       static_cast<long double>(problem_.op(weight).time);
        }
        for (std::size_t r = 0; r < ranks; ++r) {
            if (first[r] == kMost || rest[r] == kMost || problem_.capacity(Rank{r}) <= 0) continue;
            const long double shared = held[r] / static_cast<long double>(problem_.capacity(Rank{r}));
            if (shared > static_cast<long double>(kMost / 4)) continue;
            // Rounded down: a bound may be too low, never too high.
            const auto span = static_cast<std::int64_t>(shared * (1 - 1e-15L));
            offer(first[r] + span + rest[r], [&] {
                return say("rank {} may hold {}, and what its micro-batches hold on their way to the last stage and "
                           "back fills that for {}; its first input can be there after {}",
                           r, capacityText(Rank{r}), spoken(span), spoken(first[r]));
            });
        }
    }

    /// The k-th forward of a stage waits for the release of the one that used its memory. Micro-batches are alike, so
    /// they can be counted in the order in which they come.
    void byWindow() {
        const auto& sizes = problem_.sizes();
        const int apart = routes(sizes.placement);
        for (int stage = 0; stage < sizes.pp * sizes.vpp; ++stage) {
            const bool second = apart == 2 && stage % 2 == 1;
            const int count = apart == 1 ? sizes.microbatches
                              : second   ? sizes.second
                                         : sizes.microbatches - sizes.second;
            if (count == 0) continue;
            const Microbatch some{second ? sizes.microbatches - 1 : 0};
            const OpNumber forward = problem_.find(OpKind::Forward, some, Stage{stage});
            const NeededOp& op = problem_.op(forward);
            if (op.takes <= 0) continue;
            const std::int64_t window = problem_.capacity(op.rank) / op.takes;
            if (window < 1 || window >= count) continue;
            boundWindow(forward, count, window, stage, apart);
        }
    }

    void boundWindow(OpNumber forward, int count, std::int64_t window, int stage, int apart) {
        const auto& sizes = problem_.sizes();
        const NeededOp& op = problem_.op(forward);
        const NeededOp& gradient = problem_.op(op.own_next);
        const OpNumber weight = weightOf(op.own_next);
        const bool late = weight != kNoNumber && op.takes > gradient.frees;
        const bool whole = weight == kNoNumber || gradient.frees == 0;
        // With halves freed one by one more forwards fit as soon as input gradients end: those count as released.
        const std::int64_t hold = wayBack(forward) + (late && whole ? problem_.op(weight).time : 0);
        /// A later stage of the same way, by what it takes of each micro-batch.
        struct Later {
            std::int64_t head = 0;  ///< of its forward
            std::int64_t there = 0; ///< from this forward's start to its start
            std::int64_t work = 0;  ///< its forward and input gradient
            std::int64_t back = 0;  ///< from its input gradient's end to the release here
            std::int64_t rest = 0;  ///< from its input gradient's end to the step's end
            std::int64_t all = 0;   ///< `work` and its weight gradient
        };
        std::vector<Later> later;
        for (int s = stage; s < sizes.pp * sizes.vpp; s += apart) {
            const OpNumber f = problem_.find(OpKind::Forward, op.microbatch, Stage{s});
            const OpNumber i = problem_.op(f).own_next;
            const std::int64_t end = head(i) + problem_.op(i).time;
            const std::int64_t work = problem_.op(f).time + problem_.op(i).time;
            const OpNumber w = weightOf(i);
            later.push_back({head(f), head(f) - head(forward), work, head(forward) + hold - end, after(i),
                             work + (w == kNoNumber ? 0 : problem_.op(w).time)});
        }
        std::vector<std::int64_t> starts(static_cast<std::size_t>(count));
        std::vector<std::int64_t> ends(static_cast<std::size_t>(count));
        std::int64_t longest = 0;
        for (std::int64_t k = 0; k < count; ++k) {
            const auto at = static_cast<std::size_t>(k);
            std::int64_t start = k == 0 ? head(forward) : starts[at - 1] + op.time;
            if (k >= window) start = std::max(start, ends[static_cast<std::size_t>(k - window)]);
            std::int64_t end = start + hold;
            std::int64_t last = start + tail(forward);
            for (const Later& other : later) {
                end = std::max(end, other.head + (k + 1) * other.work + other.back);
                last = std::max(last, start + other.there + (count - k) * other.work + other.rest);
                last = std::max(last, start + other.there + (count - k) * other.all);
            }
            if (late && whole) end = std::max(end, later.front().head + (k + 1) * later.front().all);
            starts[at] = start;
            ends[at] = end;
            longest = std::max(longest, last);
        }
        offer(longest, [&] {
            return say("rank {} may hold {} micro-batches of stage {}, each of which takes {} to the last stage and "
                       "back, so the later ones wait for the earlier ones",
                       op.rank.value, window, stage, spoken(hold));
        });
    }

    const OrderProblem& problem_;
    ChainTimes chains_;
    StepBound best_;
};

} // namespace

StepBound stepBound(const OrderProblem& problem) {
    return BoundSearch(problem).run();
}

} // namespace bubblescope
