#include "core/recognise/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace bubblescope {
namespace {

std::uint8_t bit(OpKind kind) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
}

/// Which ops of a step were seen, by micro-batch, rank, chunk and sequence slice.
class Tally {
public:
    explicit Tally(const Layout& layout)
        : layout_(layout), seen_(static_cast<std::size_t>(layout.microbatches) * unitSize()) {}

    void add(Rank rank, const Op& op) {
        if (op.kind == OpKind::Optimizer) return;
        std::uint8_t& slot = seen_[index(rank, op)];
        if ((slot & bit(op.kind)) != 0 && !fault_) fault_ = say("rank {} ran {} twice", rank.value, opName(op));
        slot |= bit(op.kind);
    }

    /// Why the step is incomplete; nothing if it is complete.
    [[nodiscard]] std::optional<Sentence> fault(bool expect_backward) const {
        if (fault_) return fault_;
        int units = 0;
        for (int m = 0; m < layout_.microbatches; ++m) {
            for (int route = 0; route < routes(layout_.placement); ++route) {
                if (!takesRoute(Microbatch{m}, route)) continue;
                ++units;
                if (auto fault = faultOnRoute(Microbatch{m}, route, expect_backward)) return fault;
            }
        }
        if (units == layout_.microbatches) return std::nullopt;
        return say("{} of {} micro-batches ran", units, layout_.microbatches);
    }

private:
    /// Slots of one micro-batch.
    [[nodiscard]] std::size_t unitSize() const {
        return static_cast<std::size_t>(layout_.pp) * static_cast<std::size_t>(layout_.vpp) *
               static_cast<std::size_t>(layout_.slices);
    }
    [[nodiscard]] std::size_t index(Rank rank, const Op& op) const {
        const std::size_t part = rank.index() * static_cast<std::size_t>(layout_.vpp) + op.chunk.index();
        return op.microbatch.index() * unitSize() + part * static_cast<std::size_t>(layout_.slices) +
               static_cast<std::size_t>(op.sequence);
    }
    /// Calls visit(rank, forward op) for everything that a micro-batch has to run on a route, until that returns true.
    template <class Visit>
    bool anyOf(Microbatch microbatch, int route, Visit visit) const {
        for (int r = 0; r < layout_.pp; ++r) {
            for (int c = route; c < layout_.vpp; c += routes(layout_.placement)) {
                for (int slice = 0; slice < layout_.slices; ++slice) {
                    if (visit(Rank{r}, Op{OpKind::Forward, microbatch, Chunk{c}, slice})) return true;
                }
            }
        }
        return false;
    }
    [[nodiscard]] bool takesRoute(Microbatch microbatch, int route) const {
        return routes(layout_.placement) == 1 ||
               anyOf(microbatch, route, [&](Rank rank, const Op& op) { return seen_[index(rank, op)] != 0; });
    }
    [[nodiscard]] std::optional<Sentence> faultOnRoute(Microbatch microbatch, int route, bool expect_backward) const {
        std::optional<Sentence> fault;
        anyOf(microbatch, route, [&](Rank rank, Op op) {
            const auto missing = missingIn(seen_[index(rank, op)], expect_backward);
            if (!missing) return false;
            op.kind = *missing;
            fault = say("rank {} lacks {}", rank.value, opName(op));
            return true;
        });
        return fault;
    }
    static std::optional<OpKind> missingIn(std::uint8_t seen, bool expect_backward) {
        const auto has = [seen](OpKind kind) { return (seen & bit(kind)) != 0; };
        if (!has(OpKind::Forward)) return OpKind::Forward;
        if (has(OpKind::Backward) || !expect_backward) return std::nullopt;
        const bool input = has(OpKind::BackwardInput);
        const bool weight = has(OpKind::BackwardWeight);
        if (input && weight) return std::nullopt;
        if (!input && !weight) return OpKind::Backward;
        return input ? OpKind::BackwardWeight : OpKind::BackwardInput;
    }

    const Layout& layout_;
    std::vector<std::uint8_t> seen_;
    std::optional<Sentence> fault_;
};

/// Step, then replica.
using StepKey = std::pair<std::int64_t, std::int64_t>;

Sentence nameStep(StepKey key) {
    return key.second == 0 ? say("step {}", key.first) : say("step {}, replica {}", key.first, key.second);
}

StepTimeline emptyStep(const Layout& layout, StepKey key) {
    StepTimeline step;
    step.index = static_cast<int>(key.first);
    step.replica = static_cast<int>(key.second);
    step.pp = layout.pp;
    step.microbatches = layout.microbatches;
    step.vpp = layout.vpp;
    step.placement = layout.placement;
    step.ranks.resize(static_cast<std::size_t>(layout.pp));
    step.comm.resize(static_cast<std::size_t>(layout.pp));
    return step;
}

/// The rank at the other end of a transfer, of a collective the rank itself; nothing for stages that do not exist.
std::optional<Rank> peerOf(const FoundComm& comm, const Layout& layout) {
    const int apart = routes(layout.placement);
    const std::int64_t producer = comm.payload == Payload::Activation ? comm.stage - apart : comm.stage + apart;
    const bool own = comm.kind == CommKind::Send || comm.kind == CommKind::Collective;
    const std::int64_t other = own ? comm.stage : producer;
    const std::int64_t stages = std::int64_t{layout.pp} * layout.vpp;
    if (other < 0 || other >= stages || comm.stage < 0 || comm.stage >= stages) return std::nullopt;
    return locate(layout.placement, layout.pp, Stage{static_cast<std::int32_t>(other)}).rank;
}

