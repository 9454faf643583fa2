#include "core/analysis/anomalies/samples.h"

#include "core/analysis/clocks/step_events.h"
#include "core/analysis/statistics/robust.h"
#include "core/base/large_list.h"
#include "core/base/parallel.h"
#include "core/timeline/transfer_batches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bubblescope {

OpSamples::OpSamples(std::span<const StepTimeline> steps, const StepSelection& selection) {
    if (steps.empty()) return;
    read(steps, selection);
    findMedians();
}

void OpSamples::read(std::span<const StepTimeline> steps, const StepSelection& selection) {
    std::size_t ops = 0;
    std::size_t rows = 0;
    for (const StepTimeline& step : steps) {
        replicas_ = std::max(replicas_, step.replica + 1);
        chunks_ = std::max(chunks_, static_cast<std::size_t>(step.vpp));
        rows += step.ranks.size();
        ops += step.opCount();
    }
    per_replica_ = static_cast<std::size_t>(steps.front().pp) * chunks_ * kKinds;
    counts_.resize(per_replica_ * static_cast<std::size_t>(replicas_));
    steady_counts_.resize(counts_.size());
    rows_.reserve(rows);
    step_begin_.reserve(steps.size() + 1);
    step_begin_.push_back(0);
    reserveLarge(groups_, ops);
    reserveLarge(durations_, ops);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r) {
            OpRow row{static_cast<std::uint32_t>(s), Rank{r}, groups_.size(), 0, selection.isSteady(s)};
            for (const TimelineOp& op : steps[s].ranks[r]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                const std::size_t group = groupAt(steps[s].replica, placeOf(Rank{r}, op.op.chunk, kindOf(op.op)));
                groups_.push_back(static_cast<std::uint32_t>(group));
                addDuration(op.duration());
                ++counts_[group];
                steady_counts_[group] += row.steady ? 1 : 0;
            }
            row.count = static_cast<std::uint32_t>(groups_.size() - row.begin);
            rows_.push_back(row);
        }
        step_begin_.push_back(rows_.size());
    }
}

void OpSamples::addDuration(TimeNs duration) {
    const std::int64_t ns = duration.count();
    if (!long_durations_.empty()) return long_durations_.push_back(ns);
    if (ns >= 0 && ns <= std::int64_t{UINT32_MAX}) return durations_.push_back(static_cast<std::uint32_t>(ns));
    reserveLarge(long_durations_, durations_.capacity());
    long_durations_.assign(durations_.begin(), durations_.end());
    long_durations_.push_back(ns);
    std::vector<std::uint32_t>().swap(durations_);
}

template <class Visit>
void OpSamples::eachSteadyOf(Rank rank, const Visit& visit) const {
    eachRowOf(rank, [&](const OpRow& row) {
        for (std::size_t i = row.begin; i < row.end(); ++i) {
            if (row.steady || steady_counts_[groups_[i]] == 0) visit(i);
        }
    });
}

std::size_t OpSamples::rowOf(std::size_t sample) const {
    const auto row = std::ranges::partition_point(rows_, [sample](const OpRow& r) { return r.end() <= sample; });
    return static_cast<std::size_t>(row - rows_.begin());
}

std::size_t OpSamples::medianSteps() const {
    std::size_t all = 0;
    std::size_t steady = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (row > 0 && rows_[row].step == rows_[row - 1].step) continue;
        ++all;
        steady += rows_[row].steady ? 1 : 0;
    }
    return steady > 0 ? steady : all;
}

void OpSamples::findMedians() {
    medians_.resize(counts_.size());
    place_medians_.resize(per_replica_);
    const std::size_t ranks = per_replica_ / (chunks_ * kKinds);
    parallelGroups(ranks, size(), [this](std::size_t r) { findMediansOf(Rank{r}); });
}

