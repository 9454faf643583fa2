#include "runtime/adapt/order_adapter.h"

#include "core/base/job.h"
#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr std::size_t kSteps = 4;      ///< steps that are remembered
constexpr std::size_t kFewest = 2;     ///< steps before the first change
constexpr double kWorthwhile = 0.015;  ///< minimum mean gain of a change; no remembered step may become longer
constexpr double kNewTimes = 0.05;     ///< change of a mean time that is worth a new search
constexpr double kNamedSlowdown = 0.1; ///< minimum slowdown of a rank that is named as a cause

/// The order with every backward as an input gradient and a weight gradient. The runtime computes a whole backward in
/// the same two parts, so results do not change.
Schedule withSplitBackwards(const Schedule& whole) {
    Schedule split = whole;
    for (std::vector<Op>& ops : split.ranks) {
        std::vector<Op> parts;
        for (const Op& op : ops) {
            parts.push_back(op);
            if (op.kind != OpKind::Backward) continue;
            parts.back().kind = OpKind::BackwardInput;
            parts.emplace_back(OpKind::BackwardWeight, op.microbatch, op.chunk, op.sequence);
        }
        ops = std::move(parts);
    }
    return split;
}

/// True if the search can order the ops of a schedule: one pipeline, whole sequences, no pairs.
bool isSearchable(const Schedule& schedule) {
    return routes(schedule.placement) == 1 && std::ranges::none_of(schedule.ranks, [](const std::vector<Op>& ops) {
               return std::ranges::any_of(ops, [](const Op& op) { return op.overlapped || op.sequence > 0; });
           });
}

struct Mean {
    TimeNs sum{0};
    std::int64_t count = 0;
    void add(TimeNs time) {
        sum += time;
        ++count;
    }
    [[nodiscard]] TimeNs value() const { return count == 0 ? TimeNs{0} : sum / count; }
};

double fractionAbove(TimeNs time, TimeNs usual) {
    if (usual <= TimeNs{0}) return time > TimeNs{0} ? 1 : 0;
    return static_cast<double>((time - usual).count()) / static_cast<double>(usual.count());
}

/// The input gradient's share of a backward's time.
double inputShare(const CostModel& nominal, Stage stage) {
    const TimeNs whole = nominal.opTime(OpKind::Backward, stage);
    const TimeNs input = nominal.opTime(OpKind::BackwardInput, stage);
    return whole > TimeNs{0} && input > TimeNs{0} ? std::min(1.0, 1 + fractionAbove(input, whole)) : 0.5;
}

TimeNs scaled(TimeNs time, double share) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * share)};
}

/// The measured times of a step. Ops that were not run, because backwards were whole or were split, get the same times.
CostModel measuredIn(const StepTimeline& step, const CostModel& nominal) {
    auto times = std::make_shared<MeasuredTimes>(MeasuredTimes::of(step));
    for (int r = 0; r < step.pp; ++r) {
        for (const TimelineOp& done : step.ranks[Rank{r}.index()]) {
            Op op = done.op;
            if (op.overlapped) continue;
            const double share = inputShare(nominal, step.stageOf(Rank{r}, op.chunk));
            if (op.kind == OpKind::Backward) {
                op.kind = OpKind::BackwardInput;
                times->setOp(Rank{r}, op, scaled(done.duration(), share));
                op.kind = OpKind::BackwardWeight;
                times->setOp(Rank{r}, op, done.duration() - scaled(done.duration(), share));
            } else if (op.kind == OpKind::BackwardInput && share > 0) {
                op.kind = OpKind::Backward;
                times->setOp(Rank{r}, op, scaled(done.duration(), 1 / share));
            }
        }
    }
    CostModel costs = nominal;
    costs.measured = std::move(times);
    return costs;
}

