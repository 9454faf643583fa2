#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

// Sends that wait for the matching receives. Each rank alternates ops with transfers to and from other ranks:
//
//     receive the inputs of op 1, op 1, send its output, receive the inputs of op 2, op 2, send its output, …
//
// An overlapped pair counts as one op with up to two inputs and outputs, in the order of its halves. The sends and
// receives between two ops form groups. All transfers of a group are posted at the same time. For a rank, a group ends
// when each of its transfers has been posted by both ranks. Then the next group is posted, or the next op runs.
//
// - Blocking: every send and receive is a separate group, sends first. Neighbours that send to each other at the same
//   time deadlock, as in the steady phase of 1F1B.
// - Paired: a send is posted together with the next op's first receive from the same rank, as in Megatron's
//   send_forward_recv_backward and send_backward_recv_forward; all other transfers as in Blocking.
// - Batched: all transfers between two ops form one group. The first receive after the group is posted with the group,
//   but the rank waits for it only when it needs the input. In this way, Megatron's interleaved schedule requests the
//   inputs of the next forward and backward in one call.
//
// Transfers between stages of one rank do not need a send.

/// A rank's side of a transfer. A transfer is identified by the op that it feeds.
struct Endpoint {
    OpIndex consumer = kNoOp;
    bool send = false;

    [[nodiscard]] Endpoint other() const { return {consumer, !send}; }
    /// The op after which the transfer is sent, or before which it is received.
    [[nodiscard]] OpIndex op(const OpGraph& graph) const { return send ? graph.producers(consumer).stage : consumer; }
    [[nodiscard]] Rank rank(const OpGraph& graph) const { return graph.rank(op(graph)); }
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

namespace rendezvous_detail {

template <class Listener>
class Rendezvous {
public:
    Rendezvous(const OpGraph& graph, SendMode mode, Listener& listener)
        : graph_(graph), mode_(mode), listener_(listener), posted_(static_cast<std::size_t>(graph.size()), 0),
          ranks_(static_cast<std::size_t>(graph.rankCount())) {}

    std::vector<Endpoint> run() {
        for (int r = graph_.rankCount() - 1; r >= 0; --r) {
            RankState& state = ranks_[Rank{r}.index()];
            state.next = graph_.firstOf(Rank{r});
            plan(Rank{r}, kNoOp, nextOf(Rank{r}));
            runnable_.push_back(Rank{r});
        }
        while (!runnable_.empty()) {
            const Rank rank = runnable_.back();
            runnable_.pop_back();
            advance(rank);
        }
        std::vector<Endpoint> stuck;
        for (const RankState& state : ranks_) {
            if (state.group == state.group_ends.size()) continue;
            const auto group = currentGroup(state);
            stuck.push_back(*std::ranges::find_if(group, [this](const Endpoint& end) { return !posted(end.other()); }));
        }
        return stuck;
    }

private:
    struct RankState {
        OpIndex next = 0;                ///< op to run after the groups
        OpIndex ahead = 0;               ///< all receives for ops from `next` up to `ahead` are posted
        std::vector<Endpoint> endpoints; ///< all groups between the last op and the next
        std::vector<std::size_t> group_ends;
        std::vector<Endpoint> sends; ///< scratch memory of plan()
        std::vector<Endpoint> receives;
        std::size_t group = 0;  ///< the current one
        bool announced = false; ///< true if the current group is posted
    };

    static std::uint8_t bit(const Endpoint& end) { return end.send ? 1 : 2; }
    [[nodiscard]] bool posted(const Endpoint& end) const {
        return (posted_[static_cast<std::size_t>(end.consumer)] & bit(end)) != 0;
    }

    static std::span<const Endpoint> currentGroup(const RankState& state) {
        const std::size_t begin = state.group == 0 ? 0 : state.group_ends[state.group - 1];
        return std::span(state.endpoints).subspan(begin, state.group_ends[state.group] - begin);
    }

    /// Runs the rank as far as possible.
    void advance(Rank rank) {
        RankState& state = ranks_[rank.index()];
        while (true) {
            for (; state.group < state.group_ends.size(); ++state.group) {
                const auto group = currentGroup(state);
                if (!state.announced) postGroup(rank, group);
                if (!std::ranges::all_of(group, [this](const Endpoint& end) { return posted(end.other()); })) return;
                listener_.finish(rank, group);
                state.announced = false;
            }
            const OpIndex op = nextOf(rank);
            if (op == kNoOp) return;
            const OpIndex partner = graph_.partner(op);
            listener_.run(op, partner);
            state.next += partner == kNoOp ? 1 : 2;
            plan(rank, op, nextOf(rank));
        }
    }

