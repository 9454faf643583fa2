// The ladder. A step is replayed again and again, each time with one cause more, from the ideal step (planned order,
// typical times, free transfers) to the step as it was. What a cause adds to a rank's bubble is the difference between
// two neighbouring replays, so that the causes sum to the observed bubble whatever they are. What cannot be replayed is
// the last difference, Cause::Unknown.

#include "core/diagnose/accounting/accounting.h"

#include "core/diagnose/accounting/delay_parts.h"
#include "core/diagnose/accounting/replay.h"

#include <algorithm>
#include <bitset>
#include <numeric>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t indexOf(Cause cause) {
    return static_cast<std::size_t>(cause);
}

/// Which causes a replay has.
using Causes = std::bitset<kCauseCount>;

class Ladder {
public:
    Ladder(const StepTimeline& step, const StepGraph& graph, const UsualTimes& usual, const AccountingInput& input)
        : step_(step), graph_(graph), delays_(splitDelays(step, graph, input)) {
        readDurations(usual);
        readOrder(input.plan);
        present_.set();
        const auto differ = [](const std::vector<TimeNs>& a, const std::vector<TimeNs>& b) { return a != b; };
        present_[indexOf(Cause::Imbalance)] = differ(typical_, usual_);
        present_[indexOf(Cause::Jitter)] = differ(usual_, on_device_);
        present_[indexOf(Cause::Gaps)] = differ(on_device_, observed_);
        present_[indexOf(Cause::Communication)] =
            graph.recorded_transfers + graph.estimated_transfers > 0 || !delays_.communication.empty();
        present_[indexOf(Cause::Order)] = !planned_.empty();
        present_[indexOf(Cause::Peer)] = !delays_.peer.empty();
        present_[indexOf(Cause::Replay)] = !delays_.replay.empty();
        present_[indexOf(Cause::LateStart)] = !delays_.late.empty();
    }

    StepAccounting account() {
        StepAccounting result;
        result.planned_order = plan_fits_;
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
    void readDurations(const UsualTimes& usual) {
        for (std::vector<TimeNs>* list : {&typical_, &usual_, &on_device_, &observed_})
            list->resize(graph_.rank.size());
        for (UnitIndex unit = 0; unit < graph_.size(); ++unit) {
            const std::size_t i = StepGraph::at(unit);
            const Rank rank{graph_.rank[i]};
            const auto first = StepGraph::at(graph_.op[i]);
            const auto& ops = step_.ranks[rank.index()];
            const UsualTimes::Times times = usual.of(rank, ops, first);
            TimeNs idle = ops[first].device_idle;
            if (graph_.pair[i]) idle = std::min(idle, ops[first + 1].device_idle);
            typical_[i] = std::max(TimeNs{0}, times.typical);
            usual_[i] = std::max(TimeNs{0}, times.usual);
            observed_[i] = graph_.duration(unit);
            on_device_[i] = observed_[i] - std::clamp(idle, TimeNs{0}, observed_[i]);
        }
    }

    /// Leaves `planned_` empty where the step ran as planned, or cannot be compared.
    void readOrder(const Schedule* plan) {
        if (plan == nullptr || ranAs(*plan)) return;
        auto order = graph_.orderBy(*plan);
        plan_fits_ = order.has_value();
        if (!order) return;
        std::vector<UnitIndex> before(graph_.last.size(), kNoUnit);
        const bool same = std::ranges::all_of(*order, [&](UnitIndex unit) {
            const auto rank = StepGraph::at(graph_.rank[StepGraph::at(unit)]);
            return graph_.previous[StepGraph::at(unit)] == std::exchange(before[rank], unit);
        });
        if (!same) planned_ = std::move(*order);
    }

    /// Whether each rank ran its ops in the plan's order; the usual case, and the cheap one to tell.
    [[nodiscard]] bool ranAs(const Schedule& plan) const {
        const auto works = [](const Op& op) { return op.kind != OpKind::Optimizer; };
        if (plan.ranks.size() != step_.ranks.size() || plan.placement != step_.placement || plan.vpp != step_.vpp)
            return false;
        for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
            auto due = plan.ranks[r].begin();
            const auto end = plan.ranks[r].end();
            for (const TimelineOp& ran : step_.ranks[r]) {
                if (!works(ran.op)) continue;
                due = std::find_if(due, end, works);
                if (due == end || *due != ran.op) return false;
                ++due;
            }
            if (std::find_if(due, end, works) != end) return false;
        }
        return true;
    }