/// Needs a list of the durations of one rank, 8 bytes per op. One rank per core is processed at a time, so runs with at
/// most that many ranks need a list of all ops.
void OpSamples::findMediansOf(Rank rank) {
    const std::size_t first = placeOf(rank, Chunk{0}, 0);
    const std::size_t places = chunks_ * kKinds;
    const auto replicas = static_cast<std::size_t>(replicas_);
    // By place, then replica.
    std::vector<std::size_t> begin(places * replicas + 1, 0);
    const auto listOf = [&](std::size_t group) { return (placeOf(group) - first) * replicas + group / per_replica_; };
    for (std::size_t place = 0; place < places; ++place) {
        for (int replica = 0; replica < replicas_; ++replica) {
            const std::size_t group = groupAt(replica, first + place);
            begin[listOf(group) + 1] = steadyCount(group);
        }
    }
    for (std::size_t list = 0; list + 1 < begin.size(); ++list)
        begin[list + 1] += begin[list];
    std::vector<double> durations(begin.back());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    eachSteadyOf(rank, [&](std::size_t i) { durations[next[listOf(groups_[i])]++] = duration(i); });
    const auto medianOf = [&](std::size_t from, std::size_t to) {
        return statistics::medianInPlace(std::span(durations).subspan(begin[from], begin[to] - begin[from]));
    };
    for (std::size_t place = 0; place < places; ++place) {
        for (int replica = 0; replica < replicas_; ++replica) {
            const std::size_t group = groupAt(replica, first + place);
            medians_[group] = medianOf(listOf(group), listOf(group) + 1);
        }
        place_medians_[first + place] =
            replicas == 1 ? medians_[first + place] : medianOf(place * replicas, (place + 1) * replicas);
    }
}

std::size_t OpSamples::countOfPlace(std::size_t place) const {
    std::size_t count = 0;
    for (int replica = 0; replica < replicas_; ++replica)
        count += steadyCount(groupAt(replica, place));
    return count;
}

PlaceDurations OpSamples::ofRank(Rank rank) const {
    const std::size_t first = placeOf(rank, Chunk{0}, 0);
    const std::size_t places = chunks_ * kKinds;
    std::vector<std::size_t> begin(places + 1, 0);
    for (std::size_t place = 0; place < places; ++place)
        begin[place + 1] = begin[place] + countOfPlace(first + place);
    std::vector<double> durations(begin.back());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    eachSteadyOf(rank, [&](std::size_t i) { durations[next[placeOf(groups_[i]) - first]++] = duration(i); });
    return {first, std::move(begin), std::move(durations)};
}

std::size_t OpSamples::bytes() const {
    const auto room = [](const auto& list) { return list.capacity() * sizeof(list.front()); };
    return room(rows_) + room(step_begin_) + room(groups_) + room(durations_) + room(long_durations_) + room(medians_) +
           room(place_medians_) + room(counts_) + room(steady_counts_);
}

const TimelineOp& sampledOp(std::span<const StepTimeline> steps, const OpRow& row, std::size_t sample) {
    std::size_t left = sample - row.begin;
    const auto& ops = steps[row.step].ranks[row.rank.index()];
    return *std::ranges::find_if(ops,
                                 [&](const TimelineOp& op) { return op.op.kind != OpKind::Optimizer && left-- == 0; });
}

std::vector<double> thinned(std::vector<double> values, std::size_t most) {
    if (values.size() <= most) return values;
    std::vector<double> kept;
    for (std::size_t i = 0; i < most; ++i)
        kept.push_back(values[i * values.size() / most]);
    return kept;
}

TransferSamples::TransferSamples(std::span<const StepTimeline> steps) {
    TransferTable table;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        table.read(steps[s]);
        const TransferBatches batches(steps[s]);
        const std::size_t places = table.rows() * table.width();
        if (places <= kParallelItems) {
            for (std::size_t row = 0; row < table.rows(); ++row)
                addRow(steps[s], s, table, row, batches);
            continue;
        }
        std::vector<TransferSamples> of_row(table.rows());
        parallelFor(table.rows(), [&](std::size_t row) { of_row[row].addRow(steps[s], s, table, row, batches); });
        for (TransferSamples& row : of_row)
            append(std::move(row));
    }
}

void TransferSamples::addRow(const StepTimeline& step, std::size_t s, const TransferTable& table, std::size_t row,
                             const TransferBatches& batches) {
    auto latest = links.end(); // transfers of one link are adjacent
    table.eachOf(row, [&](const MatchedTransfer& transfer) {
        const CommSpan& send = *transfer.send;
        const CommSpan& receive = *transfer.receive;
        if (const TimeNs early = send.start - receive.end; early > TimeNs{0})
            backwards.push_back({s, transfer.from, transfer.to, receive.start, receive.end, early});
        if (transfer.from == transfer.to) return;
        const LinkKey link{step.replica, transfer.from, transfer.to};
        if (latest == links.end() || latest->first != link) {
            latest = links.try_emplace(link).first;
            if (latest->second.empty()) latest->second.reserve(table.width());
        }
        const TimeNs time = std::max(TimeNs{0}, batches.endOf(receive) - std::max(send.start, receive.start));
        latest->second.push_back({s, static_cast<double>(time.count())});
    });
}