    [[nodiscard]] OpIndex nextOf(Rank rank) const {
        const OpIndex next = ranks_[rank.index()].next;
        return next == graph_.endOf(rank) ? kNoOp : next;
    }

    void postGroup(Rank rank, std::span<const Endpoint> group) {
        RankState& state = ranks_[rank.index()];
        for (const Endpoint& end : group)
            post(rank, end);
        state.announced = true;
        if (mode_ != SendMode::Batched) return;
        const OpIndex next = nextOf(rank);
        if (next == kNoOp) return;
        state.ahead = std::max(state.ahead, graph_.partner(next) == kNoOp ? next + 1 : next + 2);
        while (state.ahead < graph_.endOf(rank) && !graph_.receives(state.ahead))
            ++state.ahead;
        if (state.ahead < graph_.endOf(rank)) post(rank, {state.ahead, false});
    }

    void post(Rank rank, const Endpoint& end) {
        if (posted(end)) return; // a receive that was posted ahead
        posted_[static_cast<std::size_t>(end.consumer)] |= bit(end);
        if (posted(end.other())) runnable_.push_back(end.other().rank(graph_));
        listener_.post(rank, end);
    }

    /// Plans the groups between an op (or the first half of a pair) and the next; kNoOp at the ends of the list.
    void plan(Rank rank, OpIndex after, OpIndex before) {
        RankState& state = ranks_[rank.index()];
        state.sends.clear();
        state.receives.clear();
        state.endpoints.clear();
        state.group_ends.clear();
        state.group = 0;
        forEachHalf(after, [&](OpIndex op) {
            const OpIndex consumer = graph_.consumer(op);
            if (consumer == kNoOp || graph_.rank(consumer) == rank) return;
            state.sends.push_back({consumer, true});
        });
        forEachHalf(before, [&](OpIndex op) {
            if (graph_.receives(op)) state.receives.push_back({op, false});
        });
        const auto close = [this, &state] {
            if (mode_ != SendMode::Batched) state.group_ends.push_back(state.endpoints.size());
        };
        for (const Endpoint& send : state.sends) {
            state.endpoints.push_back(send);
            const auto partner = std::ranges::find_if(state.receives, [&](const Endpoint& receive) {
                return mode_ == SendMode::Paired && peer(receive) == peer(send);
            });
            if (partner != state.receives.end()) {
                state.endpoints.push_back(*partner);
                state.receives.erase(partner);
            }
            close();
        }
        for (const Endpoint& receive : state.receives) {
            state.endpoints.push_back(receive);
            close();
        }
        if (mode_ == SendMode::Batched && !state.endpoints.empty()) state.group_ends.push_back(state.endpoints.size());
    }

    [[nodiscard]] Rank peer(const Endpoint& end) const { return end.other().rank(graph_); }

    template <class Visit>
    void forEachHalf(OpIndex op, Visit visit) const {
        if (op == kNoOp) return;
        visit(op);
        if (graph_.partner(op) != kNoOp) visit(graph_.partner(op));
    }

    const OpGraph& graph_;
    SendMode mode_;
    Listener& listener_;
    std::vector<std::uint8_t> posted_; ///< per op: posted sides of the transfer that feeds it
    std::vector<RankState> ranks_;
    std::vector<Rank> runnable_;
};

} // namespace rendezvous_detail

/// Runs a graph that has no missing ops and does not deadlock with asynchronous sends; `mode` must not be Asynchronous.
/// The result depends only on the orders, not on times. Notifies the listener of everything that a rank does, in the
/// rank's order, after everything it depends on:
///
///     run(op, partner)     `partner` is kNoOp unless two ops overlap
///     post(rank, end)      the rank posts its side of a transfer
///     finish(rank, group)  both ranks have posted each transfer of the group, a span of endpoints
///
/// For each rank in a deadlock, returns its side of the first transfer in its group that the other rank has not posted.
/// Empty if there is no deadlock. Linear in ops.
template <class Listener>
[[nodiscard]] std::vector<Endpoint> runRendezvous(const OpGraph& graph, SendMode mode, Listener& listener) {
    return rendezvous_detail::Rendezvous<Listener>(graph, mode, listener).run();
}

} // namespace bubblescope
