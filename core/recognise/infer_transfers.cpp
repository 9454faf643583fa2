#include "core/recognise/infer_ops.h"

#include "core/recognise/fit_schedule.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// A payload that crosses between ranks, as seen by one of its two ends.
struct Message {
    OpIndex op = kNoOp;       ///< the op that makes or takes it
    OpIndex consumer = kNoOp; ///< the op that takes it
    Rank peer;
};

/// The interval in which the calls of a step may be made on a rank.
struct Window {
    TimeNs from = TimeNs::min();
    TimeNs to = TimeNs::max();
};

class Inferrer {
public:
    Inferrer(std::span<const RankBlocks* const> ranks, std::span<const std::int64_t> group, const Schedule& schedule,
             std::int64_t& unmatched)
        : ranks_(ranks), group_(group), schedule_(schedule), graph_(schedule), unmatched_(unmatched) {}

    /// `before` and `after` are the neighbours of `step` in time, if there are any.
    void addStep(const CutStep* before, const CutStep& step, const CutStep* after) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto& blocks = step.ranks[r];
            const std::vector<std::size_t> assigned = assignBlocks(blocks, schedule_.ranks[r]);
            if (assigned.empty()) continue; // its ops are omitted as well
            Window sends{blocks.front().host_start, TimeNs::max()};
            if (after != nullptr && !after->ranks[r].empty()) sends.to = after->ranks[r].front().host_start;
            Window receives{TimeNs::min(), blocks.back().host_end};
            if (before != nullptr && !before->ranks[r].empty()) receives.from = before->ranks[r].back().host_end;
            match(step, Rank{r}, CommKind::Send, sends, assigned);
            match(step, Rank{r}, CommKind::Receive, receives, assigned);
        }
    }

    [[nodiscard]] std::vector<FoundComm> take() { return std::move(found_); }

private:
    /// In the order in which the rank ran the ops.
    [[nodiscard]] std::vector<Message> messages(Rank rank, CommKind kind,
                                                const std::vector<std::size_t>& assigned) const {
        std::vector<std::pair<std::size_t, Message>> by_block;
        for (OpIndex op = graph_.firstOf(rank); op < graph_.endOf(rank); ++op) {
            const std::size_t block = assigned[static_cast<std::size_t>(op - graph_.firstOf(rank))];
            if (kind == CommKind::Receive) {
                if (graph_.receives(op)) by_block.push_back({block, {op, op, graph_.rank(graph_.producers(op).stage)}});
                continue;
            }
            const OpIndex to = graph_.consumer(op);
            if (to >= 0 && graph_.rank(to) != rank) by_block.push_back({block, {op, to, graph_.rank(to)}});
        }
        std::ranges::sort(by_block, {}, &std::pair<std::size_t, Message>::first);
        std::vector<Message> out;
        for (const auto& [block, message] : by_block)
            out.push_back(message);
        return out;
    }

    void match(const CutStep& step, Rank rank, CommKind kind, const Window& window,
               const std::vector<std::size_t>& assigned) {
        // By peer if calls name theirs; else all in one order.
        std::map<std::optional<std::int64_t>, std::vector<const HostEvent*>> calls;
        bool told = true;
        for (const HostEvent& call : ranks_[rank.index()]->transfers) {
            if (call.direction != kind || call.at < window.from || call.at >= window.to) continue;
            calls[call.peer].push_back(&call);
            told = told && call.peer;
        }
        if (!told && calls.size() > 1) {
            std::vector<const HostEvent*> all;
            for (auto& [peer, of_peer] : calls)
                all.insert(all.end(), of_peer.begin(), of_peer.end());
            std::ranges::stable_sort(all, {}, &HostEvent::at);
            calls.clear();
            calls[std::nullopt] = std::move(all);
        }
        std::map<std::optional<std::int64_t>, std::vector<Message>> wanted;
        for (const Message& message : messages(rank, kind, assigned))
            wanted[told ? std::optional(group_[message.peer.index()]) : std::nullopt].push_back(message);
        for (const auto& [peer, of_peer] : calls) {
            const auto& needed = wanted[peer];
            if (needed.size() != of_peer.size()) {
                unmatched_ += static_cast<std::int64_t>(of_peer.size());
                continue;
            }
            for (std::size_t i = 0; i < needed.size(); ++i)
                add(step, rank, kind, needed[i], *of_peer[i]);
        }
    }

    void add(const CutStep& step, Rank rank, CommKind kind, const Message& message, const HostEvent& call) {
        const Op& consumer = graph_.op(message.consumer);
        FoundComm comm;
        comm.home = rank.value;
        comm.replica = step.replica;
        comm.step = step.index;
        comm.kind = kind;
        comm.payload = payloadOf(consumer.kind);
        comm.microbatch = consumer.microbatch.value;
        comm.stage = graph_.stage(message.consumer).value;
        comm.start = call.work.start;
        comm.end = call.work.end;
        found_.push_back(comm);
    }

    std::span<const RankBlocks* const> ranks_;
    std::span<const std::int64_t> group_;
    const Schedule& schedule_;
    OpGraph graph_;
    std::int64_t& unmatched_;
    std::vector<FoundComm> found_;
};

} // namespace

std::vector<FoundComm> inferTransfers(std::span<const CutStep> steps, std::span<const RankBlocks* const> ranks,
                                      std::span<const std::int64_t> group, const Schedule& schedule,
                                      std::int64_t& unmatched) {
    Inferrer inferrer(ranks, group, schedule, unmatched);
    for (std::size_t i = 0; i < steps.size(); ++i)
        inferrer.addStep(i > 0 ? &steps[i - 1] : nullptr, steps[i], i + 1 < steps.size() ? &steps[i + 1] : nullptr);
    return inferrer.take();
}

} // namespace bubblescope
