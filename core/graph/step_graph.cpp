#include "core/graph/step_graph.h"

#include "core/base/parallel.h"
#include "core/timeline/transfer_batches.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace bubblescope {
namespace {

/// The ops in order of start time. Skips optimizer ops that come after all others.
Schedule unitOrder(const StepTimeline& step) {
    Schedule order;
    order.pp = step.pp;
    order.microbatches = step.microbatches;
    order.vpp = step.vpp;
    order.placement = step.placement;
    order.ranks.reserve(step.ranks.size());
    for (const auto& ops : step.ranks) {
        std::size_t count = ops.size();
        while (count > 0 && ops[count - 1].op.kind == OpKind::Optimizer)
            --count;
        auto& list = order.ranks.emplace_back();
        list.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            list.push_back(ops[i].op);
            list.back().overlapped = beginsPair({ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(count)}, i);
            if (!list.back().overlapped) continue;
            list.push_back(ops[++i].op);
        }
    }
    return order;
}

} // namespace

StepGraph::StepGraph(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran)
    : microbatches_(step.microbatches), vpp_(step.vpp), placement_(step.placement), ran_(std::move(ran)) {
    if (ran_ == nullptr) ran_ = executedUnits(step);
    if (fits(step, *ran_)) {
        units_ = ran_->units;
    } else {
        ran_.reset();
        findUnits(step);
    }
    takeUnits();
    readStep(step);
}

bool StepGraph::assign(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran) {
    bool same = false;
    if (ran_ != nullptr) {
        if (ran == nullptr) ran = executedUnits(step, ran_);
        same = ran == ran_ && fits(step, *ran);
    } else if (!ordered_by_start_) {
        same = hasOrderOf(step);
    }
    if (same) {
        readStep(step);
    } else {
        *this = StepGraph(step, std::move(ran));
    }
    return same;
}

/// True if a step's units follow from its order alone. Halves of a pair that ran apart are not a pair, and an optimizer
/// op between others takes its rank's time.
bool StepGraph::fits(const StepTimeline& step, const ExecutedUnits& ran) const {
    if (!ran.runnable() || !ran.order.optimizersTrail()) return false;
    const OpGraph& graph = ran.order.graph();
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const std::span<const Op> works = graph.opsOf(Rank{r});
        const std::span<const TimelineOp> list = std::span(step.ranks[r]).first(works.size());
        for (std::size_t i = 0; i < works.size(); ++i) {
            if (!works[i].overlapped) continue;
            if (!beginsPair(list, i)) return false;
            ++i;
        }
    }
    return true;
}

bool StepGraph::hasOrderOf(const StepTimeline& step) const {
    if (step.microbatches != microbatches_ || step.vpp != vpp_ || step.placement != placement_) return false;
    if (step.pp != ops().rankCount() || step.ranks.size() != trailing.size()) return false;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto& list = step.ranks[r];
        const OpIndex first = ops().firstOf(Rank{r});
        const auto works = static_cast<std::size_t>(ops().endOf(Rank{r}) - first);
        if (list.size() != works + trailing[r].size()) return false;
        const std::span<const TimelineOp> working = std::span(list).first(works);
        for (std::size_t i = 0; i < works; ++i) {
            Op ran = list[i].op;
            const Op& known = ops().op(first + static_cast<OpIndex>(i));
            const bool second_half =
                i > 0 && ops().partner(first + static_cast<OpIndex>(i)) == first + static_cast<OpIndex>(i) - 1;
            if (ran.overlapped && !second_half) ran.overlapped = beginsPair(working, i);
            if (ran != known) return false;
        }
        for (std::size_t i = works; i < list.size(); ++i) {
            if (list[i].op.kind != OpKind::Optimizer) return false;
        }
    }
    return true;
}

