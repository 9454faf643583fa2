// The bound. A step's makespan is the length of the longest path through the graph whose edges are the data
// dependencies (with the transfer's time where they cross ranks) and the order of each rank's list. Leaving
// edges out can only make the longest path shorter, so the longest path that follows the list of one rank only,
// and data dependencies before and after it, is a lower bound.
//
// For an op i let head(i) be the longest chain of dependencies that must run before it can start, and tail(i)
// the longest that must run after it ends. On a rank with the list x_0 … x_n, any stretch from x_i to x_j
// takes at least the time of its ops, so
//
//     makespan ≥ head(x_i) + t(x_i) + … + t(x_j) + tail(x_j)    for every rank and i ≤ j.
//
// With i = 0 and j = n it reads: no rank starts before its first input arrives, and after a rank's last op all that
// depends on it must still run. Shorter stretches matter where a rank has to wait in the middle. One pass
// along each list finds the best i for every j.
//
// Queues of transfers and sends that block only add waits, so the bound holds with them too.
//
// On equal stages it is exact for F-then-B and 1F1B, whose last rank never waits between its first op and its
// last. It is not exact where two ranks delay the step in turn.

#include "core/theory/closed_form.h"

#include "core/graph/validate.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

class OrderBound {
public:
    OrderBound(const Execution& execution, const CostModel& costs)
        : graph_(execution.graph), order_(execution.order), costs_(costs),
          head_(static_cast<std::size_t>(graph_.size()), TimeNs{0}), tail_(head_) {}

    struct Found {
        TimeNs makespan{0};
        Rank rank;
    };

    Found run() {
        for (const OpIndex op : order_)
            findHead(op);
        for (auto op = order_.rbegin(); op != order_.rend(); ++op)
            findTail(*op);
        Found found;
        for (int r = 0; r < graph_.rankCount(); ++r) {
            const TimeNs least = longestStretch(Rank{r});
            if (least > found.makespan) found = {least, Rank{r}};
        }
        return found;
    }

private:
    static std::size_t at(OpIndex index) { return static_cast<std::size_t>(index); }

    [[nodiscard]] TimeNs alone(OpIndex op) const { return costs_.opTime(graph_.op(op).kind, graph_.stage(op)); }

    /// The time for which an op occupies its rank: that of the pair for half of a pair, 0 for the optimizer, which lies
    /// outside the window.
    [[nodiscard]] TimeNs duration(OpIndex op) const {
        if (graph_.op(op).kind == OpKind::Optimizer) return TimeNs{0};
        const OpIndex partner = graph_.partner(op);
        return partner == kNoOp ? alone(op) : costs_.overlapped.value_or(alone(op) + alone(partner));
    }

    [[nodiscard]] TimeNs lag(OpIndex from, OpIndex to) const {
        if (graph_.rank(from) == graph_.rank(to)) return TimeNs{0};
        return costs_.transferTime(payloadOf(graph_.op(to).kind), graph_.rank(from), graph_.rank(to));
    }

    void findHead(OpIndex op) {
        const OpIndex partner = graph_.partner(op);
        TimeNs head{0};
        for (const OpIndex half : {op, partner}) {
            if (half == kNoOp) continue;
            for (const OpIndex producer : {graph_.producers(half).stage, graph_.producers(half).own}) {
                if (producer < 0) continue;
                head = std::max(head, head_[at(producer)] + duration(producer) + lag(producer, half));
            }
        }
        head_[at(op)] = head;
        if (partner != kNoOp) head_[at(partner)] = head;
    }

    /// All consumers of the op have been visited and have raised its tail; this raises those of its producers.
    void findTail(OpIndex op) {
        const OpIndex partner = graph_.partner(op);
        if (partner != kNoOp) {
            tail_[at(op)] = std::max(tail_[at(op)], tail_[at(partner)]);
            tail_[at(partner)] = tail_[at(op)];
        }
        for (const OpIndex producer : {graph_.producers(op).stage, graph_.producers(op).own}) {
            if (producer < 0) continue;
            const TimeNs tail = lag(producer, op) + duration(op) + tail_[at(op)];
            tail_[at(producer)] = std::max(tail_[at(producer)], tail);
        }
    }

    [[nodiscard]] TimeNs longestStretch(Rank rank) const {
        TimeNs longest{0};
        TimeNs earliest{0}; ///< when the list could start if it ran without a gap from there on
        TimeNs work{0};
        for (OpIndex i = graph_.firstOf(rank); i < graph_.endOf(rank); ++i) {
            earliest = std::max(earliest, head_[at(i)] - work);
            const bool second_half = graph_.partner(i) != kNoOp && graph_.partner(i) < i;
            if (!second_half) work += duration(i);
            longest = std::max(longest, earliest + work + tail_[at(i)]);
        }
        return longest;
    }

    const OpGraph& graph_;
    const std::vector<OpIndex>& order_;
    const CostModel& costs_;
    std::vector<TimeNs> head_;
    std::vector<TimeNs> tail_;
};

} // namespace

Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs) {
    if (costs.measured != nullptr) {
        return usageError("the lower bound takes one time for all ops of a stage and kind",
                          "use `bubblescope simulate`");
    }
    BUBBLESCOPE_ASSIGN(const Execution execution, prepareExecution(schedule));
    const auto [makespan, rank] = OrderBound(execution, costs).run();
    ClosedForm form = makespanForm(
        schedule, costs, makespan, "head + work + tail − what the rank works", "max over ranks of head + work + tail",
        fmt::format("any order, any times and transfers; set by rank {}: what must run before it can start, its "
                    "work, what must run after it",
                    rank.value));
    form.kind = FormKind::LowerBound;
    return form;
}

} // namespace bubblescope
