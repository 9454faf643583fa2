#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

// Communication that compute waits for, within the pipeline and between its end and the optimizer.
namespace bubblescope {
namespace {

/// The cost per step of slow links and starved hosts, which is already reported by their own findings.
TimeNs toldOfLinks(const Anomalies& found) {
    TimeNs told{0};
    for (const Anomaly& anomaly : found) {
        if (anomaly.kind == AnomalyKind::SlowLink || anomaly.kind == AnomalyKind::DegradingLink ||
            anomaly.kind == AnomalyKind::HostStarved)
            told = std::max(told, anomaly.cost);
    }
    return told;
}

struct DearLink {
    Rank from;
    Rank to;
    TimeNs cost{0};
};

/// The link whose transfers cost the step most.
std::optional<DearLink> dearestLink(const StepTimeline& step, StepCosts& costs) {
    std::set<std::pair<Rank, Rank>> links;
    for (std::size_t r = 0; r < step.comm.size(); ++r) {
        for (const CommSpan& span : step.comm[r]) {
            if (span.kind == CommKind::Send && span.peer != Rank{r}) links.emplace(Rank{r}, span.peer);
            if (span.kind == CommKind::Receive && span.peer != Rank{r}) links.emplace(span.peer, Rank{r});
        }
    }
    constexpr std::size_t kMostLinks = 64; // because each is replayed
    std::optional<DearLink> dearest;
    for (const auto& [from, to] : links) {
        if (links.size() > kMostLinks) break;
        const TimeNs cost = costs.savedByLink(from, to, TimeNs{0});
        if (!dearest || cost > dearest->cost) dearest = DearLink{from, to, cost};
    }
    return dearest;
}

TimeNs insideOps(const StepTimeline& step) {
    TimeNs longest{0};
    for (const auto& ops : step.ranks) {
        TimeNs sum{0};
        for (const TimelineOp& op : ops)
            sum += step.detailsOf(op).exposed_comm;
        longest = std::max(longest, sum);
    }
    return longest;
}

} // namespace

void findExposedCommunication(const AnomalyInput& input, Anomalies& found) {
    if (input.communication.empty()) return;
    const TimeNs told = toldOfLinks(found);
    Cases cases;
    std::vector<double> shares;
    for (std::size_t s = 0; s < input.communication.size(); ++s) {
        const TimeNs cost = input.communication[s] - told;
        shares.push_back(input.fraction(cost, s));
        if (shares.back() >= input.limits.exposed_comm && cost > input.clocks.bound()) cases.add(s, cost);
    }
    if (cases.empty() || statistics::median(shares) < input.limits.exposed_comm) return;
    const std::size_t typical = input.typicalStep();
    const StepTimeline& step = input.run.steps[typical];
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::ExposedCommunication;
    input.setSeen(anomaly, cases);
    anomaly.cost = input.communication[typical] - told;
    if (!input.worthReporting(anomaly.cost, typical)) return;
    anomaly.severity = input.severityOf(anomaly.cost, typical);
    StepCosts costs(step, input.knownOf(typical));
    const TimeNs activations = costs.savedByPayload(Payload::Activation);
    const TimeNs gradients = costs.savedByPayload(Payload::Gradient);
    const TimeNs inside = insideOps(step);
    anomaly.evidence = {{"exposed_share", statistics::median(shares)},
                        {"activations_ns", static_cast<double>(activations.count())},
                        {"gradients_ns", static_cast<double>(gradients.count())},
                        {"inside_ops_ns", static_cast<double>(inside.count())}};
    anomaly.message = say("compute waits for communication; without these waits a step would be {} shorter ({:.1f} %).",
                          formatTime(anomaly.cost), 100 * input.fraction(anomaly.cost, typical));
    if (activations > TimeNs{0} || gradients > TimeNs{0})
        anomaly.message +=
            say(" Without activation transfers a step would be {} shorter; without gradient transfers, {}.",
                formatTime(std::max(TimeNs{0}, activations)), formatTime(std::max(TimeNs{0}, gradients)));
    if (inside > TimeNs{0})
        anomaly.message += say(" Collectives inside ops take up to {} per rank.", formatTime(inside));
    if (const auto link = dearestLink(step, costs); link && input.worthReporting(link->cost, typical)) {
        anomaly.evidence.emplace_back("link_from", static_cast<double>(link->from.value));
        anomaly.evidence.emplace_back("link_to", static_cast<double>(link->to.value));
        anomaly.evidence.emplace_back("link_ns", static_cast<double>(link->cost.count()));
        anomaly.message += say(" The most expensive link is from rank {} to rank {} ({}).", link->from.value,
                               link->to.value, formatTime(link->cost));
    }
    anomaly.suggestion =
        say("Overlap transfers with compute (post receives early, send without waiting, use a separate stream), keep "
            "neighbouring stages on one host, or send less: fewer chunks, lower precision.");
    found.push_back(std::move(anomaly));
}

void findGradientExchange(const AnomalyInput& input, Anomalies& found) {
    struct OfNumber {
        TimeNs end{TimeNs::min()};       ///< of the last pipeline
        TimeNs optimizer{TimeNs::max()}; ///< the first one's start
        bool all = true;                 ///< every rank has an optimizer after the pipeline
        std::size_t step = 0;            ///< the longest one, as an index into the run's steps
    };
    std::map<int, OfNumber> numbers;
    for (std::size_t s = 0; s < input.run.steps.size(); ++s) {
        const StepTimeline& step = input.run.steps[s];
        OfNumber& number = numbers.try_emplace(step.index).first->second;
        if (number.end == TimeNs::min() || input.wall(s) > input.wall(number.step)) number.step = s;
        number.end = std::max(number.end, step.end);
        for (const auto& ops : step.ranks) {
            const bool has = !ops.empty() && ops.back().op.kind == OpKind::Optimizer;
            number.all = number.all && has;
            if (has) number.optimizer = std::min(number.optimizer, ops.back().start);
        }
    }
    Cases cases;
    std::vector<double> shares;
    for (const auto& [index, number] : numbers) {
        if (!number.all) return;
        const TimeNs gap = number.optimizer - number.end;
        // As a fraction of the pipeline and what follows it.
        const auto whole = static_cast<double>((input.wall(number.step) + gap).count());
        shares.push_back(gap > TimeNs{0} && whole > 0 ? static_cast<double>(gap.count()) / whole : 0);
        if (shares.back() >= input.limits.gradient_exchange && gap > input.clocks.bound()) cases.add(number.step, gap);
    }
    if (cases.empty() || statistics::median(shares) < input.limits.gradient_exchange) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::GradientExchange;
    input.setSeen(anomaly, cases);
    anomaly.severity = Severity::Warning;
    anomaly.evidence = {{"exchange_ns", static_cast<double>(anomaly.cost.count())},
                        {"exchange_share", statistics::median(shares)}};
    anomaly.message = say("the gradient exchange takes {} ({:.1f} % of pipeline plus exchange): no rank computes "
                          "between the pipeline's end and the optimizers' start.",
                          formatTime(anomaly.cost), 100 * statistics::median(shares));
    anomaly.suggestion = say("Exchange gradients in buckets as soon as a stage has finished its last backward: the "
                             "exchange then fits into the cool-down bubbles.");
    found.push_back(std::move(anomaly));
}

} // namespace bubblescope