void StepGraph::findUnits(const StepTimeline& step) {
    const auto graph = std::make_shared<const OpGraph>(unitOrder(step));
    units_ = std::make_shared<const StepUnits>(graph);
    if (units_->blocked.empty()) return;
    // Ops are missing, or some began before their inputs. Sorting by start gives an order that is consistent with every
    // rank's.
    ordered_by_start_ = true;
    std::vector<OpIndex> order; // the first op of each unit
    std::vector<TimeNs> starts(static_cast<std::size_t>(graph->size()));
    for (OpIndex i = 0; i < graph->size(); ++i) {
        const auto& list = step.ranks[graph->rank(i).index()];
        const auto place = static_cast<std::size_t>(i - graph->firstOf(graph->rank(i)));
        starts[at(i)] = list[place].start;
        if (place > 0) starts[at(i)] = std::max(starts[at(i)], starts[at(i - 1)]);
        if (graph->partner(i) == kNoOp || graph->partner(i) > i) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](OpIndex index) { return starts[at(index)]; });
    units_ = std::make_shared<const StepUnits>(graph, order);
}

void StepGraph::takeUnits() {
    const StepUnits& units = *units_;
    rank = units.rank;
    op = units.op;
    kind = units.kind;
    chunk = units.chunk;
    pair = units.pair;
    way = {units.way[0], units.way[1]};
    last = units.last;
    ignored_inputs = units.ignored_inputs;
    resizeLarge(start, rank.size());
    resizeLarge(end, rank.size());
    resizeLarge(delay, rank.size());
    latest.resize(rank.size());
    trailing.resize(last.size());
    for (std::size_t side = 0; side < sides(); ++side) {
        resizeLarge(transfer[side], rank.size());
        resizeLarge(sent[side], rank.size());
        recorded_[side].assign(rank.size(), 1);
    }
}

void StepGraph::readStep(const StepTimeline& step) {
    wall = step.wall();
    recorded_transfers = estimated_transfers = 0;
    for (auto& list : trailing)
        list.clear();
    readTimes(step);
    readTransfers(step);
    estimateTransfers(step);
    findDelays();
}

void StepGraph::readTimes(const StepTimeline& step) {
    const auto inWindow = [&](TimeNs time) { return std::clamp(time - step.begin, TimeNs{0}, wall); };
    // A pair has the times of both ops, but only those other properties that both ops have.
    const auto eachUnit = [&](const auto& read) {
        parallelPieces(rank.size(), [&](std::size_t from, std::size_t to) {
            constexpr std::size_t kAhead = 24; // neighbours in the units' order are far apart in the timeline
            const auto first = [&](std::size_t unit) { return step.ranks[at(rank[unit])].data() + op[unit]; };
            for (std::size_t unit = from; unit < to; ++unit) {
                if (unit + kAhead < to) __builtin_prefetch(first(unit + kAhead));
                const TimelineOp* const ops = first(unit);
                read(unit, ops[0], ops[pair[unit]]);
            }
        });
    };
    eachUnit([&](std::size_t unit, const TimelineOp& first, const TimelineOp& second) {
        start[unit] = std::min(inWindow(first.start), inWindow(second.start));
        end[unit] = std::max(inWindow(first.end), inWindow(second.end));
    });
    for (std::size_t unit = 0; unit < rank.size(); ++unit) {
        const UnitIndex before = previous(unit);
        const TimeNs covered = before == kNoUnit ? TimeNs{0} : end[at(before)];
        start[unit] = std::max(covered, start[unit]);
        end[unit] = std::max(start[unit], end[unit]);
    }
    const bool idle =
        std::ranges::any_of(step.details, [](const OpDetails& of) { return of.device_idle != TimeNs{0}; });
    const bool exposed =
        std::ranges::any_of(step.details, [](const OpDetails& of) { return of.exposed_comm != TimeNs{0}; });
    device_idle.resize(idle ? rank.size() : 0);
    exposed_comm.resize(exposed ? rank.size() : 0);
    if (idle || exposed) {
        eachUnit([&](std::size_t unit, const TimelineOp& first, const TimelineOp& second) {
            const OpDetails& of_first = step.detailsOf(first);
            const OpDetails& of_second = step.detailsOf(second);
            if (idle) device_idle[unit] = std::min(of_first.device_idle, of_second.device_idle);
            if (exposed) exposed_comm[unit] = std::min(of_first.exposed_comm, of_second.exposed_comm);
        });
    }
    for (std::size_t r = 0; r < step.ranks.size(); ++r)
        readTrailing(step, r);
}

