#include "core/graph/rendezvous.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

class Rendezvous {
public:
    Rendezvous(const OpGraph& graph, SendMode mode, RendezvousListener& listener)
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
        OpIndex next = 0;                ///< the op to run after the groups
        OpIndex ahead = 0;               ///< no op before it, beyond `next`, has a receive that is not posted
        std::vector<Endpoint> endpoints; ///< group after group, between the op that ran last and the next
        std::vector<std::size_t> group_ends;
        std::vector<Endpoint> sends; ///< kept for their memory only, as is the next
        std::vector<Endpoint> receives;
        std::size_t group = 0;  ///< the one at hand
        bool announced = false; ///< it is posted
    };

    static std::uint8_t bit(const Endpoint& end) { return end.send ? 1 : 2; }
    [[nodiscard]] bool posted(const Endpoint& end) const {
        return (posted_[static_cast<std::size_t>(end.consumer)] & bit(end)) != 0;
    }

    static std::span<const Endpoint> currentGroup(const RankState& state) {
        const std::size_t begin = state.group == 0 ? 0 : state.group_ends[state.group - 1];
        return std::span(state.endpoints).subspan(begin, state.group_ends[state.group] - begin);
    }

    /// As far as the rank can go.
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

    /// The groups after one op, or pair that begins with it, and before another; kNoOp at the list's ends.
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
    RendezvousListener& listener_;
    std::vector<std::uint8_t> posted_; ///< per op: what was posted of the transfer that feeds it
    std::vector<RankState> ranks_;
    std::vector<Rank> runnable_;
};

} // namespace

std::vector<Endpoint> runRendezvous(const OpGraph& graph, SendMode mode, RendezvousListener& listener) {
    return Rendezvous(graph, mode, listener).run();
}

} // namespace bubblescope
