#include "core/analysis/anomalies/samples.h"

#include "core/analysis/clocks/step_events.h"
#include "core/analysis/statistics/robust.h"
#include "core/base/large_list.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bubblescope {

OpSamples::OpSamples(std::span<const StepTimeline> steps, const StepSelection& selection) {
    if (steps.empty()) return;
    read(steps, selection);
    sortByPlace();
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
    reserveLarge(groups_, ops);
    reserveLarge(durations_, ops);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r) {
            OpRow row{s, Rank{r}, groups_.size(), 0, selection.isSteady(s)};
            for (const TimelineOp& op : steps[s].ranks[r]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                const std::size_t group = groupAt(steps[s].replica, placeOf(Rank{r}, op.op.chunk, kindOf(op.op)));
                groups_.push_back(static_cast<std::uint32_t>(group));
                durations_.push_back(static_cast<double>(op.duration().count()));
                ++counts_[group];
                steady_counts_[group] += row.steady ? 1 : 0;
            }
            row.end = groups_.size();
            rows_.push_back(row);
        }
    }
}

template <class Visit>
void OpSamples::eachSteady(Visit visit) const {
    for (const OpRow& row : rows_) {
        for (std::size_t i = row.begin; i < row.end; ++i) {
            if (row.steady || steady_counts_[groups_[i]] == 0) visit(i);
        }
    }
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

void OpSamples::sortByPlace() {
    place_begin_.assign(per_replica_ + 1, 0);
    for (std::size_t g = 0; g < counts_.size(); ++g)
        place_begin_[placeOf(g) + 1] += steadyCount(g);
    for (std::size_t place = 0; place < per_replica_; ++place)
        place_begin_[place + 1] += place_begin_[place];
    std::vector<std::size_t> next(place_begin_.begin(), place_begin_.end() - 1);
    resizeLarge(by_place_, place_begin_.back());
    eachSteady([&](std::size_t i) { by_place_[next[placeOf(groups_[i])]++] = durations_[i]; });
}

void OpSamples::findMedians() {
    medians_.resize(counts_.size());
    if (replicas_ == 1) {
        std::vector<double> scratch;
        for (std::size_t place = 0; place < per_replica_; ++place) {
            const auto all = ofPlace(place);
            scratch.assign(all.begin(), all.end());
            medians_[place] = statistics::medianInPlace(scratch);
        }
        return;
    }
    std::vector<std::vector<double>> durations(counts_.size());
    for (std::size_t g = 0; g < durations.size(); ++g)
        durations[g].reserve(steadyCount(g));
    eachSteady([&](std::size_t i) { durations[groups_[i]].push_back(durations_[i]); });
    for (std::size_t g = 0; g < durations.size(); ++g)
        medians_[g] = statistics::median(std::move(durations[g]));
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
        const std::size_t places = table.rows() * table.width();
        if (places <= kParallelItems) {
            for (std::size_t row = 0; row < table.rows(); ++row)
                addRow(steps[s], s, table, row);
            continue;
        }
        std::vector<TransferSamples> of_row(table.rows());
        parallelFor(table.rows(), [&](std::size_t row) { of_row[row].addRow(steps[s], s, table, row); });
        for (TransferSamples& row : of_row)
            append(std::move(row));
    }
}

void TransferSamples::addRow(const StepTimeline& step, std::size_t s, const TransferTable& table, std::size_t row) {
    auto latest = links.end(); // those of one link follow each other
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
        const TimeNs time = std::max(TimeNs{0}, receive.end - std::max(send.start, receive.start));
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
    length_ = replay_.run({durations_, &observed_.graph.transfer, delays_});
}

TimeNs StepCosts::savedByOps(const std::function<TimeNs(Rank, const TimelineOp&)>& time) {
    const StepGraph& graph = observed_.graph;
    std::vector<TimeNs> changed = durations_;
    for (std::size_t unit = 0; unit < changed.size(); ++unit) {
        const Rank rank{graph.rank[unit]};
        const TimelineOp* const ops = &step_.ranks[rank.index()][StepGraph::at(graph.op[unit])];
        if (ops->op.kind == OpKind::Optimizer) continue;
        // Off what the unit takes: of ops that overlap by the record the graph cuts the later one.
        TimeNs faster = ops[0].duration() - time(rank, ops[0]);
        if (graph.pair[unit]) faster = (faster + ops[1].duration() - time(rank, ops[1])) / 2;
        changed[unit] = std::max(TimeNs{0}, changed[unit] - faster);
    }
    return length_ - replay_.run({changed, &graph.transfer, delays_});
}

template <class Chosen>
TimeNs StepCosts::savedByTransfers(TimeNs most, const Chosen& chosen) {
    const StepGraph& graph = observed_.graph;
    std::array<std::vector<TimeNs>, 2> changed = graph.transfer;
    for (std::size_t side = 0; side < graph.sides(); ++side) {
        for (std::size_t unit = 0; unit < durations_.size(); ++unit) {
            if (graph.input(side, unit) != kNoUnit && chosen(side, unit))
                changed[side][unit] = std::min(changed[side][unit], most);
        }
    }
    return length_ - replay_.run({durations_, &changed, delays_});
}

TimeNs StepCosts::savedByLink(Rank from, Rank to, TimeNs most) {
    const StepGraph& graph = observed_.graph;
    return savedByTransfers(most, [&](std::size_t side, std::size_t unit) {
        return graph.rank[unit] == to.value && graph.rank[StepGraph::at(graph.input(side, unit))] == from.value;
    });
}

TimeNs StepCosts::savedByPayload(Payload payload) {
    const StepGraph& graph = observed_.graph;
    const Way way = payload == Payload::Activation ? Way::Activation : Way::Gradient;
    return savedByTransfers(TimeNs{0},
                            [&](std::size_t side, std::size_t unit) { return graph.way[side][unit] == way; });
}

} // namespace bubblescope
