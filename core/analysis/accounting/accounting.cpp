#include "core/analysis/accounting/accounting.h"

#include "core/analysis/accounting/step_parts.h"
#include "core/base/parallel.h"
#include "core/recognise/lost_records.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

// The waterfall. A step is replayed repeatedly, each time with one more cause, from the ideal step (planned order,
// typical times, free transfers) to the observed step. A cause adds the difference between two consecutive replays to a
// rank's bubble, so the causes always sum to the observed bubble. The rest, which cannot be replayed, is the last
// difference,
// Cause::Unknown.
namespace bubblescope {
namespace {

class Waterfall {
public:
    Waterfall(const StepTimeline& step, const ObservedStep& observed, const StepReplay& replay,
              const PlannedReplay& planned, const UnitTimes& usual)
        : step_(step), graph_(observed.graph), parts_(observed, usual), replay_(replay), planned_(planned) {
        for (std::size_t c = 0; c < kCauseCount; ++c)
            present_[c] = parts_.has(static_cast<Cause>(c));
        present_.set(indexOf(Cause::Order), planned_.replay.has_value());
        present_.set(indexOf(Cause::Unknown));
    }

    StepAccounting account() {
        StepAccounting result;
        result.planned_order = planned_.fits;
        result.recorded_transfers = graph_.recorded_transfers;
        result.estimated_transfers = graph_.estimated_transfers;
        result.ignored_inputs = graph_.ignored_inputs;
        result.early_starts = std::ranges::count_if(graph_.delay, [](TimeNs delay) { return delay < TimeNs{0}; });
        readCompute(result);
        climb(result);
        crossEffects(result);
        return result;
    }

private:
    void readCompute(StepAccounting& result) const {
        std::vector<RankAccounting>& ranks = result.ranks.edit();
        ranks.resize(step_.ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r)
            ranks[r].rank = Rank{r};
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            const auto rank = StepGraph::at(graph_.rank[unit]);
            RankAccounting& account = ranks[rank];
            const auto kind = static_cast<std::size_t>(graph_.kind[unit]);
            const OpParts parts = parts_.ofOp(unit);
            (graph_.pair[unit] ? account.overlapped : account.compute[kind]) += parts_.onDevice()[unit];
            account.causes[indexOf(Cause::Gaps)] += parts.gaps;
            account.causes[indexOf(Cause::Communication)] += parts.exposed;
        }
        for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
            ranks[r].compute[static_cast<std::size_t>(OpKind::Optimizer)] +=
                trailingIn(r, graph_.wall, [this](UnitIndex unit) { return observedEnd(unit); });
        }
    }

    /// The time of a rank's trailing ops within a step of this length.
    template <class EndOf>
    [[nodiscard]] TimeNs trailingIn(std::size_t rank, TimeNs length, EndOf end) const {
        const UnitIndex last = graph_.last[rank];
        const TimeNs origin = last == kNoUnit ? TimeNs{0} : end(last);
        TimeNs inside{0};
        for (const TrailingOp& op : graph_.trailing[rank])
            inside += std::min(length, origin + op.after + op.duration) - std::min(length, origin + op.after);
        return inside;
    }

    /// The step replayed with some causes.
    struct Replayed {
        TimeNs length{0};
        std::span<const TimeNs> durations;
    };
    Replayed run(Causes causes) {
        const StepReplay& order = planned_.replay && !causes[indexOf(Cause::Order)] ? *planned_.replay : replay_;
        Replayed step{{}, parts_.durations(causes)};
        step.length = order.run({step.durations, parts_.transfers(causes), parts_.delays(causes), graph_.holds}, ends_);
        return step;
    }