    void readCompute(StepAccounting& result) const {
        for (std::size_t r = 0; r < step_.ranks.size(); ++r)
            result.ranks.emplace_back().rank = Rank{r};
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            const auto rank = StepGraph::at(graph_.rank[unit]);
            RankAccounting& account = result.ranks[rank];
            const OpKind kind = step_.ranks[rank][StepGraph::at(graph_.op[unit])].op.kind;
            (graph_.pair[unit] ? account.overlapped : account.compute[static_cast<std::size_t>(kind)]) +=
                on_device_[unit];
            account.causes[indexOf(Cause::Gaps)] += observed_[unit] - on_device_[unit];
        }
        for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
            result.ranks[r].compute[static_cast<std::size_t>(OpKind::Optimizer)] +=
                trailingIn(r, graph_.end, graph_.wall);
        }
    }

    /// How long a rank's trailing ops ran within a step of this length.
    [[nodiscard]] TimeNs trailingIn(std::size_t rank, const std::vector<TimeNs>& ends, TimeNs length) const {
        const UnitIndex last = graph_.last[rank];
        const TimeNs origin = last == kNoUnit ? TimeNs{0} : ends[StepGraph::at(last)];
        TimeNs inside{0};
        for (const TrailingOp& op : graph_.trailing[rank])
            inside += std::min(length, origin + op.after + op.duration) - std::min(length, origin + op.after);
        return inside;
    }

    void makeDurations(Causes causes) {
        durations_.resize(observed_.size());
        const auto has = [&](Cause cause) { return causes[indexOf(cause)]; };
        if (!has(Cause::Imbalance) && !has(Cause::Jitter) && !has(Cause::Gaps)) {
            durations_ = typical_;
        } else if (has(Cause::Imbalance) && has(Cause::Jitter)) {
            durations_ = has(Cause::Gaps) ? observed_ : on_device_;
        } else {
            for (std::size_t i = 0; i < observed_.size(); ++i) {
                TimeNs time = typical_[i];
                if (has(Cause::Imbalance)) time += usual_[i] - typical_[i];
                if (has(Cause::Jitter)) time += on_device_[i] - usual_[i];
                if (has(Cause::Gaps)) time += observed_[i] - on_device_[i];
                durations_[i] = std::max(TimeNs{0}, time);
            }
        }
    }

    void makeDelays(Causes causes) {
        delay_.clear();
        const std::array<std::pair<Cause, const std::vector<TimeNs>*>, 4> parts{
            {{Cause::Communication, &delays_.communication},
             {Cause::Peer, &delays_.peer},
             {Cause::Replay, &delays_.replay},
             {Cause::LateStart, &delays_.late}}};
        for (const auto& [cause, part] : parts) {
            if (!causes[indexOf(cause)] || part->empty()) continue;
            if (delay_.empty()) {
                delay_ = *part;
                continue;
            }
            for (std::size_t i = 0; i < delay_.size(); ++i)
                delay_[i] += (*part)[i];
        }
    }

    /// The length of the step with these causes; leaves its durations and ends.
    TimeNs run(Causes causes) {
        makeDurations(causes);
        makeDelays(causes);
        const bool planned = !planned_.empty() && !causes[indexOf(Cause::Order)];
        return replay(graph_, planned ? std::span<const UnitIndex>(planned_) : std::span<const UnitIndex>(),
                      {durations_, causes[indexOf(Cause::Communication)] ? &graph_.transfer : nullptr, delay_}, ends_);
    }

    [[nodiscard]] std::vector<TimeNs> idle(const std::vector<TimeNs>& durations, const std::vector<TimeNs>& ends,
                                           TimeNs length) const {
        std::vector<TimeNs> idle(step_.ranks.size(), length);
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit)
            idle[StepGraph::at(graph_.rank[unit])] -= durations[unit];
        for (std::size_t r = 0; r < idle.size(); ++r)
            idle[r] -= trailingIn(r, ends, length);
        return idle;
    }

    void climb(StepAccounting& result) {
        Causes causes;
        TimeNs length = result.ideal = run(causes);
        std::vector<TimeNs> before = idle(durations_, ends_, length);
        for (std::size_t r = 0; r < before.size(); ++r)
            result.ranks[r].causes[indexOf(Cause::Schedule)] = before[r];
        for (std::size_t c = indexOf(Cause::Imbalance); c < kCauseCount; ++c) {
            Rung& rung = result.ladder[c - 1];
            rung.cause = static_cast<Cause>(c);
            if (!present_[c]) continue;
            causes.set(c);
            const bool observed = rung.cause == Cause::Unknown;
            const TimeNs next = observed ? graph_.wall : run(causes);
            std::vector<TimeNs> now = observed ? idle(observed_, graph_.end, next) : idle(durations_, ends_, next);
            rung.adds = next - std::exchange(length, next);
            for (std::size_t r = 0; r < now.size(); ++r)
                result.ranks[r].causes[c] += now[r] - before[r];
            before = std::move(now);
        }
        replayed_ = graph_.wall - result.ladder.back().adds;
    }

    void crossEffects(StepAccounting& result) {
        const Causes all = present_;
        for (std::size_t c = indexOf(Cause::Imbalance); c < indexOf(Cause::Unknown); ++c) {
            if (!present_[c]) continue;
            Rung& rung = result.ladder[c - 1];
            rung.alone = c == indexOf(Cause::Imbalance) ? rung.adds : run(Causes{}.set(c)) - result.ideal;
            rung.without = replayed_ - run(Causes(all).reset(c));
        }
        result.ladder.back().alone = result.ladder.back().without = result.ladder.back().adds;
    }

    const StepTimeline& step_;
    const StepGraph& graph_;
    DelayParts delays_;
    std::vector<TimeNs> typical_;
    std::vector<TimeNs> usual_;
    std::vector<TimeNs> on_device_; ///< observed, without gaps
    std::vector<TimeNs> observed_;
    std::vector<UnitIndex> planned_;
    bool plan_fits_ = true;
    Causes present_;     ///< those that can make a difference
    TimeNs replayed_{0}; ///< the step with all causes but the unknown

    std::vector<TimeNs> durations_; ///< of the latest replay
    std::vector<TimeNs> delay_;     ///< the same
    std::vector<TimeNs> ends_;      ///< the same
};

} // namespace