/// The ops after a rank's units are stored uncut, because they would be cut differently if the step ended earlier.
void StepGraph::readTrailing(const StepTimeline& step, std::size_t r) {
    const auto& list = step.ranks[r];
    const TimeNs origin = last[r] == kNoUnit ? TimeNs{0} : end[at(last[r])];
    TimeNs covered = origin;
    for (std::size_t i = at(ops().endOf(Rank{r}) - ops().firstOf(Rank{r})); i < list.size(); ++i) {
        const TimeNs since = std::max(covered, list[i].start - step.begin);
        covered = std::max(since, list[i].end - step.begin);
        trailing[r].push_back({since - origin, covered - since});
    }
}

/// Each rank records one side of its transfers. Records of transfers that are not the rank's own are handled at the
/// end.
void StepGraph::readRecords(const StepTimeline& step) {
    struct Foreign {
        const CommSpan* span;
        std::size_t record;
    };
    resizeLarge(sends_, (ops().joins() ? 2 : 1) * at(ops().size()));
    resizeLarge(receives_, sends_.size());
    parallelPieces(sends_.size(), [this](std::size_t from, std::size_t to) {
        constexpr Record kNone{TimeNs::min(), TimeNs::min()};
        std::fill_n(sends_.begin() + static_cast<std::ptrdiff_t>(from), to - from, kNone);
        std::fill_n(receives_.begin() + static_cast<std::ptrdiff_t>(from), to - from, kNone);
    });
    const auto add = [&](const CommSpan& span, std::size_t record) {
        (span.kind == CommKind::Send ? sends_ : receives_)[record].add(span, step.begin);
    };
    std::vector<std::vector<Foreign>> foreign(step.comm.size());
    parallelGroups(step.comm.size(), sends_.size(), [&](std::size_t r) {
        for (const CommSpan& span : step.comm[r]) {
            if (span.kind == CommKind::Wait || span.kind == CommKind::Collective) continue;
            const OpIndex consumer = fedBy(span, step, ops());
            if (consumer < 0 || !ops().receives(consumer)) continue;
            const bool joined = isJoined(span, step);
            const OpIndex producer = joined ? ops().joinedInput(consumer) : ops().producers(consumer).stage;
            if (producer < 0) continue;
            const OpIndex own = span.kind == CommKind::Send ? producer : consumer;
            const std::size_t record = recordOf(consumer, joined);
            if (ops().rank(own) == Rank{r}) {
                add(span, record);
            } else {
                foreign[r].push_back({&span, record});
            }
        }
    });
    for (const auto& of_rank : foreign) {
        for (const auto& [span, record] : of_rank)
            add(*span, record);
    }
}