    /// Idle time per rank, for a step with this length, durations and ends.
    template <class EndOf>
    [[nodiscard]] std::vector<TimeNs> idle(std::span<const TimeNs> durations, TimeNs length, EndOf end) const {
        std::vector<TimeNs> idle(step_.ranks.size(), length);
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit)
            idle[StepGraph::at(graph_.rank[unit])] -= durations[unit];
        for (std::size_t r = 0; r < idle.size(); ++r)
            idle[r] -= trailingIn(r, length, end);
        return idle;
    }
    /// Idle time in the latest replay.
    [[nodiscard]] std::vector<TimeNs> idle(const Replayed& step) const {
        return idle(step.durations, step.length, [this](UnitIndex unit) { return ends_[unit]; });
    }
    [[nodiscard]] TimeNs observedEnd(UnitIndex unit) const { return graph_.end[StepGraph::at(unit)]; }

    /// If all of a step ran faster than usual, its replayed length may exceed the observed one. In this case, scales
    /// the replay down and returns true.
    bool capAtObserved(TimeNs& length, std::vector<TimeNs>& idle) const {
        if (length <= graph_.wall) return false;
        const double pace = static_cast<double>(graph_.wall.count()) / static_cast<double>(length.count());
        for (TimeNs& of_rank : idle)
            of_rank = TimeNs{std::llround(static_cast<double>(of_rank.count()) * pace)};
        length = graph_.wall;
        return true;
    }

    void climb(StepAccounting& result) {
        Causes causes;
        const Replayed ideal = run(causes);
        TimeNs length = replayed_[0] = ideal.length;
        std::vector<TimeNs> before = idle(ideal);
        bool capped = capAtObserved(length, before);
        result.ideal = length;
        std::vector<RankAccounting>& ranks = result.ranks.edit();
        for (std::size_t r = 0; r < before.size(); ++r)
            ranks[r].causes[indexOf(Cause::Schedule)] = before[r];
        for (std::size_t c = indexOf(Cause::Imbalance); c < kCauseCount; ++c) {
            WaterfallStep& entry = result.waterfall[c - 1];
            entry.cause = static_cast<Cause>(c);
            replayed_[c] = replayed_[c - 1];
            if (!present_[c]) continue;
            causes.set(c);
            TimeNs next = graph_.wall;
            std::vector<TimeNs> now;
            if (entry.cause == Cause::Unknown) {
                now = idle(parts_.asObserved(), next, [this](UnitIndex unit) { return observedEnd(unit); });
            } else {
                const Replayed step = run(causes);
                next = replayed_[c] = step.length;
                now = idle(step);
                capped = capped && capAtObserved(next, now);
            }
            entry.adds = next - std::exchange(length, next);
            for (std::size_t r = 0; r < now.size(); ++r)
                ranks[r].causes[c] += now[r] - before[r];
            before = std::move(now);
        }
    }

    void crossEffects(StepAccounting& result) {
        const TimeNs replayed = replayed_[indexOf(Cause::Unknown) - 1]; // with all causes except Unknown
        std::size_t first = kCauseCount;
        std::size_t last = 0;
        for (std::size_t c = indexOf(Cause::Imbalance); c < indexOf(Cause::Unknown); ++c) {
            if (!present_[c]) continue;
            first = std::min(first, c);
            last = c;
        }
        for (std::size_t c = first; c <= last; ++c) {
            if (!present_[c]) continue;
            WaterfallStep& entry = result.waterfall[c - 1];
            // The waterfall already contains the step with the first cause alone, and the step without the last cause.
            entry.alone = (c == first ? replayed_[c] : run(Causes{}.set(c)).length) - replayed_[0];
            entry.without = replayed - (c == last ? replayed_[c - 1] : run(Causes(present_).reset(c)).length);
        }
        result.waterfall.back().alone = result.waterfall.back().without = result.waterfall.back().adds;
    }

    const StepTimeline& step_;
    const StepGraph& graph_;
    StepParts parts_;
    const StepReplay& replay_; ///< in the observed order
    const PlannedReplay& planned_;
    TaskTimes ends_;              ///< of the latest replay
    PerCause<TimeNs> replayed_{}; ///< length of the step with all causes up to each
    Causes present_;              ///< causes that can make a difference
};

