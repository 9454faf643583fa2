// Closed form of DualPipe and DualPipeV (DeepSeek-AI 2024) folded to n ranks, with t_fb the time of a pair.
//
// Seen from the innermost rank, s = n−1. Its first forward arrives (n−1)·t_f after the start. From then on it never
// waits until its pairs are done: both sides feed it. Then it has only backwards, of t_b each, while its neighbour
// still runs a pair between each two backwards. So n−1 times, once for every rank outside it, it waits t_fb−t_b for the
// next gradient. After its last op the outer ranks still run n−1 input gradients, each with a deferred weight gradient
// that this rank ran meanwhile: the end is (n−1)(t_i−t_w) away. The sum is (n−1)(t_fb + t_f − 2·t_w), with t_i = t_f
// also written (n−1)(t_fb + t_b − 3·t_w). Other ranks idle at most as long, since they have fewer pairs and each pair
// saves t_f+t_b−t_fb of work.
//
// Slow input gradients, t_i > t_f, delay the start of the innermost rank instead: each of the n−1 ranks outside it
// passes gradients on t_i−t_f later than it takes forwards. The first forward in stock hides one t_f of that:
// (n−1)(t_fb + t_i − 2·t_w) − t_f. With t_w ≤ min(t_f, t_i) the larger of the two is the bubble.
//
// Positions. Rank s, with b = n−s−1 ranks further in, starts s·t_f late. Inside the steady part each of those ranks
// makes it wait t_fb−t_b for a far gradient and equally long for the answer to its own, except one, for which the first
// forward of the steady part leaves room, t_f of it in front. With t_f > t_i every further rank's answer but one is
// late by t_f−t_i too, which moves min(t_f−t_i, t_fb−t_b) to the front. With t_f < t_i the ranks further in delay it by
// b·(t_i−t_f) inside, those further out by s·(t_i−t_f) in front. Between steady part and cool-down rank s waits
// s·(t_fb−t_b), as the innermost rank does. Inside cool-down it waits, for each rank further in, for an input gradient
// while it has only a weight gradient to run, b·(t_i−t_w), and as much after its last op for each rank further out.
//
// With longer weight gradients the innermost rank may lose more elsewhere, and the step is the longest of five: the two
// above; with slow weight gradients (n−1)(t_fb − t_w) − t_f; with slow forwards and t_w > t_i (n−1)(t_fb + t_f − t_b);
// and in any case (n−1)·t_f. The positions of the gaps are then not known, so only totals are given.

#include "core/theory/forms/family_theory.h"

#include "core/families/families.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// One of the two families: n ranks folded out, m micro-batches for each side, and the words for n−1 and 2m.
struct Folded {
    std::int64_t n;
    std::int64_t m;
    std::string_view borders;
    std::string_view ops; ///< time of all ops of the innermost rank
};

/// For weight gradients no longer than a forward or an input gradient.
ClosedForm dualPositions(const Schedule& schedule, const CostModel& costs, const Folded& fold) {
    const OpTimes& t = costs.times;
    const TimeNs none{0};
    const TimeNs lost = costs.overlapped.value_or(t.forward + t.backward) - t.backward;
    const TimeNs kept = t.input_grad - t.weight_grad;
    const TimeNs slow_input = t.input_grad - t.forward;
    const TimeNs moved = std::min(-slow_input, lost); // to the front, if forwards are slower
    const TimeNs held_up = (fold.n - 1) * slow_input;
    const bool mirrored = fold.n != schedule.pp;
    const std::string place = mirrored ? "d" : "s";
    const std::string inner_text = fmt::format("({}−{})", fold.borders, place);
    const std::string note = mirrored ? ", d = min(s, p−s−1)" : "";
    FormBuilder form(schedule, costs,
                     fmt::format("{}, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b (per chunk); equal stages, transfers free",
                                 slow_input <= none ? "t_w ≤ t_i ≤ t_f" : "t_w ≤ t_f < t_i"));
    for (int rank = 0; rank < schedule.pp; ++rank) {
        const std::int64_t s = mirrored ? std::min(rank, schedule.pp - 1 - rank) : rank;
        const std::int64_t inner = fold.n - s - 1;
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, place + "·t_f" + note, s * t.forward},
                                        {Position::SteadyToCooldown, place + "·(t_fb−t_b)" + note, s * lost},
                                        {Position::InsideCooldown, inner_text + "·(t_i−t_w)" + note, inner * kept},
                                        {Position::AfterCooldown, place + "·(t_i−t_w)" + note, s * kept}};
        const std::string inside = fmt::format("(2·{}−1)·(t_fb−t_b)", inner_text);
        if (inner == 0) {
            terms.push_back({Position::WarmupToSteady, fmt::format("max(0, ({})·(t_i−t_f)−t_f)", fold.borders),
                             fold.n > 1 ? std::max(none, held_up - t.forward) : none});
        } else if (slow_input <= none) {
            terms.push_back({Position::WarmupToSteady,
                             fmt::format("t_f + ({}−1)·min(t_f−t_i, t_fb−t_b){}", inner_text, note),
                             t.forward + (inner - 1) * moved});
            terms.push_back({Position::InsideSteady,
                             fmt::format("{} − ({}−1)·min(t_f−t_i, t_fb−t_b){}", inside, inner_text, note),
                             (2 * inner - 1) * lost - (inner - 1) * moved});
        } else {
            terms.push_back({Position::WarmupToSteady,
                             fmt::format("{}·(t_i−t_f) + max(0, t_f−({})·(t_i−t_f)){}", place, fold.borders, note),
                             s * slow_input + std::max(none, t.forward - held_up)});
            terms.push_back({Position::InsideSteady, fmt::format("{} + {}·(t_i−t_f){}", inside, inner_text, note),
                             (2 * inner - 1) * lost + inner * slow_input});
        }
        form.addRank(rank, std::move(terms));
    }
    return form.finish(
        fmt::format("max(k·(t_fb+t_f−2·t_w), k·(t_fb+t_i−2·t_w)−t_f), k = {}, the largest of all ranks", fold.borders),
        fmt::format("{} + R, R the largest bubble", fold.ops));
}

