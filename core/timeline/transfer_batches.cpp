#include "core/timeline/transfer_batches.h"

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

/// Identifies a transfer within a step.
struct TransferKey {
    Payload payload;
    std::int32_t stage;
    std::int32_t microbatch;
    std::int32_t sequence;

    explicit TransferKey(const CommSpan& span)
        : payload(span.payload), stage(span.stage.value), microbatch(span.microbatch.value), sequence(span.sequence) {}
    friend auto operator<=>(const TransferKey&, const TransferKey&) = default;
};

/// A direction between two ranks.
using LinkEnds = std::pair<std::int32_t, std::int32_t>; ///< from, to

std::optional<Rank> rankOf(const StepTimeline& step, int stage) {
    if (stage < 0 || stage >= step.pp * step.vpp) return std::nullopt;
    return locate(step.placement, step.pp, Stage{stage}).rank;
}

/// The link of a transfer; `span` may be either side.
std::optional<LinkEnds> linkOf(const StepTimeline& step, const CommSpan& span) {
    const auto [producer, consumer] =
        transferStages(step.placement, step.pp * step.vpp, span.payload, span.stage.value);
    const auto from = rankOf(step, producer);
    const auto to = rankOf(step, consumer);
    if (!from || !to) return std::nullopt;
    return LinkEnds{from->value, to->value};
}

bool carries(const CommSpan& span, const Op& op) {
    return span.microbatch == op.microbatch && span.sequence == op.sequence && span.payload == payloadOf(op.kind);
}

/// The transfers of a rank between two of its ops.
struct Gap {
    std::span<const CommSpan> spans; ///< those that begin in it

    [[nodiscard]] const CommSpan* find(CommKind kind, const Op& op) const {
        const auto found =
            std::ranges::find_if(spans, [&](const CommSpan& span) { return span.kind == kind && carries(span, op); });
        return found == spans.end() ? nullptr : &*found;
    }
};

struct RankBatches {
    std::vector<TransferBatch> batches;
    std::size_t pairs = 0; ///< number of send-receive pairs with the same peer between two ops
};

/// Examines at most `most` gaps.
RankBatches batchesOf(const StepTimeline& step, std::size_t rank, std::size_t most) {
    RankBatches found;
    const auto& ops = step.ranks[rank];
    const auto& spans = step.comm[rank];
    std::size_t first = 0;
    for (std::size_t i = 1; i < ops.size() && first < spans.size() && most > 0; ++i) {
        const TimelineOp& before = ops[i - 1];
        const TimelineOp& after = ops[i];
        if (after.start <= before.end || before.op.overlapped || after.op.overlapped) continue;
        while (first < spans.size() && spans[first].start < before.end)
            ++first;
        std::size_t end = first;
        while (end < spans.size() && spans[end].start < after.start)
            ++end;
        if (end == first) continue;
        --most;
        const Gap gap{std::span(spans).subspan(first, end - first)};
        first = end;
        const CommSpan* const send = gap.find(CommKind::Send, before.op);
        const CommSpan* const receive = gap.find(CommKind::Receive, after.op);
        if (send == nullptr || receive == nullptr) continue;
        const auto there = linkOf(step, *send);
        const auto back = linkOf(step, *receive);
        if (!there || !back || there->second != back->first) continue;
        ++found.pairs;
        const TimeNs near = recordTolerance(receive->end - std::min(send->start, receive->start));
        if (send->end + near >= receive->end && send->end <= after.start)
            found.batches.push_back({send, receive, receive->end});
    }
    return found;
}

/// Examines the last ranks, with at most `gaps` gaps each.
std::vector<TransferBatch> findBatches(const StepTimeline& step, std::size_t last, std::size_t gaps) {
    std::vector<TransferBatch> all;
    const std::size_t ranks = std::min(step.ranks.size(), step.comm.size());
    for (std::size_t r = ranks - std::min(ranks, last); r < ranks; ++r) {
        const RankBatches of_rank = batchesOf(step, r, gaps);
        // A send may end together with a receive by chance.
        if (2 * of_rank.batches.size() < of_rank.pairs) continue;
        all.insert(all.end(), of_rank.batches.begin(), of_rank.batches.end());
    }
    return all;
}

/// Pairs each batch with the peer's batch that holds the same two transfers.
class BatchPairs {
public:
    explicit BatchPairs(std::vector<TransferBatch>& batches) : batches_(batches) {
        for (std::size_t i = 0; i < batches.size(); ++i)
            by_receive_.emplace(TransferKey(*batches[i].receive), i);
    }