void StepGraph::readTransfers(const StepTimeline& step) {
    readRecords(step);
    const TransferBatches batches(step);
    for (const TransferBatch& batch : batches.all()) {
        const OpIndex consumer = fedBy(*batch.receive, step, ops());
        if (consumer >= 0)
            receives_[recordOf(consumer, isJoined(*batch.receive, step))].end = batch.received - step.begin;
    }
    std::atomic<std::int64_t> recorded_here{0};
    std::atomic<std::int64_t> estimated_here{0};
    const auto readSide = [&](std::size_t side, std::size_t from, std::size_t to) {
        std::int64_t known = 0;
        std::int64_t unknown = 0;
        constexpr std::size_t kAhead = 24; // neighbours in the units' order are far apart in the records
        const auto record = [&](std::size_t unit) { return recordOf(consumerOf(side, unit), side > pair[unit]); };
        for (std::size_t unit = from; unit < to; ++unit) {
            if (unit + kAhead < to && way[side][unit + kAhead] != Way::None) {
                const std::size_t ahead = record(unit + kAhead);
                __builtin_prefetch(&sends_[ahead]);
                __builtin_prefetch(&receives_[ahead]);
            }
            const Way by = way[side][unit];
            const TimeNs made = by == Way::None ? TimeNs{0} : end[at(input(side, unit))];
            sent[side][unit] = made;
            transfer[side][unit] = TimeNs{0};
            if (by == Way::None || by == Way::Stays) continue;
            const std::size_t place = record(unit);
            const Record& send = sends_[place];
            const Record& receive = receives_[place];
            const TimeNs posted = std::max(send.begin, receive.begin);
            const bool recorded = posted != TimeNs::min();
            recorded_[side][unit] = recorded ? 1 : 0;
            ++(recorded ? known : unknown);
            if (!recorded) continue;
            // A transfer does not start before its payload exists, even if a side posted it earlier.
            const TimeNs begin = std::max(posted, made);
            const TimeNs through = receive.end != TimeNs::min() ? receive.end : send.end;
            sent[side][unit] = begin;
            transfer[side][unit] = std::max(TimeNs{0}, through - begin);
        }
        recorded_here += known;
        estimated_here += unknown;
    };
    for (std::size_t side = 0; side < sides(); ++side)
        parallelPieces(rank.size(), [&](std::size_t from, std::size_t to) { readSide(side, from, to); });
    recorded_transfers += recorded_here;
    estimated_transfers += estimated_here;
    holds.clear();
    if (!batches.empty() && !hasSecondInputs()) readHolds(batches, step);
    // Frees the records of a large step to reduce peak memory while the following data is built.
    constexpr std::size_t kMostKept = 1 << 17;
    if (sends_.size() <= kMostKept) return;
    ListToFill<Record>().swap(sends_);
    ListToFill<Record>().swap(receives_);
}

/// The transfers for which a rank waits, according to the records of its sends and receives.
Hold StepGraph::holdOf(std::size_t unit) const {
    Hold hold;
    const UnitIndex before = previous(unit);
    if (before == kNoUnit) return hold;
    const auto opOf = [this](std::size_t of) { return ops().firstOf(Rank{rank[of]}) + op[of]; };
    hold.receives = crosses(0, unit) && receives_[at(opOf(unit))].begin >= end[at(before)];
    const OpIndex fed = ops().consumer(opOf(at(before)));
    if (fed < 0 || !ops().receives(fed)) return hold;
    // The rank does not wait for a send that ends before its transfer. If the send ends later, the rank waits for it
    // after the unit.
    const Record& send = sends_[at(fed)];
    const TimeNs through = receives_[at(fed)].end;
    if (through == TimeNs::min() || send.end > start[unit]) return hold;
    if (send.end + recordTolerance(send.end - send.begin) < through) return hold;
    hold.sends_to = unitOf(fed);
    return hold;
}

/// In a step with batches, single sends and receives also block their ranks.
void StepGraph::readHolds(const TransferBatches& batches, const StepTimeline& step) {
    holds.resize(rank.size());
    for (std::size_t unit = 0; unit < rank.size(); ++unit)
        holds[unit] = holdOf(unit);
    for (const TransferBatch& batch : batches.all()) {
        const OpIndex consumer = fedBy(*batch.receive, step, ops());
        const OpIndex fed = fedBy(*batch.send, step, ops());
        if (consumer < 0 || fed < 0 || unitOf(consumer) == kNoUnit || unitOf(fed) == kNoUnit) continue;
        const std::size_t unit = at(unitOf(consumer));
        if (!crosses(0, unit) || !crosses(0, at(unitOf(fed))) || previous(unit) != input(0, at(unitOf(fed)))) continue;
        holds[unit].sends_to = unitOf(fed);
        // True only if the input comes from the unit after which the other rank posted the batch.
        holds[unit].batch = previous(at(unitOf(fed))) == input(0, unit);
    }
    trimHolds();
}

