#include "core/timeline/transfers.h"

#include "core/schedule/schedule.h"
#include "core/timeline/transfer_batches.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// The first op of a stage whose kind is in `kinds`, tried in order.
std::optional<OpPlace> findOpAt(const StepTimeline& step, Stage stage, MicrobatchSlice slice,
                                std::initializer_list<OpKind> kinds) {
    if (stage.value < 0 || stage.value >= step.pp * step.vpp) return std::nullopt;
    const Location at = locate(step.placement, step.pp, stage);
    const auto findOn = [&](Rank rank) -> std::optional<OpPlace> {
        if (rank.index() >= step.ranks.size()) return std::nullopt;
        const auto& ops = step.ranks[rank.index()];
        for (const OpKind kind : kinds) {
            const auto found = std::ranges::find_if(ops, [&](const TimelineOp& timed) {
                return timed.op.kind == kind && microbatchSliceOf(timed.op) == slice && timed.op.chunk == at.chunk;
            });
            if (found != ops.end()) return OpPlace{rank, static_cast<std::size_t>(found - ops.begin())};
        }
        return std::nullopt;
    };
    if (step.placement != Placement::Moving) return findOn(at.rank);
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        if (const auto found = findOn(Rank{rank})) return found;
    }
    return std::nullopt;
}

std::optional<OpPlace> findForward(const StepTimeline& step, int stage, MicrobatchSlice slice) {
    return findOpAt(step, Stage(stage), slice, {OpKind::Forward});
}

std::optional<OpPlace> findBackward(const StepTimeline& step, int stage, MicrobatchSlice slice) {
    return findOpAt(step, Stage(stage), slice, {OpKind::Backward, OpKind::BackwardInput});
}

/// True for the last stage that a micro-batch passes. With two pipelines this may not be the last stage: the second one
/// may be several copies of a smaller model.
bool isLast(const StepTimeline& step, int stage, MicrobatchSlice slice) {
    const int next = stageAfter(step.placement, stage);
    if (next >= stageCount(step.placement, step.pp, step.vpp)) return true;
    return stage % routes(step.placement) == 1 && !findForward(step, next, slice) && !findBackward(step, next, slice);
}

TransferStages stagesOf(const StepTimeline& step, const CommSpan& span) {
    return transferStages(step.placement, step.pp * step.vpp, span.payload, span.stage.value);
}

/// The op of a stage that computes or consumes the payload of a transfer.
std::optional<OpPlace> opOfTransfer(const StepTimeline& step, const CommSpan& span, int stage) {
    return span.payload == Payload::Activation ? findForward(step, stage, microbatchSliceOf(span))
                                               : findBackward(step, stage, microbatchSliceOf(span));
}

/// Identifies a payload within a step, by the number of its transfer.
struct PayloadKey {
    Payload payload{};
    Stage stage;
    MicrobatchSlice slice;
};

/// Values by payload; the first one added counts. One list per stage and direction: a step may have millions of
/// transfers, and those of a stage usually come in the order of their micro-batches, so that little sorting or
/// searching is needed.
template <class Value>
class ByPayload {
public:
    struct Entry {
        std::uint64_t slice;
        Value value;
    };

    /// `expected` is the number of values per payload and stage, if it has any.
    explicit ByPayload(const StepTimeline& step, std::size_t expected = 0)
        : stages_(static_cast<std::size_t>(step.pp) * static_cast<std::size_t>(step.vpp) +
                  (joins(step.placement) ? 1 : 0)),
          expected_(expected), lists_(kPayloads * stages_) {}

    /// Ignores stages that the step does not have: no op consumes what is sent to them.
    void add(const PayloadKey& key, const Value& value) {
        const auto place = listOf(key);
        if (!place) return;
        std::vector<Entry>& list = lists_[*place];
        if (list.empty()) list.reserve(expected_);
        list.push_back({numberOf(key.slice), value});
    }
    /// Call once, after the last add().
    void sort() {
        for (std::vector<Entry>& list : lists_) {
            if (!std::ranges::is_sorted(list, {}, &Entry::slice)) std::ranges::stable_sort(list, {}, &Entry::slice);
        }
    }
    /// All values that were added for a payload, in that order. Linear in their number.
    [[nodiscard]] std::span<Entry> all(const PayloadKey& key) {
        const auto place_of_list = listOf(key);
        if (!place_of_list) return {};
        std::vector<Entry>& list = lists_[*place_of_list];
        const std::uint64_t slice = numberOf(key.slice);
        const std::size_t first = firstOf(list, slice);
        std::size_t end = first;
        while (end < list.size() && list[end].slice == slice)
            ++end;
        return std::span(list).subspan(first, end - first);
    }
    /// The first one; null if there is none. Fast even if there are many.
    [[nodiscard]] Value* find(const PayloadKey& key) {
        const auto place_of_list = listOf(key);
        if (!place_of_list) return nullptr;
        std::vector<Entry>& list = lists_[*place_of_list];
        const std::uint64_t slice = numberOf(key.slice);
        const std::size_t first = firstOf(list, slice);
        return first < list.size() && list[first].slice == slice ? &list[first].value : nullptr;
    }

private:
    static constexpr std::size_t kPayloads = 2;
    static std::uint64_t numberOf(const MicrobatchSlice& slice) {
        return std::uint64_t{static_cast<std::uint32_t>(slice.sequence)} << 32U |
               static_cast<std::uint32_t>(slice.microbatch.value);
    }
    /// The index of the first entry of a micro-batch, or where it would be.
    static std::size_t firstOf(const std::vector<Entry>& list, std::uint64_t slice) {
        // If each micro-batch occurs once, its number is its index.
        if (slice < list.size() && list[slice].slice == slice && (slice == 0 || list[slice - 1].slice != slice))
            return slice;
        return static_cast<std::size_t>(std::ranges::lower_bound(list, slice, {}, &Entry::slice) - list.begin());
    }
    [[nodiscard]] std::optional<std::size_t> listOf(const PayloadKey& key) const {
        const auto stage = static_cast<std::size_t>(key.stage.value); // huge if negative
        if (stage >= stages_) return std::nullopt;
        return static_cast<std::size_t>(key.payload) * stages_ + stage;
    }