/// True if each rank ran its ops in the plan's order: the usual case, which is cheap to detect.
bool ranAs(const StepTimeline& step, const Schedule& plan) {
    const auto works = [](const Op& op) { return op.kind != OpKind::Optimizer; };
    if (plan.ranks.size() != step.ranks.size() || plan.placement != step.placement || plan.vpp != step.vpp)
        return false;
    std::atomic<bool> as_planned{true};
    parallelGroups(plan.ranks.size(), plan.opCount(), [&](std::size_t r) {
        if (!as_planned) return;
        auto due = plan.ranks[r].begin();
        const auto end = plan.ranks[r].end();
        for (const TimelineOp& ran : step.ranks[r]) {
            if (!works(ran.op)) continue;
            due = std::find_if(due, end, works);
            if (due == end || *due != ran.op) {
                as_planned = false;
                return;
            }
            ++due;
        }
        if (std::find_if(due, end, works) != end) as_planned = false;
    });
    return as_planned;
}

} // namespace

TimeNs RankAccounting::total() const {
    const TimeNs work = std::accumulate(compute.begin(), compute.end(), overlapped);
    return std::accumulate(causes.begin(), causes.end(), work);
}

PlannedReplay::PlannedReplay(const StepTimeline& step, const StepGraph& graph, const Schedule* plan) {
    if (plan == nullptr || ranAs(step, *plan)) return;
    const auto order = graph.orderBy(*plan);
    fits = order.has_value();
    if (!order) return;
    std::vector<UnitIndex> before(graph.last.size(), kNoUnit);
    const bool same = std::ranges::all_of(*order, [&](UnitIndex unit) {
        const auto rank = StepGraph::at(graph.rank[StepGraph::at(unit)]);
        return graph.previous(StepGraph::at(unit)) == std::exchange(before[rank], unit);
    });
    if (!same) replay.emplace(graph, *order);
}

StepAccounting accountStep(const StepTimeline& step, const ObservedStep& observed, const StepReplay& replay,
                           const PlannedReplay& planned, const UnitTimes& usual) {
    return Waterfall(step, observed, replay, planned, usual).account();
}

namespace {

double fractionInPlace(const Schedule& plan, const Schedule& ran) {
    const OpGraph graph(plan);
    std::size_t in_place = 0;
    for (std::size_t r = 0; r < ran.ranks.size(); ++r) {
        const auto& ops = ran.ranks[r];
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (!graph.inRange(ops[i]) || ops[i].kind == OpKind::Optimizer) continue;
            const OpIndex found =
                graph.find(ops[i].kind, ops[i].microbatch, ran.stageOf(Rank{r}, ops[i].chunk), ops[i].sequence);
            if (found < 0) continue;
            const OpIndex before = graph.previous(found);
            in_place += (before == kNoOp ? i == 0 : i > 0 && graph.op(before) == ops[i - 1]) ? 1U : 0U;
        }
    }
    return static_cast<double>(in_place) / static_cast<double>(std::max<std::size_t>(ran.opCount(), 1));
}

} // namespace

StepKnowledge knownOfSteps(const Run& run, TimeNs clock_error) {
    // Where stages move, ranks wait for weights, which traces do not record.
    const bool lost =
        run.schedule.placement == Placement::Moving || std::ranges::any_of(run.problems, meansLostRecords);
    return {clock_error, lost, {}};
}

const Schedule& plannedOrder(const Run& run) {
    if (!run.departure || !run.closest_order) return run.schedule;
    return fractionInPlace(*run.closest_order, run.schedule) >= kDepartureFraction ? *run.closest_order : run.schedule;
}

std::vector<Sentence> accountingNotes(const StepAccounting& account) {
    std::vector<Sentence> notes;
    if (account.estimated_transfers > 0) {
        notes.push_back(say("{} of {} transfers were not recorded: each is assumed to take its link's shortest lag, "
                            "and any further delay counts as a late start",
                            account.estimated_transfers, account.estimated_transfers + account.recorded_transfers));
    }
    if (!account.planned_order)
        notes.push_back(say("the step's ops do not match the schedule; using the step's own order as the plan"));
    if (account.early_starts > 0) {
        notes.push_back(
            say("{} ops began before their input arrived, according to the trace: clocks or records are inconsistent",
                account.early_starts));
    }
    return notes;
}

} // namespace bubblescope
