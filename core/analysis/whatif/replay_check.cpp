#include "core/analysis/whatif/replay_check.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace bubblescope {
namespace {

/// The means of a step's times, per class.
class ClassMeans {
public:
    explicit ClassMeans(std::size_t classes = 0) : sums_(classes), counts_(classes) {}
    void add(std::size_t of, TimeNs time) {
        sums_[of] += time;
        ++counts_[of];
    }
    [[nodiscard]] std::optional<TimeNs> of(std::size_t index) const {
        if (counts_[index] == 0) return std::nullopt;
        return sums_[index] / counts_[index];
    }

private:
    std::vector<TimeNs> sums_;
    std::vector<std::int64_t> counts_;
};

/// Numbers the classes of a run's ops, starts and transfers.
struct TimeClasses {
    std::size_t ranks = 1;
    std::size_t chunks = 1;

    static constexpr std::size_t kKinds = 6; // the kinds of OpKind, and pairs

    static std::size_t kindOf(const StepGraph& graph, std::size_t unit) {
        return graph.pair[unit] ? kKinds - 1 : static_cast<std::size_t>(graph.kind[unit]);
    }
    [[nodiscard]] std::size_t rankOf(const StepGraph& graph, std::size_t unit) const {
        return StepGraph::at(graph.rank[unit]);
    }
    [[nodiscard]] std::size_t ops() const { return ranks * chunks * kKinds; }
    [[nodiscard]] std::size_t op(const StepGraph& graph, std::size_t unit) const {
        const auto chunk = static_cast<std::size_t>(std::max(graph.chunk[unit].value, 0));
        return (rankOf(graph, unit) * chunks + std::min(chunk, chunks - 1)) * kKinds + kindOf(graph, unit);
    }
    [[nodiscard]] std::size_t starts() const { return ranks * kKinds; }
    [[nodiscard]] std::size_t start(const StepGraph& graph, std::size_t unit) const {
        return rankOf(graph, unit) * kKinds + kindOf(graph, unit);
    }
    [[nodiscard]] std::size_t links() const { return ranks * 4; }
    /// A rank has at most two neighbours.
    [[nodiscard]] std::size_t link(const StepGraph& graph, std::size_t side, std::size_t unit) const {
        const auto from = StepGraph::at(graph.rank[StepGraph::at(graph.input(side, unit))]);
        const bool next = rankOf(graph, unit) == (from + 1) % ranks;
        return from * 4 + (next ? 0U : 2U) + (graph.way[side][unit] == Way::Activation ? 0U : 1U);
    }
};

struct StepShows {
    ClassMeans ops;
    ClassMeans starts;
    ClassMeans links;

    /// A single step cannot show whether unexplained delays are usual, so they are left out.
    StepShows(const TimeClasses& classes, const ObservedStep& step, bool alone)
        : ops(classes.ops()), starts(classes.starts()), links(classes.links()) {
        const StepGraph& graph = step.graph;
        DelayParts explained = step.delays;
        if (alone) explained.late.clear();
        explained.replay.clear(); // each step's own: see checkReplay()
        const std::vector<TimeNs> delays = explained.total();
        for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
            ops.add(classes.op(graph, unit), graph.duration(static_cast<UnitIndex>(unit)));
            starts.add(classes.start(graph, unit), delays.empty() ? TimeNs{0} : delays[unit]);
            for (std::size_t side = 0; side < graph.sides(); ++side) {
                if (graph.input(side, unit) != kNoUnit && graph.crosses(side, unit))
                    links.add(classes.link(graph, side, unit), graph.transfer[side][unit]);
            }
        }
    }
};

/// The median of the means of all other steps, for each class.
class Others {
public:
    Others(const std::vector<StepShows>& all, std::size_t but) : all_(all), but_(but) {}

    [[nodiscard]] std::vector<std::optional<TimeNs>> of(ClassMeans StepShows::*means, std::size_t classes) const {
        std::vector<std::optional<TimeNs>> result(classes);
        std::vector<TimeNs> shown;
        for (std::size_t c = 0; c < classes; ++c) {
            shown.clear();
            for (std::size_t s = 0; s < all_.size(); ++s) {
                if (s == but_ && all_.size() > 1) continue;
                if (const auto mean = (all_[s].*means).of(c)) shown.push_back(*mean);
            }
            if (shown.empty()) continue;
            std::ranges::sort(shown);
            // For an even number, the mean of the two middle values, because neither of two steps is the usual one.
            result[c] = (shown[shown.size() / 2] + shown[(shown.size() - 1) / 2]) / 2;
        }
        return result;
    }

private:
    const std::vector<StepShows>& all_;
    std::size_t but_;
};

} // namespace