/// Caps each transfer at the time for which the rank that it blocks waited, because clocks may differ and a rank may
/// wake up late.
void StepGraph::trimHolds() {
    for (std::size_t unit = 0; unit < rank.size(); ++unit) {
        Hold& hold = holds[unit];
        if (hold.sends_to == kNoUnit) continue;
        TimeNs& through = transfer[0][at(hold.sends_to)];
        TimeNs begin = end[at(previous(unit))];
        if (hold.batch) begin = std::max(begin, end[at(input(0, unit))]);
        const TimeNs room = start[unit] - begin;
        if (room < TimeNs{0} || through > room + recordTolerance(through)) {
            hold.sends_to = kNoUnit;
        } else {
            through = std::min(through, room);
        }
    }
    for (std::size_t unit = 0; unit < rank.size(); ++unit) {
        if (holds[unit].receives && end[at(previous(unit))] + transfer[0][unit] > start[unit])
            holds[unit].receives = false;
    }
}

void StepGraph::estimateTransfers(const StepTimeline& step) {
    if (estimated_transfers == 0) return;
    // If a rank was free before its input existed, its wait is an upper bound on the input's transfer time. Neighbours
    // in the pipeline are neighbouring ranks, so each rank sends in two directions.
    std::vector<TimeNs> shortest(4 * step.ranks.size(), TimeNs::max());
    const auto line = [&](UnitIndex unit, std::size_t side) {
        const auto from = static_cast<std::size_t>(rank[at(input(side, at(unit)))]);
        const auto to = static_cast<std::size_t>(rank[at(unit)]);
        const Payload payload = way[side][at(unit)] == Way::Activation ? Payload::Activation : Payload::Gradient;
        return 4 * from + (to == (from + 1) % step.ranks.size() ? 0U : 2U) + static_cast<std::size_t>(payload);
    };
    const auto lag = [&](UnitIndex unit, std::size_t side) { return start[at(unit)] - end[at(input(side, at(unit)))]; };
    const auto eachUnrecorded = [&](auto visit) {
        for (std::size_t side = 0; side < sides(); ++side) {
            for (UnitIndex unit = 0; unit < size(); ++unit) {
                if (recorded_[side][at(unit)] == 0) visit(unit, side);
            }
        }
    };
    eachUnrecorded([&](UnitIndex unit, std::size_t side) {
        const UnitIndex before = previous(at(unit));
        const TimeNs free = before == kNoUnit ? TimeNs{0} : end[at(before)];
        const TimeNs passed = lag(unit, side);
        TimeNs& least = shortest[line(unit, side)];
        if (passed >= TimeNs{0} && start[at(unit)] - passed >= free) least = std::min(least, passed);
    });
    eachUnrecorded([&](UnitIndex unit, std::size_t side) {
        const TimeNs least = shortest[line(unit, side)];
        const TimeNs known = least == TimeNs::max() ? TimeNs{0} : least;
        transfer[side][at(unit)] = std::clamp(lag(unit, side), TimeNs{0}, known);
    });
}

/// Finds the predecessor that arrived last. In case of a tie, this is the one in the first slot of tasks().
void StepGraph::findDelays() {
    parallelPieces(rank.size(), [this](std::size_t from, std::size_t to) {
        for (std::size_t unit = from; unit < to; ++unit) {
            TimeNs arrival{0};
            Latest by = Latest::Begin;
            const auto consider = [&](Latest other, UnitIndex source, TimeNs lag) {
                if (source == kNoUnit) return;
                const TimeNs arrives = end[at(source)] + lag;
                if (by != Latest::Begin && arrives <= arrival) return;
                arrival = arrives;
                by = other;
            };
            const auto sources = tasks().predecessors(unit);
            consider(Latest::Previous, sources[0], lagOf(holds, transfer, 0, unit));
            consider(Latest::FirstInput, sources[1], lagOf(holds, transfer, 1, unit));
            if (hasSecondInputs()) consider(Latest::SecondInput, sources[2], transfer[1][unit]);
            delay[unit] = start[unit] - arrival;
            latest[unit] = by;
        }
    });
}