Result<ClosedForm> dualForm(const Schedule& schedule, const CostModel& costs, const Folded& fold) {
    const OpTimes& t = costs.times;
    const TimeNs both = t.forward + t.backward;
    const TimeNs pair = costs.overlapped.value_or(both);
    if (t.backward != t.input_grad + t.weight_grad || pair < std::max(t.forward, t.backward) || pair > both) {
        return usageError(
            "the closed form holds only for pairs that take at least as long as their longer half and at most "
            "as long as both halves",
            "use a time within these limits, or use `bubblescope simulate`");
    }
    if (t.weight_grad <= std::min(t.forward, t.input_grad)) return dualPositions(schedule, costs, fold);
    const std::int64_t k = fold.n - 1;
    const TimeNs late = k * pair - t.forward;
    const TimeNs bubble =
        k == 0 ? TimeNs{0}
               : std::max({k * (pair + t.forward - 2 * t.weight_grad), late + k * (t.input_grad - 2 * t.weight_grad),
                           late - k * t.weight_grad, k * (pair + t.forward - t.backward), k * t.forward});
    const TimeNs work = 2 * fold.m * both - (2 * fold.m - 2 * fold.n - 1) * (both - pair);
    const std::string largest = fmt::format("max(k·(t_fb+t_f−2·t_w), k·(t_fb+t_i−2·t_w)−t_f, k·(t_fb−t_w)−t_f, "
                                            "k·(t_fb+t_f−t_b), k·t_f)");
    return makespanForm(schedule, costs, work + bubble,
                        fmt::format("{}, k = {}, the largest of all ranks", largest, fold.borders),
                        fmt::format("{} + R, R the largest bubble", fold.ops),
                        "any t_f, t_i and t_w, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b (per chunk); equal stages, transfers "
                        "free");
}

Result<ClosedForm> dualPipeVForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(checkDualPipeV(schedule.pp, schedule.microbatches));
    return dualForm(schedule, costs,
                    {schedule.pp, schedule.microbatches, "p−1", "(2·p+1)·(t_f+t_b) + (2·m−2·p−1)·t_fb"});
}

Result<ClosedForm> dualPipeForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(checkDualPipe(schedule.pp, schedule.microbatches));
    return dualForm(schedule, costs,
                    {schedule.pp / 2, schedule.microbatches / 2, "p/2−1", "(p+1)·(t_f+t_b) + (m−p−1)·t_fb"});
}

PeakForm dualPipeVPeaks(const Schedule& schedule) {
    return peakForm(schedule, "2·p+1", "m ≥ 2p", [p = schedule.pp](int) { return 2 * p + 1; });
}

PeakForm dualPipePeaks(const Schedule& schedule) {
    return peakForm(schedule, "p+1", "m ≥ 2p", [p = schedule.pp](int) { return p + 1; });
}

/// True if the closed form of DualPipe and DualPipeV is known at these costs.
bool dualKnown(const CostModel& costs) {
    const OpTimes& t = costs.times;
    const TimeNs pair = costs.overlapped.value_or(t.forward + t.backward);
    return freeTransfers(costs) && t.input_grad == t.forward && t.weight_grad <= t.forward && pair >= t.backward &&
           pair <= t.forward + t.backward;
}

/// (n−1)·(t_fb+t_b−3·t_w), n ranks folded out.
QuotedForm dualQuote(const Schedule& schedule, const CostModel& costs, std::int64_t n, std::string name,
                     std::string expression) {
    const OpTimes& t = costs.times;
    const TimeNs both = t.forward + t.backward;
    const TimeNs pair = costs.overlapped.value_or(both);
    return bubbleQuote(schedule,
                       {std::move(name), "DualPipe README", std::move(expression),
                        "Its B is the whole backward, and its bubble is the largest of all ranks: if t_fb < t_f+t_b, "
                        "ranks with fewer pairs are busier and idle less. It needs t_i = t_f and t_w ≤ t_f."},
                       (n - 1) * (pair + t.backward - 3 * t.weight_grad), n <= 2 || pair == both);
}

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
    list.push_back(
        bubbleQuote(schedule,
                    {"DualPipeV without split cool-down", "MindSpeed documentation", "(p−1)·(t_fb+t_b−t_w) − t_f",
                     "It is for an order whose cool-down does not delay weight gradients, and even for that order it "
                     "is one t_f too small, according to simulation. The order shown here has (p−1)·(t_fb+t_b−3·t_w)."},
                    (p - 1) * (pair + t.backward - t.weight_grad) - t.forward,
                    list.front().holds && 2 * (p - 1) * t.weight_grad == t.forward));
    return list;
}

} // namespace

FamilyTheory dualPipeVTheory() {
    return {.family = "dualpipev",
            .closed_form = dualPipeVForm,
            .peak_form = dualPipeVPeaks,
            .quoted_forms = dualPipeVQuotes};
}

FamilyTheory dualPipeTheory() {
    return {
        .family = "dualpipe", .closed_form = dualPipeForm, .peak_form = dualPipePeaks, .quoted_forms = dualPipeQuotes};
}

} // namespace bubblescope