    std::size_t stages_;
    std::size_t expected_;
    std::vector<std::vector<Entry>> lists_;
};

struct RecordedEnds {
    explicit RecordedEnds(const StepTimeline& step) : sent(step), received(step) {}

    ByPayload<TransferEnd> sent;
    ByPayload<TransferEnd> received;
};

RecordedEnds recordedEnds(const StepTimeline& step, const std::optional<MicrobatchSlice>& slice) {
    RecordedEnds out(step);
    const TransferBatches batches(step);
    for (std::size_t rank = 0; rank < step.comm.size(); ++rank) {
        for (const CommSpan& span : step.comm[rank]) {
            if (slice && microbatchSliceOf(span) != *slice) continue;
            const PayloadKey key{span.payload, span.stage, microbatchSliceOf(span)};
            if (span.kind == CommKind::Send) out.sent.add(key, {Rank(rank), span.start, true});
            if (span.kind == CommKind::Receive) out.received.add(key, {Rank(rank), batches.endOf(span), true});
        }
    }
    out.sent.sort();
    out.received.sort();
    return out;
}

bool passesPayload(OpKind kind) {
    return kind == OpKind::Forward || kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

/// Calls `visit(place, payload, stage)` for each op of the slice that may receive a payload from another stage.
template <class Visit>
void forEachPassing(const StepTimeline& step, const std::optional<MicrobatchSlice>& slice, const Visit& visit) {
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        for (std::size_t i = 0; i < step.ranks[rank].size(); ++i) {
            const Op& op = step.ranks[rank][i].op;
            if (!passesPayload(op.kind) || (slice && microbatchSliceOf(op) != *slice)) continue;
            visit(OpPlace{Rank(rank), i}, payloadOf(op.kind), step.stageOf(Rank(rank), op.chunk).value);
        }
    }
}

} // namespace

std::optional<OpPlace> producerOf(const StepTimeline& step, const OpPlace& place) {
    const Op& op = place.in(step).op;
    const MicrobatchSlice slice = microbatchSliceOf(op);
    const int stage = step.stageOf(place.rank, op.chunk).value;
    const int next = stageAfter(step.placement, stage);
    switch (op.kind) {
    case OpKind::Forward: return findForward(step, stageBefore(step.placement, stage), slice);
    case OpKind::Backward:
    case OpKind::BackwardInput:
        return isLast(step, stage, slice) ? findForward(step, stage, slice) : findBackward(step, next, slice);
    case OpKind::BackwardWeight: return findOpAt(step, Stage(stage), slice, {OpKind::BackwardInput});
    case OpKind::Optimizer: break;
    }
    return std::nullopt;
}

std::optional<OpPlace> consumerOf(const StepTimeline& step, const OpPlace& place) {
    const Op& op = place.in(step).op;
    const MicrobatchSlice slice = microbatchSliceOf(op);
    const int stage = step.stageOf(place.rank, op.chunk).value;
    const int next = stageAfter(step.placement, stage);
    switch (op.kind) {
    case OpKind::Forward:
        return isLast(step, stage, slice) ? findBackward(step, stage, slice) : findForward(step, next, slice);
    case OpKind::Backward:
    case OpKind::BackwardInput: return findBackward(step, stageBefore(step.placement, stage), slice);
    case OpKind::BackwardWeight:
    case OpKind::Optimizer: break;
    }
    return std::nullopt;
}

std::optional<OpPlace> producerOf(const StepTimeline& step, const CommSpan& span) {
    return opOfTransfer(step, span, stagesOf(step, span).producer);
}