std::string_view causeName(Cause cause) {
    switch (cause) {
    case Cause::Schedule: return "the schedule's own bubble";
    case Cause::Imbalance: return "imbalance between stages";
    case Cause::Jitter: return "jitter and stragglers";
    case Cause::Gaps: return "gaps inside ops";
    case Cause::Communication: return "exposed communication";
    case Cause::Order: return "order departures";
    case Cause::Peer: return "blocked by the peer";
    case Cause::Replay: return "replayed work";
    case Cause::LateStart: return "late starts";
    case Cause::Unknown: return "unknown";
    }
    return "";
}

std::string_view causeKey(Cause cause) {
    switch (cause) {
    case Cause::Schedule: return "schedule_bubble";
    case Cause::Imbalance: return "imbalance";
    case Cause::Jitter: return "jitter";
    case Cause::Gaps: return "gaps_inside_ops";
    case Cause::Communication: return "exposed_communication";
    case Cause::Order: return "order_departures";
    case Cause::Peer: return "blocked_by_peer";
    case Cause::Replay: return "replayed_work";
    case Cause::LateStart: return "late_starts";
    case Cause::Unknown: return "unknown";
    }
    return "";
}

TimeNs RankAccounting::total() const {
    const TimeNs work = std::accumulate(compute.begin(), compute.end(), overlapped);
    return std::accumulate(causes.begin(), causes.end(), work);
}

StepAccounting accountStep(const StepTimeline& step, const StepGraph& graph, const UsualTimes& usual,
                           const AccountingInput& input) {
    return Ladder(step, graph, usual, input).account();
}

} // namespace bubblescope