/// The mean op times of each stage, and the mean latency of each link.
CostModel meanOf(const std::deque<StepTimeline>& steps, const CostModel& nominal) {
    std::map<std::pair<Stage, OpKind>, Mean> ops;
    std::map<std::pair<Rank, Rank>, Mean> links;
    const StepTimeline& shape = steps.front();
    for (const StepTimeline& step : steps) {
        for (int r = 0; r < step.pp; ++r) {
            for (const TimelineOp& op : step.ranks[Rank{r}.index()])
                ops[{step.stageOf(Rank{r}, op.op.chunk), op.op.kind}].add(op.duration());
            for (const CommSpan& span : step.comm[Rank{r}.index()]) {
                if (span.kind == CommKind::Receive) links[{span.peer, Rank{r}}].add(span.end - span.start);
            }
        }
    }
    CostModel costs = nominal;
    costs.stages.clear();
    for (int s = 0; s < shape.pp * shape.vpp; ++s) {
        const auto of = [&](OpKind kind) { return ops[{Stage{s}, kind}].value(); };
        OpTimes times{of(OpKind::Forward), of(OpKind::Backward), of(OpKind::BackwardInput), of(OpKind::BackwardWeight),
                      TimeNs{0}};
        const TimeNs halves = times.input_grad + times.weight_grad;
        if (times.backward == TimeNs{0}) times.backward = halves;
        if (halves == TimeNs{0}) {
            times.input_grad = scaled(times.backward, inputShare(nominal, Stage{s}));
            times.weight_grad = times.backward - times.input_grad;
        }
        costs.stages.push_back(times);
    }
    costs.transfers.links.clear();
    for (const auto& [ranks, latency] : links)
        costs.transfers.links.push_back({ranks.first, ranks.second, latency.value(), std::nullopt});
    return costs;
}

/// True if a time of the new model differs enough to search again.
bool differ(const CostModel& old_times, const CostModel& new_times) {
    const auto far = [](TimeNs a, TimeNs b) { return std::abs(fractionAbove(a, b)) > kNewTimes; };
    for (std::size_t s = 0; s < new_times.stages.size(); ++s) {
        if (far(new_times.stages[s].forward, old_times.stages[s].forward)) return true;
        if (far(new_times.stages[s].backward, old_times.stages[s].backward)) return true;
    }
    const auto latency = [](const Link& link) { return link.latency.value_or(TimeNs{0}); };
    return old_times.transfers.links.size() != new_times.transfers.links.size() ||
           !std::ranges::equal(old_times.transfers.links, new_times.transfers.links,
                               [&](const Link& a, const Link& b) { return !far(latency(b), latency(a)); });
}

std::optional<Schedule> searched(const Schedule& original, const CostModel& costs, int limit, std::stop_token stop) {
    SearchRequest request;
    request.pp = original.pp;
    request.microbatches = original.microbatches;
    request.vpp = original.vpp;
    request.placements = {original.placement};
    request.costs = costs;
    request.activations = {limit};
    request.rounds = 2;
    request.effort = 400'000;
    request.threads = 1;
    JobControl control;
    control.stop = std::move(stop);
    Result<FoundOrder> found = searchOrder(request, control);
    if (!found.ok()) return std::nullopt;
    return std::move(found.value().schedule);
}

/// The rank that slows the run most; if no rank does, the link.
std::string causeIn(const CostModel& mean, const CostModel& nominal, const StepTimeline& shape) {
    double slowest = kNamedSlowdown;
    std::string cause = "times vary";
    for (int s = 0; s < shape.pp * shape.vpp; ++s) {
        const auto work = [&](const CostModel& costs) {
            return costs.opTime(OpKind::Forward, Stage{s}) + costs.opTime(OpKind::Backward, Stage{s});
        };
        const double above = fractionAbove(work(mean), work(nominal));
        if (work(nominal) <= TimeNs{0} || above <= slowest) continue;
        slowest = above;
        cause = fmt::format("rank {} takes {:.2f} × its expected time",
                            locate(shape.placement, shape.pp, Stage{s}).rank.value, 1 + above);
    }
    if (slowest > kNamedSlowdown) return cause;
    const TimeNs unit = mean.stages.front().forward;
    for (const Link& link : mean.transfers.links) {
        const TimeNs late = link.latency.value_or(TimeNs{0}) - nominal.comm;
        const double above = fractionAbove(late + unit, unit);
        if (above <= slowest) continue;
        slowest = above;
        cause =
            fmt::format("transfers from rank {} to {} are {} late", link.from.value, link.to.value, formatTime(late));
    }
    return cause;
}

TimeNs meanOf(const std::vector<TimeNs>& times) {
    return std::accumulate(times.begin(), times.end(), TimeNs{0}) / static_cast<std::int64_t>(times.size());
}

