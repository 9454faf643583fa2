#include "core/theory/two_way_quotes.h"

#include "core/theory/quotes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

/// Where the closed form of DualPipe and DualPipeV is known.
bool dualKnown(const CostModel& costs) {
    const OpTimes& t = costs.times;
    const TimeNs pair = costs.overlapped.value_or(t.forward + t.backward);
    return costs.comm.count() == 0 && t.input_grad == t.forward && t.weight_grad <= t.forward && pair >= t.backward &&
           pair <= t.forward + t.backward;
}

/// (n−1)·(t_fb+t_b−3·t_w), n ranks folded out.
QuotedForm dualQuote(const Schedule& schedule, const CostModel& costs, std::int64_t n, std::string name,
                     std::string expression) {
    const OpTimes& t = costs.times;
    const TimeNs both = t.forward + t.backward;
    const TimeNs pair = costs.overlapped.value_or(both);
    return bubbleQuote(
        schedule,
        {std::move(name), "DualPipe README", std::move(expression),
         "Its B is the whole backward, and it is the largest bubble of all ranks: where t_fb < t_f+t_b, ranks "
         "with fewer pairs are busier and idle less. It needs t_i = t_f and t_w ≤ t_f."},
        (n - 1) * (pair + t.backward - 3 * t.weight_grad), n <= 2 || pair == both);
}

/// A pipeline's fill of (p−2) ops of the longer kind, as a share: right if twice it is what `work` times `share` says.
QuotedForm twoWayQuote(const Schedule& schedule, const CostModel& costs, double units, QuoteText text) {
    const double p = schedule.pp;
    const double m = schedule.microbatches;
    const OpTimes& t = costs.times;
    const auto [shorter, longer] = std::minmax(t.forward, t.backward);
    const TimeNs idle = longer + (schedule.microbatches / schedule.pp - 1) * (longer - shorter);
    // Ours is (p−2)·idle over m·v/2·(t_f+t_b), the quoted one (p−2) over units·m.
    const double work = m * schedule.vpp / 2 * static_cast<double>((t.forward + t.backward).count());
    const bool same = static_cast<double>(idle.count()) * units * m == work;
    return ratioQuote(Quantity::BubbleRate, std::move(text), (p - 2) / (units * m + p - 2), schedule.pp == 2 || same);
}

} // namespace

std::vector<QuotedForm> dualPipeQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!dualKnown(costs)) return {};
    return {dualQuote(schedule, costs, schedule.pp / 2, "DualPipe", "(p/2−1)·(t_fb+t_b−3·t_w)")};
}

std::vector<QuotedForm> dualPipeVQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!dualKnown(costs)) return {};
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    std::vector<QuotedForm> list{dualQuote(schedule, costs, p, "DualPipeV", "(p−1)·(t_fb+t_b−3·t_w)")};
    if (p < 2) return list;
    const TimeNs pair = costs.overlapped.value_or(t.forward + t.backward);
    list.push_back(bubbleQuote(
        schedule,
        {"DualPipeV without split cool-down", "MindSpeed documentation", "(p−1)·(t_fb+t_b−t_w) − t_f",
         "It is of an order whose cool-down does not hold weight gradients back, and there too a t_f too small as "
         "simulated. The order shown here has (p−1)·(t_fb+t_b−3·t_w)."},
        (p - 1) * (pair + t.backward - t.weight_grad) - t.forward,
        list.front().holds && 2 * (p - 1) * t.weight_grad == t.forward));
    return list;
}

std::vector<QuotedForm> chimeraQuotes(const Schedule& schedule, const CostModel& costs) {
    if (costs.comm.count() != 0) return {};
    return {
        twoWayQuote(schedule, costs, 2,
                    {"Chimera", "Chimera paper", "(p−2)/(2·m+p−2)",
                     "It takes t_f = t_b. In general the bubble is (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|)."}),
        twoWayQuote(schedule, costs, 1.5,
                    {"Chimera, long backward", "Chimera paper", "(p−2)/(1.5·m+p−2)",
                     "It takes t_b = 2·t_f and m = p. Each further block of p micro-batches adds (p−2)·|t_b−t_f|."})};
}

std::vector<QuotedForm> bitPipeQuotes(const Schedule& schedule, const CostModel& costs) {
    if (costs.comm.count() != 0) return {};
    return {twoWayQuote(
        schedule, costs, 4,
        {"BitPipe", "BitPipe paper", "(p−2)/(4·m+p−2)",
         "It takes t_f = t_b. In general the bubble is (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|) in times of "
         "a chunk."})};
}

std::vector<QuotedForm> hanayoQuotes(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    if (costs.comm.count() != 0 || t.forward != t.backward || schedule.microbatches % schedule.pp != 0) return {};
    const double p = schedule.pp;
    const double waves = schedule.vpp / 2.0;
    return {
        ratioQuote(Quantity::BubbleRate,
                   {"Hanayo", "Hanayo paper", "(2·p−2)/(3·p·W+p−1), W waves",
                    "No order made here has it, and no program of its authors is public to compare with. For t_f = t_b "
                    "and p dividing m the share of the makespan is (p−1)/(m·v+p−1)."},
                   (2 * p - 2) / (3 * p * waves + p - 1), schedule.pp == 1)};
}

} // namespace bubblescope