void TransferSamples::append(TransferSamples&& others) {
    for (auto& [link, transfers] : others.links) {
        std::vector<Transferred>& known = links[link];
        if (known.empty()) {
            known = std::move(transfers);
        } else {
            known.insert(known.end(), transfers.begin(), transfers.end());
        }
    }
    std::ranges::move(others.backwards, std::back_inserter(backwards));
}

StepCosts::StepCosts(const StepTimeline& step, const StepKnowledge& known)
    : step_(step), observed_(step, known), replay_(observed_.graph), delays_(observed_.delays.total()) {
    for (UnitIndex unit = 0; unit < observed_.graph.size(); ++unit)
        durations_.push_back(observed_.graph.duration(unit));
    length_ = replay_.run({durations_, &observed_.graph.transfer, delays_, observed_.graph.holds});
}

TimeNs StepCosts::savedByOps(const std::function<TimeNs(Rank, const TimelineOp&)>& time) {
    const StepGraph& graph = observed_.graph;
    std::vector<TimeNs> changed = durations_;
    for (std::size_t unit = 0; unit < changed.size(); ++unit) {
        const Rank rank{graph.rank[unit]};
        const TimelineOp* const ops = &step_.ranks[rank.index()][StepGraph::at(graph.op[unit])];
        if (ops->op.kind == OpKind::Optimizer) continue;
        // Subtracted from the unit's time, because the graph shortens the later of two ops that overlap in the record.
        TimeNs faster = ops[0].duration() - time(rank, ops[0]);
        if (graph.pair[unit]) faster = (faster + ops[1].duration() - time(rank, ops[1])) / 2;
        changed[unit] = std::max(TimeNs{0}, changed[unit] - faster);
    }
    return length_ - replay_.run({changed, &graph.transfer, delays_, graph.holds});
}

template <class Chosen>
TimeNs StepCosts::savedByTransfers(TimeNs most, const Chosen& chosen) {
    const StepGraph& graph = observed_.graph;
    InputTimes changed = graph.transfer;
    for (std::size_t side = 0; side < graph.sides(); ++side) {
        for (std::size_t unit = 0; unit < durations_.size(); ++unit) {
            if (graph.input(side, unit) != kNoUnit && chosen(side, unit))
                changed[side][unit] = std::min(changed[side][unit], most);
        }
    }
    return length_ - replay_.run({durations_, &changed, delays_, graph.holds});
}

TimeNs StepCosts::savedByLink(Rank from, Rank to, TimeNs most, bool both_ways) {
    const StepGraph& graph = observed_.graph;
    return savedByTransfers(most, [&](std::size_t side, std::size_t unit) {
        const Rank receiver{graph.rank[unit]};
        const Rank sender{graph.rank[StepGraph::at(graph.input(side, unit))]};
        return (sender == from && receiver == to) || (both_ways && sender == to && receiver == from);
    });
}

TimeNs StepCosts::savedByHosts(const std::function<TimeNs(Rank, TimeInterval)>& spent) {
    const StepGraph& graph = observed_.graph;
    std::vector<TimeNs> durations = durations_;
    std::vector<TimeNs> delays = delays_;
    for (std::size_t unit = 0; unit < durations.size(); ++unit) {
        const Rank rank{graph.rank[unit]};
        const TimeNs start = step_.begin + graph.start[unit];
        durations[unit] -= std::min(durations[unit], spent(rank, {start, start + durations[unit]}));
        if (unit < delays.size() && delays[unit] > TimeNs{0})
            delays[unit] -= std::min(delays[unit], spent(rank, {start - delays[unit], start}));
    }
    return length_ - replay_.run({durations, &graph.transfer, delays, graph.holds});
}

TimeNs StepCosts::savedByPayload(Payload payload) {
    const StepGraph& graph = observed_.graph;
    const Way way = payload == Payload::Activation ? Way::Activation : Way::Gradient;
    return savedByTransfers(TimeNs{0},
                            [&](std::size_t side, std::size_t unit) { return graph.way[side][unit] == way; });
}

} // namespace bubblescope