std::optional<OpPlace> consumerOf(const StepTimeline& step, const CommSpan& span) {
    return opOfTransfer(step, span, stagesOf(step, span).consumer);
}

std::optional<OpPlace> otherHalfOf(const StepTimeline& step, const OpPlace& place) {
    const TimelineOp& half = place.in(step);
    if (!half.op.overlapped) return std::nullopt;
    const auto& ops = step.ranks[place.rank.index()];
    const auto isOther = [&](std::size_t index) {
        return ops[index].op.overlapped && ops[index].start == half.start && ops[index].end == half.end;
    };
    if (place.index > 0 && isOther(place.index - 1)) return OpPlace{place.rank, place.index - 1};
    if (place.index + 1 < ops.size() && isOther(place.index + 1)) return OpPlace{place.rank, place.index + 1};
    return std::nullopt;
}

std::vector<OpTransfer> transfersBetweenRanks(const StepTimeline& step, const std::optional<MicrobatchSlice>& slice) {
    const int stages = step.pp * step.vpp;
    ByPayload<OpPlace> producers(step);
    forEachPassing(step, slice, [&](const OpPlace& place, Payload payload, int stage) {
        const MicrobatchSlice of = microbatchSliceOf(place.in(step).op);
        producers.add({payload, Stage(transferNumber(step.placement, stages, payload, stage)), of}, place);
        const int joined = joinedStage(step.placement, stage);
        if (payload == Payload::Gradient && joined >= 0) producers.add({payload, Stage(joined), of}, place);
    });
    producers.sort();
    RecordedEnds ends = recordedEnds(step, slice);
    std::vector<OpTransfer> out;
    const auto add = [&](const OpPlace& consumer, const PayloadKey& key) {
        const OpPlace* producer = producers.find(key);
        if (producer == nullptr || producer->rank == consumer.rank) return;
        OpTransfer transfer{key.payload, *producer, consumer, {}, {}};
        const TransferEnd* sent = ends.sent.find(key);
        const TransferEnd* received = ends.received.find(key);
        transfer.sent = sent != nullptr ? *sent : TransferEnd{producer->rank, producer->in(step).end, false};
        transfer.received =
            received != nullptr ? *received : TransferEnd{consumer.rank, consumer.in(step).start, false};
        out.push_back(transfer);
    };
    forEachPassing(step, slice, [&](const OpPlace& consumer, Payload payload, int stage) {
        const MicrobatchSlice of = microbatchSliceOf(consumer.in(step).op);
        add(consumer, {payload, Stage(stage), of});
        if (payload == Payload::Activation && joinedStage(step.placement, stage) >= 0)
            add(consumer, {payload, Stage(stages), of});
    });
    return out;
}

void eachTimedTransfer(const StepTimeline& step, const std::function<void(const TimedTransfer&)>& visit) {
    if (std::ranges::all_of(step.comm, &std::vector<CommSpan>::empty)) return;
    const auto stages = static_cast<std::size_t>(std::max(1, step.pp * step.vpp));
    const std::size_t expected =
        std::min(static_cast<std::size_t>(std::max(0, step.microbatches)), step.opCount() / stages + 1);
    constexpr TimeNs kTaken = TimeNs::min(); // already matched by a receive; of several equal entries the first counts
    ByPayload<TimeNs> sent(step, expected);
    for (const std::vector<CommSpan>& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.kind == CommKind::Send) sent.add({span.payload, span.stage, microbatchSliceOf(span)}, span.start);
        }
    }
    sent.sort();
    ByPayload<Rank> ops(step, expected); // ops that consume the payload, if it comes from another rank
    forEachPassing(step, {}, [&](const OpPlace& place, Payload payload, int stage) {
        ops.add({payload, Stage(stage), microbatchSliceOf(place.in(step).op)}, place.rank);
    });
    ops.sort();
    const TransferBatches batches(step);
    const auto isBetweenRanks = [&](const PayloadKey& key) {
        const auto [from, to] = transferStages(step.placement, step.pp * step.vpp, key.payload, key.stage.value);
        const Rank* const producer = ops.find({key.payload, Stage(from), key.slice});
        if (producer == nullptr) return false;
        const auto consumers = ops.all({key.payload, Stage(to), key.slice});
        return std::ranges::any_of(consumers,
                                   [&](const ByPayload<Rank>::Entry& consumer) { return consumer.value != *producer; });
    };
    for (std::size_t rank = 0; rank < step.comm.size(); ++rank) {
        for (const CommSpan& span : step.comm[rank]) {
            if (span.kind != CommKind::Receive) continue;
            const PayloadKey key{span.payload, span.stage, microbatchSliceOf(span)};
            TimeNs* const from = sent.find(key);
            if (from == nullptr || *from == kTaken) continue;
            const TimeNs start = std::exchange(*from, kTaken);
            if (isBetweenRanks(key)) visit({Rank(rank), start, batches.endOf(span)});
        }
    }
}

} // namespace bubblescope