    /// Calls visit(batch, other) for each pair once.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < batches_.size(); ++i) {
            const auto other = by_receive_.find(TransferKey(*batches_[i].send));
            if (other == by_receive_.end() || other->second <= i) continue;
            TransferBatch& there = batches_[other->second];
            if (TransferKey(*there.send) == TransferKey(*batches_[i].receive)) visit(batches_[i], there);
        }
    }

    /// True if the two ranks began their records at different times.
    [[nodiscard]] bool recordPosting() const {
        bool apart = false;
        each([&](const TransferBatch& one, const TransferBatch& other) {
            const TimeNs between = one.receive->start - other.receive->start;
            const TimeNs near = recordTolerance(one.receive->end - std::min(one.receive->start, other.receive->start));
            apart = apart || between > near || -between > near;
        });
        return apart;
    }

private:
    std::vector<TransferBatch>& batches_;
    std::map<TransferKey, std::size_t> by_receive_;
};

/// The duration of transfers outside of batches per link, from when both ranks had posted them.
class LoneTransfers {
public:
    /// `batches` must be sorted by receive.
    LoneTransfers(const StepTimeline& step, const std::vector<TransferBatch>& batches) {
        std::map<TransferKey, TimeNs> sent;
        eachOf(step, CommKind::Send, [&](const CommSpan& send) { sent.try_emplace(TransferKey(send), send.start); });
        std::map<LinkEnds, std::vector<TimeNs>> times;
        eachOf(step, CommKind::Receive, [&](const CommSpan& receive) {
            if (std::ranges::binary_search(batches, &receive, {}, &TransferBatch::receive)) return;
            const auto link = linkOf(step, receive);
            const auto from = sent.find(TransferKey(receive));
            if (!link || from == sent.end()) return;
            times[*link].push_back(std::max(TimeNs{0}, receive.end - std::max(from->second, receive.start)));
        });
        for (auto& [link, all] : times) {
            // With two values, the greater one, because a receive posted late may find its data already there.
            const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
            std::ranges::nth_element(all, middle);
            links_[link] = *middle;
        }
    }

    [[nodiscard]] std::optional<TimeNs> on(const std::optional<LinkEnds>& link) const {
        const auto found = link ? links_.find(*link) : links_.end();
        if (found == links_.end()) return std::nullopt;
        return found->second;
    }

private:
    template <class Visit>
    static void eachOf(const StepTimeline& step, CommKind kind, Visit visit) {
        for (const auto& spans : step.comm) {
            for (const CommSpan& span : spans) {
                if (span.kind == kind) visit(span);
            }
        }
    }

    std::map<LinkEnds, TimeNs> links_;
};

/// Determines when the two transfers of a pair of batches ended.
void settleEnds(const StepTimeline& step, TransferBatch& one, TransferBatch& other, const LoneTransfers& lone) {
    one.received = std::min(one.receive->end, other.send->end);
    other.received = std::min(other.receive->end, one.send->end);
    const TimeNs begin = std::max(one.receive->start, other.receive->start);
    const TimeNs took = std::max(one.received, other.received) - begin;
    const TimeNs near = recordTolerance(took);
    const TimeNs between = one.received - other.received;
    if (between > near || -between > near) return;
    const auto into_one = lone.on(linkOf(step, *one.receive));
    const auto into_other = lone.on(linkOf(step, *other.receive));
    if (!into_one || !into_other) return;
    // If the links are about equally fast, or neither shows the delay elsewhere, the two transfers cannot be
    // distinguished.
    const auto [fast, slow] = std::minmax(*into_one, *into_other);
    if (slow - fast <= near || 2 * slow < took) return;
    TransferBatch& quick = *into_one < *into_other ? one : other;
    quick.received = std::min(quick.received, begin + fast);
}

} // namespace

TransferBatches::TransferBatches(const StepTimeline& step) {
    // Ranks at the end of the pipeline start first; a few of them show whether records form batches.
    constexpr std::size_t kTriedRanks = 4;
    constexpr std::size_t kTriedGaps = 16;
    std::vector<TransferBatch> tried = findBatches(step, kTriedRanks, kTriedGaps);
    if (tried.empty() || !BatchPairs(tried).recordPosting()) return;
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    batches_ = findBatches(step, kAll, kAll);
    std::ranges::sort(batches_, {}, &TransferBatch::receive);
    const LoneTransfers lone(step, batches_);
    BatchPairs(batches_).each([&](TransferBatch& one, TransferBatch& other) { settleEnds(step, one, other, lone); });
}

} // namespace bubblescope