double ReplayCheck::error() const {
    TimeNs off{0};
    TimeNs observed{0};
    for (const Step& step : steps) {
        off += step.off() < TimeNs{0} ? -step.off() : step.off();
        observed += step.observed;
    }
    return fractionOf(off, observed);
}

double ReplayCheck::foresight() const {
    TimeNs off{0};
    TimeNs observed{0};
    for (const Step& step : steps) {
        off += std::max(step.foretold - step.observed, step.observed - step.foretold);
        observed += step.observed;
    }
    return fractionOf(off, observed);
}

double ReplayCheck::worst() const {
    double worst = 0;
    for (const Step& step : steps)
        worst = std::max(worst, std::abs(fractionOf(step.off(), step.observed)));
    return worst;
}

std::vector<TimeNs> ReplayCheck::ranks() const {
    std::vector<TimeNs> result;
    for (const Step& step : steps) {
        result.resize(std::max(result.size(), step.ranks.size()));
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            result[r] += step.ranks[r] < TimeNs{0} ? -step.ranks[r] : step.ranks[r];
    }
    for (TimeNs& time : result)
        time /= static_cast<std::int64_t>(steps.size());
    return result;
}

ReplayCheck checkReplay(std::span<const CheckedStep> steps) {
    ReplayCheck result;
    if (steps.empty()) return result;
    result.from_others = steps.size() > 1;
    const TimeClasses classes{steps.front().step->ranks.size(),
                              static_cast<std::size_t>(std::max(1, steps.front().step->vpp))};
    std::vector<StepShows> shows;
    TimeNs observed{0};
    TimeNs unrecorded{0};
    TimeNs in_transfers{0};
    for (const CheckedStep& each : steps) {
        shows.emplace_back(classes, *each.observed, steps.size() == 1);
        observed += each.step->wall() * static_cast<std::int64_t>(each.step->ranks.size());
        const StepGraph& graph = each.observed->graph;
        result.transfers += graph.recorded_transfers + graph.estimated_transfers;
        result.estimated_transfers += graph.estimated_transfers;
        for (const TimeNs late : each.observed->delays.late)
            unrecorded += late;
        for (const TimeNs held : each.observed->delays.communication)
            in_transfers += held;
    }
    result.unrecorded = fractionOf(unrecorded, observed);
    result.in_transfers = fractionOf(in_transfers, observed);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const ObservedStep& step = *steps[s].observed;
        const StepGraph& graph = step.graph;
        const Others others(shows, s);
        const auto ops = others.of(&StepShows::ops, classes.ops());
        const auto starts = others.of(&StepShows::starts, classes.starts());
        const auto links = others.of(&StepShows::links, classes.links());
        std::vector<TimeNs> own(graph.rank.size());
        std::vector<TimeNs> usual(own.size());
        std::vector<TimeNs> delays(own.size());
        InputTimes usual_transfers = graph.transfer;
        for (std::size_t unit = 0; unit < own.size(); ++unit) {
            own[unit] = graph.duration(static_cast<UnitIndex>(unit));
            usual[unit] = ops[classes.op(graph, unit)].value_or(own[unit]);
            delays[unit] = starts[classes.start(graph, unit)].value_or(TimeNs{0});
            // Re-executed work is recorded and planned: it is in a bubble.
            if (!step.delays.replay.empty()) delays[unit] += step.delays.replay[unit];
            for (std::size_t side = 0; side < graph.sides(); ++side) {
                if (graph.input(side, unit) == kNoUnit || !graph.crosses(side, unit)) continue;
                TimeNs& transfer = usual_transfers[side][unit];
                transfer = links[classes.link(graph, side, unit)].value_or(transfer);
            }
        }
        StepReplay replay(graph);
        ReplayCheck::Step checked{steps[s].step->index, steps[s].step->replica, graph.wall, {}, {}, {}};
        checked.foretold = replay.run({usual, &usual_transfers, delays, graph.holds});
        const bool recorded = graph.estimated_transfers == 0;
        checked.replayed = replay.run({own, recorded ? &graph.transfer : &usual_transfers, delays, graph.holds});
        for (const UnitIndex last : graph.last)
            checked.ranks.push_back(last == kNoUnit ? TimeNs{0} : replay.end(last) - graph.end[StepGraph::at(last)]);
        result.steps.push_back(std::move(checked));
    }
    return result;
}

} // namespace bubblescope