void addComm(const FoundComm& comm, const Layout& layout, StepTimeline& step, DiagnosticLog& log) {
    const auto home = layout.rank_of_home.find(comm.home);
    const auto peer = peerOf(comm, layout);
    if (home == layout.rank_of_home.end() || !peer || comm.microbatch < 0 || comm.microbatch >= layout.microbatches ||
        comm.sequence < 0 || comm.sequence >= layout.slices) {
        log.add("stray-transfer", say("step {}, rank {}", comm.step, comm.home),
                say("transfers of stages or micro-batches that have no ops are left out"));
        return;
    }
    step.comm[home->second.index()].push_back({comm.kind, comm.payload,
                                               Microbatch{static_cast<std::int32_t>(comm.microbatch)},
                                               Stage{static_cast<std::int32_t>(comm.stage)}, *peer, comm.start,
                                               comm.end, static_cast<std::int32_t>(comm.sequence)});
}

void cutOverlaps(std::vector<TimelineOp>& ops, int step, std::size_t rank, DiagnosticLog& log) {
    const auto cut = [&](TimelineOp& op, TimeNs free) {
        if (op.start >= free) return;
        log.add("overlapping-ops", say("step {}, rank {}, {}", step, rank, opName(op.op)),
                say("ops begin before the one before them on their rank ended; their beginning is cut off"));
        op.start = free;
        op.end = std::max(op.end, free);
    };
    const auto pairBegins = [&](std::size_t i) {
        return i + 1 < ops.size() && ops[i].op.overlapped && ops[i + 1].op.overlapped &&
               ops[i].start == ops[i + 1].start;
    };
    for (std::size_t i = pairBegins(0) ? 2 : 1; i < ops.size(); ++i) {
        const TimeNs free = ops[i - 1].end;
        const bool pair = pairBegins(i);
        cut(ops[i], free);
        if (pair) cut(ops[++i], free);
    }
}

void finishStep(StepTimeline& step, DiagnosticLog& log) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        std::stable_sort(step.ranks[r].begin(), step.ranks[r].end(), [](const TimelineOp& a, const TimelineOp& b) {
            return std::pair(a.start, a.end) < std::pair(b.start, b.end);
        });
        std::stable_sort(step.comm[r].begin(), step.comm[r].end(),
                         [](const CommSpan& a, const CommSpan& b) { return a.start < b.start; });
        cutOverlaps(step.ranks[r], step.index, r, log);
    }
    step.fitWindow();
}

} // namespace

Result<std::vector<StepTimeline>> assembleSteps(const FoundOps& found, const Layout& layout, const std::string& where,
                                                DiagnosticLog& log) {
    std::map<StepKey, std::pair<StepTimeline, Tally>> steps;
    bool any_backward = false;
    for (const FoundOp& op : found.ops) {
        if (!layout.rank_of_home.contains(op.home)) continue; // an optimizer's on a rank without pipeline ops
        const Location place = layout.locate(op, found.parts);
        const TimelineOp timed{{op.kind, Microbatch{static_cast<std::int32_t>(op.microbatch)}, place.chunk,
                                static_cast<std::int32_t>(op.sequence), op.overlapped},
                               op.start,
                               op.end,
                               op.lateness,
                               op.device_idle,
                               op.exposed_comm};
        const StepKey key{op.step, op.replica};
        auto known = steps.find(key);
        if (known == steps.end()) known = steps.try_emplace(key, emptyStep(layout, key), Tally(layout)).first;
        auto& [step, tally] = known->second;
        step.ranks[place.rank.index()].push_back(timed);
        tally.add(place.rank, timed.op);
        any_backward = any_backward || (op.kind != OpKind::Forward && op.kind != OpKind::Optimizer);
    }

    std::vector<StepTimeline> complete;
    std::optional<Sentence> first_fault;
    std::map<StepKey, std::size_t> place_of_step;
    for (auto& [key, entry] : steps) {
        const auto fault = entry.second.fault(any_backward);
        if (!fault) {
            place_of_step[key] = complete.size();
            complete.push_back(std::move(entry.first));
            continue;
        }
        const Sentence text = say("{}: {}", nameStep(key), *fault);
        log.add("incomplete-step", text, say("steps that miss ops, or hold one twice, are not analysed"));
        if (!first_fault) first_fault = text;
    }
    if (complete.empty()) {
        return inputError(where,
                          fmt::format("none of the {} steps is complete ({})", steps.size(),
                                      first_fault.value_or(say("there is none")).text()),
                          "record at least one whole step on all pipeline ranks");
    }
    for (const FoundComm& comm : found.comm) {
        if (const auto place = place_of_step.find({comm.step, comm.replica}); place != place_of_step.end()) {
            addComm(comm, layout, complete[place->second], log);
        }
    }
    for (StepTimeline& step : complete)
        finishStep(step, log);
    return complete;
}

} // namespace bubblescope
