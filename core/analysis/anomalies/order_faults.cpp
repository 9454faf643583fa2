#include "core/analysis/anomalies/find_anomalies.h"
#include "core/graph/validate.h"
#include "core/recognise/assemble.h"
#include "core/recognise/dispatch_match.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

namespace bubblescope {
namespace {

bool sameOps(std::vector<Op> a, std::vector<Op> b) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    return a == b;
}

bool hasBackward(const Schedule& order) {
    return std::ranges::any_of(order.ranks, [](const auto& ops) {
        return std::ranges::any_of(ops, [](const Op& op) { return op.kind != OpKind::Forward; });
    });
}

AnomalyKind kindOf(const std::string& problem) {
    if (problem == "missing") return AnomalyKind::MissingOp;
    if (problem == "duplicate") return AnomalyKind::DuplicateOp;
    return AnomalyKind::OutOfPlaceOp;
}

Sentence suggestionOf(AnomalyKind kind) {
    if (kind == AnomalyKind::MissingOp)
        return say("If the job continued, the record was lost: use larger buffers, or record fewer categories.");
    if (kind == AnomalyKind::DuplicateOp)
        return say("Check that no file was loaded twice and that each op is annotated once.");
    return say("Check the annotations, and the clocks if the files come from several hosts.");
}

/// The ops that a rank runs in `usual` but not in `order`.
std::vector<Op> lacking(const Schedule& usual, const Schedule& order, Rank rank) {
    std::vector<Op> all = usual.ranks[rank.index()];
    std::vector<Op> here = order.ranks[rank.index()];
    std::ranges::sort(all);
    std::ranges::sort(here);
    std::vector<Op> missing;
    std::ranges::set_difference(all, here, std::back_inserter(missing));
    return missing;
}

/// One finding per kind and rank, and the cases that it represents. The first case is the worst until another costs
/// more.
class OrderFindings {
public:
    explicit OrderFindings(const AnomalyInput& input) : input_(input) {}

    /// `weight`: the finding reports the case with the largest weight.
    template <class Describe>
    void add(AnomalyKind kind, std::size_t step, Rank rank, TimeNs weight, const Describe& describe) {
        const int replica = input_.run.steps[step].replica;
        const auto [entry, is_new] = findings_.try_emplace({kind, replica, rank});
        Finding& finding = entry->second;
        finding.cases.add(step);
        if (!is_new && weight <= finding.weight) return;
        finding.weight = weight;
        Anomaly anomaly = describe();
        anomaly.kind = kind;
        anomaly.rank = rank;
        anomaly.step = input_.run.steps[step].index;
        if (replica != 0) anomaly.replica = replica;
        finding.anomaly = std::move(anomaly);
    }
    /// Adds the same case in another step of the same order.
    void addLike(AnomalyKind kind, std::size_t step, Rank rank) {
        add(kind, step, rank, TimeNs::min(), [] { return Anomaly(); });
    }

    void moveTo(Anomalies& found) {
        for (auto& [place, finding] : findings_) {
            const std::optional<int> told = finding.anomaly.replica;
            finding.anomaly.replica = std::get<int>(place);
            input_.setSeen(finding.anomaly, finding.cases);
            finding.anomaly.replica = told;
            found.push_back(std::move(finding.anomaly));
        }
    }

private:
    struct Finding {
        Anomaly anomaly;
        Cases cases;
        TimeNs weight{0};
    };
    const AnomalyInput& input_;
    std::map<std::tuple<AnomalyKind, int, Rank>, Finding> findings_; ///< by kind, replica and rank
};

/// Reports the problems that validate() finds in steps that share one order.
void reportProblems(const AnomalyInput& input, const std::vector<std::size_t>& steps, const Schedule& usual,
                    const Schedule& order, OrderFindings& found) {
    if (!hasBackward(order)) return; // evaluation: no backwards are expected
    for (const ScheduleProblem& problem : validate(order)) {
        const AnomalyKind kind = kindOf(problem.kind);
        found.add(kind, steps.front(), problem.rank, TimeNs{0}, [&] {
            Anomaly anomaly;
            anomaly.severity = Severity::Serious;
            if (problem.index < order.ranks[problem.rank.index()].size() && kind != AnomalyKind::MissingOp)
                anomaly.op = order.ranks[problem.rank.index()][problem.index];
            if (kind == AnomalyKind::MissingOp) {
                if (const auto missing = lacking(usual, order, problem.rank); missing.size() == 1)
                    anomaly.op = missing.front();
            }
            anomaly.evidence = {{"index", static_cast<double>(problem.index)}};
            anomaly.message = say("step {}: {}", input.run.steps[steps.front()].index, problem.message);
            anomaly.suggestion = suggestionOf(kind);
            return anomaly;
        });
        for (std::size_t i = 1; i < steps.size(); ++i)
            found.addLike(kind, steps[i], problem.rank);
    }
}

/// Reports the first place where two orders of the same ops differ.
void reportDeparture(const AnomalyInput& input, std::size_t s, const Schedule& usual, const Schedule& order,
                     OrderFindings& found) {
    const StepTimeline& step = input.run.steps[s];
    const TimeNs longer = step.wall() - input.run.steps[input.typicalStep()].wall();
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        const auto differ = std::ranges::mismatch(usual.ranks[r], order.ranks[r]);
        const auto expected = differ.in1;
        const auto seen = differ.in2;
        if (seen == order.ranks[r].end() || expected == usual.ranks[r].end()) continue;
        if (!sameOps(usual.ranks[r], order.ranks[r])) continue; // already reported as missing or similar
        found.add(AnomalyKind::OrderDeparture, s, Rank{r}, longer, [&] {
            Anomaly anomaly;
            anomaly.op = *seen;
            const auto ran = std::ranges::find(step.ranks[r], *seen, &TimelineOp::op);
            if (ran != step.ranks[r].end()) anomaly.when = TimeInterval{ran->start, ran->end};
            anomaly.severity = input.worthReporting(longer, s) ? input.severityOf(longer, s) : Severity::Notice;
            const auto index = static_cast<std::size_t>(seen - order.ranks[r].begin());
            anomaly.evidence = {{"index", static_cast<double>(index)},
                                {"extra_step_time_ns", static_cast<double>(longer.count())}};
            anomaly.message =
                say("in step {}, rank {} ran {} as op number {}; in the other steps it ran {} there. The step took {}.",
                    step.index, r, opName(*seen), index, opName(*expected),
                    longer.count() >= 0 ? say("{} longer than the typical step", formatTime(longer))
                                        : say("{} less than the typical step", formatTime(-longer)));
            anomaly.suggestion = say(
                "Orders chosen at run time depend on what arrives first. Fix the order, or find what arrived late.");
            return anomaly;
        });
    }
}