std::optional<std::vector<UnitIndex>> StepGraph::orderBy(const Schedule& plan) const {
    if (plan.ranks.size() != last.size() || plan.placement != placement_ || plan.vpp != vpp_ ||
        plan.microbatches != microbatches_) {
        return std::nullopt;
    }
    Schedule order = plan;
    for (auto& list : order.ranks)
        std::erase_if(list, [](const Op& each) { return each.kind == OpKind::Optimizer; });
    const OpGraph planned(order);
    if (planned.size() != ops().size() || planned.sequenceSlices() != ops().sequenceSlices()) return std::nullopt;

    std::vector<UnitIndex> result;
    std::vector<bool> seen(rank.size(), false);
    result.reserve(rank.size());
    bool same_ops = true;
    const auto unitOfPlanned = [&](OpIndex index) {
        const Op& wanted = planned.op(index);
        const OpIndex found = ops().inRange(wanted)
                                  ? ops().find(wanted.kind, wanted.microbatch, planned.stage(index), wanted.sequence)
                                  : kMissingOp;
        return found >= 0 && ops().op(found) == wanted ? unitOf(found) : kNoUnit;
    };
    const auto blocked = visitInOrder(planned, [&](OpIndex index, OpIndex partner) {
        const UnitIndex unit = unitOfPlanned(index);
        same_ops &= unit != kNoUnit && !seen[at(unit)] && pair[at(unit)] == (partner != kNoOp) &&
                    (partner == kNoOp || unitOfPlanned(partner) == unit);
        if (!same_ops) return;
        seen[at(unit)] = true;
        result.push_back(unit);
    });
    if (!blocked.empty() || !same_ops || result.size() != rank.size()) return std::nullopt;
    return result;
}

TransferPlace StepGraph::latestOfHeld(std::size_t unit) const {
    const TransferPlace own{0, unit};
    const Hold& hold = holds[unit];
    if (hold.sends_to == kNoUnit) return own;
    const TransferPlace sent{0, at(hold.sends_to)};
    if (latest[unit] == Latest::Previous && !hold.receives) return sent;
    if (latest[unit] != Latest::Previous && !hold.batch) return own;
    return transfer[0][sent.unit] > transfer[0][unit] ? sent : own;
}

std::vector<Binding> bindings(const StepGraph& graph) {
    auto result = largeList<Binding>(graph.rank.size());
    parallelPieces(result.size(), [&](std::size_t from, std::size_t to) {
        for (std::size_t unit = from; unit < to; ++unit) {
            const Latest latest = graph.latest[unit];
            if (latest == Latest::Begin) continue;
            const auto slot = static_cast<std::size_t>(static_cast<int>(latest) + 1);
            const bool held = slot == 0 && lagOf(graph.holds, graph.transfer, 0, unit) > TimeNs{0};
            result[unit] = {graph.tasks().predecessors(unit)[slot], latest,
                            held || (slot > 0 && graph.crosses(slot - 1, unit))};
        }
    });
    return result;
}

std::vector<UnitIndex> criticalUnits(const StepGraph& graph, const std::vector<Binding>& bindings) {
    std::vector<UnitIndex> path;
    if (graph.size() == 0) return path;
    const auto last = std::ranges::max_element(graph.end);
    for (auto unit = static_cast<UnitIndex>(last - graph.end.begin()); unit != kNoUnit;
         unit = bindings[StepGraph::at(unit)].unit)
        path.push_back(unit);
    return path;
}

} // namespace bubblescope