/// True if a change is worthwhile. The run returns to the original order as soon as that costs nothing on average, so
/// an order that was only shorter by chance is not kept.
bool isBetter(const std::vector<TimeNs>& candidate, const std::vector<TimeNs>& current, bool original) {
    if (candidate.empty()) return false;
    if (original) return meanOf(candidate) <= meanOf(current);
    if (fractionAbove(meanOf(candidate), meanOf(current)) > -kWorthwhile) return false;
    return std::ranges::equal(candidate, current, [](TimeNs a, TimeNs b) { return a <= b; });
}

} // namespace

OrderAdapter::OrderAdapter(RunOrder original, CostModel nominal, bool waits)
    : nominal_(std::move(nominal)), waits_(waits),
      limit_(original.dispatch.in_flight.value_or(std::ranges::max(peakActivations(original.schedule)))) {
    const Schedule schedule = original.schedule;
    candidates_.push_back({"original", std::move(original)});
    for (const DispatchRule rule : {DispatchRule::Ready, DispatchRule::Backward, DispatchRule::Oldest}) {
        const std::string name = fmt::format("dispatch {}", dispatchRuleName(rule));
        candidates_.push_back({name, {schedule, {rule, limit_}}});
        if (isSearchable(schedule))
            candidates_.push_back({name + ", backwards split", {withSplitBackwards(schedule), {rule, limit_}}});
    }
    unsearched_ = candidates_.size();
}

OrderAdapter::~OrderAdapter() {
    stop_.request_stop();
    if (searching_.valid()) searching_.wait();
}

std::optional<RunOrder> OrderAdapter::learn(const StepTimeline& step) {
    last_.push_back(step);
    if (last_.size() > kSteps) last_.pop_front();
    if (last_.size() < kFewest) return std::nullopt;
    const CostModel mean = meanOf(last_, nominal_);
    search(mean);
    return choose(step.index, mean);
}

void OrderAdapter::search(const CostModel& mean) {
    const Schedule& original = candidates_.front().order.schedule;
    if (!isSearchable(original)) return;
    if (!searching_.valid() && (!searched_for_ || differ(*searched_for_, mean))) {
        searched_for_ = mean;
        searching_ = std::async(std::launch::async, [original, mean, limit = limit_, stop = stop_.get_token()] {
            return searched(original, mean, limit, stop);
        });
    }
    if (!searching_.valid()) return;
    if (!waits_ && searching_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    std::optional<Schedule> found = searching_.get();
    if (!found) return;
    // Keeps the current order, and removes the other orders that were searched for earlier times.
    if (current_ >= unsearched_) {
        std::swap(candidates_[unsearched_], candidates_[current_]);
        current_ = unsearched_;
    }
    candidates_.resize(std::max(unsearched_, current_ + 1), candidates_.front());
    candidates_.push_back({"searched", {*found, {}}});
    candidates_.push_back({"searched, dispatch ready", {std::move(*found), {DispatchRule::Ready, limit_}}});
}

std::vector<TimeNs> OrderAdapter::makespans(const RunOrder& order) const {
    std::vector<TimeNs> times;
    for (const StepTimeline& step : last_) {
        const CostModel costs = measuredIn(step, nominal_);
        Result<Schedule> executed =
            order.dispatch.dynamic() ? dispatched(order.schedule, costs, order.dispatch) : order.schedule;
        if (!executed.ok()) return {};
        const Result<StepTimeline> simulated = simulate(executed.value(), costs);
        if (!simulated.ok()) return {};
        times.push_back(simulated.value().wall());
    }
    return times;
}

std::optional<RunOrder> OrderAdapter::choose(int step, const CostModel& mean) {
    const std::vector<TimeNs> now = makespans(candidates_[current_].order);
    if (now.empty()) return std::nullopt;
    std::size_t best = current_;
    std::vector<TimeNs> shortest = now;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
        const std::vector<TimeNs> times = makespans(candidates_[c].order);
        if (c == current_ || !isBetter(times, now, c == 0) || meanOf(times) > meanOf(shortest)) continue;
        best = c;
        shortest = times;
    }
    if (best == current_) return std::nullopt;
    current_ = best;
    changes_.push_back(
        {step, causeIn(mean, nominal_, last_.back()), candidates_[best].name, meanOf(now), meanOf(shortest)});
    return candidates_[best].order;
}

} // namespace bubblescope::runtime