void reportIncompleteSteps(const Diagnostic& problem, const OpFault& first, Anomalies& found) {
    Anomaly anomaly;
    anomaly.kind = first.twice ? AnomalyKind::DuplicateOp : AnomalyKind::MissingOp;
    anomaly.severity = Severity::Serious;
    anomaly.step = first.step;
    anomaly.rank = first.rank;
    anomaly.op = first.op;
    anomaly.seen.cases = static_cast<std::int64_t>(problem.count);
    anomaly.evidence = {{"steps", static_cast<double>(problem.count)}};
    anomaly.message = problem.count == 1
                          ? say("1 step was skipped because of missing or duplicate ops: {}.", problem.where)
                          : say("{} steps were skipped because of missing or duplicate ops; the first: {}.",
                                problem.count, problem.where);
    anomaly.suggestion = suggestionOf(anomaly.kind);
    found.push_back(std::move(anomaly));
}

/// True if all steps are complete and ran in the order of the first one, which is usual and cheap to detect.
bool isOfOneWholeOrder(const AnomalyInput& input) {
    if (input.first_ran == nullptr || !input.first_ran->runnable()) return false;
    const OpGraph& graph = input.first_ran->order.graph();
    const bool one = std::ranges::all_of(input.analyses.begin() + 1, input.analyses.end(),
                                         [](const StepAnalysis& step) { return step.order_of_previous; });
    return one && graph.size() > 0 && graph.rankCount() == input.run.steps.front().pp && graph.plainlyComplete();
}

/// Looks for problems in each order, and for departures from the usual one. Returns true if the first step has the
/// usual order.
bool findFaultsOfOrders(const AnomalyInput& input, Anomalies& found) {
    const auto before = [](const Schedule& a, const Schedule& b) { return a.ranks < b.ranks; };
    std::map<Schedule, std::vector<std::size_t>, decltype(before)> steps_of_order(before);
    std::vector<std::size_t>* likewise = nullptr; // the steps with that order
    for (std::size_t s = 0; s < input.run.steps.size(); ++s) {
        if (likewise == nullptr || !input.analyses[s].order_of_previous)
            likewise = &steps_of_order[executedOrder(input.run.steps[s])];
        likewise->push_back(s);
    }
    const auto usual = std::ranges::max_element(steps_of_order, {}, [](const auto& entry) {
        return std::pair(entry.second.size(), -static_cast<std::int64_t>(entry.second.front()));
    });
    OrderFindings findings(input);
    for (const auto& entry : steps_of_order) {
        const auto& [order, steps] = entry;
        reportProblems(input, steps, usual->first, order, findings);
        if (&entry == &*usual) continue;
        for (const std::size_t s : steps)
            reportDeparture(input, s, usual->first, order, findings);
    }
    findings.moveTo(found);
    return usual->second.front() == 0;
}

} // namespace

void findOrderFaults(const AnomalyInput& input, Anomalies& found) {
    for (const Diagnostic& problem : input.run.problems) {
        if (const auto fault = opFaultOf(problem)) reportIncompleteSteps(problem, *fault, found);
    }
    if (choosesOps(input.run)) return; // steps differ because ranks choose
    const bool first_is_usual = isOfOneWholeOrder(input) || findFaultsOfOrders(input, found);
    // The first step determines the schedule. If only this step departs, the departure from the other steps was already
    // reported.
    if (!input.run.departure || !first_is_usual) return;
    const Departure& departure = *input.run.departure;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::OrderDeparture;
    anomaly.severity = Severity::Notice; // a custom schedule is not a fault
    anomaly.rank = departure.rank;
    anomaly.op = departure.observed;
    anomaly.evidence = {{"index", static_cast<double>(departure.index)}};
    anomaly.message = say("the order does not match a known schedule: it is closest to {} and deviates at op {} of "
                          "rank {}, which is {} instead of {}.",
                          input.run.closest, departure.index, departure.rank.value, opName(departure.observed),
                          opName(departure.expected));
    anomaly.suggestion = say("If that schedule was intended, check how ranks choose their next op.");
    found.push_back(std::move(anomaly));
}

} // namespace bubblescope
