#include "core/optimize/search/justify.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// Ops placed on a rank, by start.
struct PlacedOp {
    OpNumber op = kNoNumber;
    std::int64_t start = 0;
    std::int64_t held = 0; ///< memory in use on the rank while the op runs, including workspace
};

/// Moves the ops of an order towards the start of the step, or towards its end.
class Justification {
public:
    Justification(const OrderEvaluator& evaluator, bool to_the_end)
        : problem_(evaluator.problem()), evaluator_(evaluator), reversed_(to_the_end),
          start_(static_cast<std::size_t>(problem_.size()), 0), ranks_(static_cast<std::size_t>(problem_.sizes().pp)),
          held_(ranks_.size(), 0) {}

    /// Empty if memory does not suffice, which cannot happen for an order within its limits, or if `control` stops it.
    RankOrders run(const JobControl& control) {
        StopCheck stop(control, 1U << 10);
        std::vector<std::pair<std::int64_t, OpNumber>> turns;
        turns.reserve(start_.size());
        // Ties are broken by an order in which ops can run, because times may be 0.
        const auto& sorted = evaluator_.sorted();
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            const OpNumber op = sorted[reversed_ ? sorted.size() - 1 - i : i];
            turns.emplace_back(reversed_ ? -(evaluator_.start(op) + busy(op)) : -evaluator_.tail(op), op);
        }
        std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
        for (const auto& [time, op] : turns)
            if (stop.requested() || !place(op)) return {};
        RankOrders orders(ranks_.size());
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            for (const PlacedOp& placed : ranks_[r])
                orders[r].push_back(placed.op);
            if (reversed_) std::ranges::reverse(orders[r]);
        }
        return orders;
    }
    [[nodiscard]] std::int64_t touched() const { return touched_; }

private:
    static std::size_t at(OpNumber op) { return static_cast<std::size_t>(op); }
    [[nodiscard]] std::int64_t busy(OpNumber op) const { return problem_.op(op).busy; }
    /// Memory that an op takes and frees, with time running backwards if the ops move to the end.
    [[nodiscard]] std::int64_t takes(const NeededOp& op) const { return reversed_ ? op.frees : op.takes; }
    [[nodiscard]] std::int64_t frees(const NeededOp& op) const { return reversed_ ? op.takes : op.frees; }

    /// The time at which an op's inputs have arrived, in the direction in which time runs.
    [[nodiscard]] std::int64_t ready(OpNumber number) const {
        const NeededOp& op = problem_.op(number);
        const OpNumber other = reversed_ ? op.output : op.input;
        const OpNumber own = reversed_ ? op.own_next : op.own;
        std::int64_t time = reversed_ ? op.time - op.busy + problem_.after(op.rank) : 0;
        if (other != kNoNumber) {
            const OpNumber sender = reversed_ ? number : other;
            const std::int64_t reach = problem_.op(sender).time + problem_.op(sender).arrival;
            time = std::max(time, start_[at(other)] + busy(other) + reach - busy(sender));
        }
        if (own != kNoNumber) time = std::max(time, start_[at(own)] + busy(own));
        return time;
    }

    bool place(OpNumber number) {
        const NeededOp& op = problem_.op(number);
        auto& placed = ranks_[op.rank.index()];
        const std::int64_t capacity = problem_.capacity(op.rank);
        const std::int64_t earliest = ready(number);
        const std::int64_t taken = takes(op);
        const std::int64_t change = taken - frees(op);
        std::int64_t& end_held = held_[op.rank.index()];
        // Tries places from the last one back; `before` is what the rank holds when an op at that place begins.
        std::size_t best = placed.size() + 1;
        std::int64_t best_start = 0;
        std::int64_t before = end_held;
        for (std::size_t i = placed.size() + 1; i-- > 0;) {
            const std::int64_t free = i == 0 ? earliest : placed[i - 1].start + busy(placed[i - 1].op);
            const std::int64_t start = std::max(free, earliest);
            const bool fits = before + taken + op.workspace <= capacity || !problem_.limited();
            if (fits && (i == placed.size() || start + op.busy <= placed[i].start)) {
                best = i;
                best_start = start;
            }
            ++touched_;
            if (i == 0 || free <= earliest) break;
            // Further back, the previous op runs later, with the memory that this one takes.
            const NeededOp& passed = problem_.op(placed[i - 1].op);
            if (problem_.limited() && change > 0 && placed[i - 1].held + change > capacity) break;
            before -= takes(passed) - frees(passed);
        }
        if (best > placed.size()) return false;
        PlacedOp entry{number, best_start, 0};
        std::int64_t held = end_held;
        for (std::size_t i = placed.size(); i-- > best;) {
            const NeededOp& passed = problem_.op(placed[i].op);
            held -= takes(passed) - frees(passed);
            placed[i].held += change;
        }
        entry.held = held + taken + op.workspace;
        placed.insert(placed.begin() + static_cast<std::ptrdiff_t>(best), entry);
        end_held += change;
        start_[at(number)] = best_start;
        return true;
    }

    const OrderProblem& problem_;
    const OrderEvaluator& evaluator_;
    bool reversed_;
    std::vector<std::int64_t> start_;
    std::vector<std::vector<PlacedOp>> ranks_;
    std::vector<std::int64_t> held_; ///< per rank, after everything that was placed
    std::int64_t touched_ = 0;
};

} // namespace

bool justify(OrderEvaluator& evaluator, int most, const JobControl& control) {
    bool shorter = false;
    for (int i = 0; i < most && !control.stopRequested(); ++i) {
        const std::int64_t before = evaluator.makespan();
        for (const bool to_the_end : {true, false}) {
            const RankOrders kept = evaluator.orders();
            Justification pass(evaluator, to_the_end);
            const RankOrders orders = pass.run(control);
            evaluator.touch(pass.touched());
            if (orders.empty() || !evaluator.assign(orders) || evaluator.makespan() > before) {
                if (!evaluator.assign(kept)) return shorter; // it was valid before
                return shorter;
            }
        }
        if (evaluator.makespan() == before) break;
        shorter = true;
    }
    return shorter;
}

} // namespace bubblescope
