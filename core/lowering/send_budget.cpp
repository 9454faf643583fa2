#include "core/lowering/torch_passes.h"

#include "core/base/field.h"
#include "core/schedule/action_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace bubblescope {
namespace {

/// An action other than a wait. The nodes of a rank are numbered consecutively.
using Node = std::int32_t;
constexpr Node kNone = -1;

/// The order constraints: the order of each rank, sends before their receives, and receives before whatever
/// follows the wait for their send. Kept in a topological order, which narrows searches and is updated as waits move
/// (Pearce and Kelly's algorithm).
class WaitGraph {
public:
    explicit WaitGraph(const LoweredSchedule& lowered) : ends_(lowered) {
        for (std::size_t r = 0; r < lowered.actions.size(); ++r)
            addRank(lowered, r);
        next_.push_back(kNone);
        linkTransfers(lowered);
    }

    /// Returns false if there is a cycle.
    bool sort() {
        std::vector<int> waiting(rank_of_.size(), 0);
        forEachNode([&](Node node) { forEachSuccessor(node, [&](Node after) { ++waiting[at(after)]; }); });
        std::vector<Node> ready;
        forEachNode([&](Node node) {
            if (waiting[at(node)] == 0) ready.push_back(node);
        });
        place_.assign(rank_of_.size(), 0);
        for (std::size_t done = 0; done < ready.size(); ++done) {
            place_[at(ready[done])] = static_cast<int>(done);
            forEachSuccessor(ready[done], [&](Node after) {
                if (--waiting[at(after)] == 0) ready.push_back(after);
            });
        }
        visited_.assign(rank_of_.size(), 0);
        return ready.size() == rank_of_.size();
    }

    [[nodiscard]] Node nodeOf(Rank rank, std::size_t action) const { return node_of_[rank.index()][action]; }
    [[nodiscard]] Node receiveOf(Node send) const { return receive_of_[at(send)]; }

    /// True if `from` must come before `to`.
    bool precedes(Node from, Node to) {
        if (from == to) return true;
        if (place_[at(from)] >= place_[at(to)]) return false;
        bool found = false;
        collect(from, [&](Node node, auto visit) {
            forEachSuccessor(node, [&](Node after) {
                found |= after == to;
                if (!found && place_[at(after)] < place_[at(to)]) visit(after);
            });
        });
        return found;
    }

    /// Makes the rank wait for this send before `node`, which must not precede the send's receive.
    void moveWait(Node send, Node node) {
        const Node receive = receive_of_[at(send)];
        if (const Node old = waited_before_[at(receive)]; old != kNone) std::erase(waits_before_[at(old)], receive);
        waited_before_[at(receive)] = node;
        waits_before_[at(node)].push_back(receive);
        if (place_[at(node)] < place_[at(receive)]) reorder(receive, node);
    }

private:
    static std::size_t at(Node node) { return static_cast<std::size_t>(node); }

    void addRank(const LoweredSchedule& lowered, std::size_t r) {
        auto& nodes = node_of_.emplace_back();
        for (const Action& action : lowered.actions[r]) {
            nodes.push_back(isSendWait(action.kind) ? kNone : static_cast<Node>(rank_of_.size()));
            if (isSendWait(action.kind)) continue;
            if (!rank_of_.empty()) next_.push_back(rank_of_.back() == r ? nodes.back() : kNone);
            rank_of_.push_back(r);
        }
    }

    void linkTransfers(const LoweredSchedule& lowered) {
        receive_of_.assign(rank_of_.size(), kNone);
        send_of_ = waited_before_ = receive_of_;
        waits_before_.resize(rank_of_.size());
        for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
            Node behind = kNone;
            for (std::size_t i = lowered.actions[r].size(); i-- > 0;) {
                const Action& action = lowered.actions[r][i];
                const Node node = node_of_[r][i];
                if (isSend(action.kind)) linkSend(action, node);
                if (isSendWait(action.kind) && behind != kNone) linkWait(action, behind);
                if (node != kNone) behind = node;
            }
        }
    }
    void linkSend(const Action& action, Node node) {
        const auto& end = ends_.receive(payloadOf(action.kind), consumerOf(action), action.microbatch);
        const Node receive = nodeOf(end.rank, static_cast<std::size_t>(end.action));
        receive_of_[at(node)] = receive;
        send_of_[at(receive)] = node;
    }
    void linkWait(const Action& wait, Node behind) {
        const auto& end = ends_.receive(payloadOf(wait.kind), consumerOf(wait), wait.microbatch);
        const Node receive = nodeOf(end.rank, static_cast<std::size_t>(end.action));
        waited_before_[at(receive)] = behind;
        waits_before_[at(behind)].push_back(receive);
    }

    template <class Visit>
    void forEachNode(Visit visit) const {
        for (Node node = 0; at(node) < rank_of_.size(); ++node)
            visit(node);
    }
    template <class Visit>
    void forEachSuccessor(Node node, Visit visit) const {
        for (const Node after : {next_[at(node)], receive_of_[at(node)], waited_before_[at(node)]}) {
            if (after != kNone) visit(after);
        }
    }
    template <class Visit>
    void forEachPredecessor(Node node, Visit visit) const {
        if (node > 0 && next_[at(node - 1)] == node) visit(node - 1);
        if (send_of_[at(node)] != kNone) visit(send_of_[at(node)]);
        for (const Node receive : waits_before_[at(node)])
            visit(receive);
    }

    /// All nodes that `expand` reaches from a node. `expand` receives a node and a function to call for its neighbours.
    template <class Expand>
    std::vector<Node> collect(Node from, Expand expand) {
        std::vector<Node> found{from};
        visited_[at(from)] = 1;
        for (std::size_t next = 0; next < found.size(); ++next) {
            expand(found[next], [&](Node node) {
                if (visited_[at(node)] != 0) return;
                visited_[at(node)] = 1;
                found.push_back(node);
            });
        }
        for (const Node node : found)
            visited_[at(node)] = 0;
        return found;
    }

    /// Restores the order after adding an edge from `from` to `to`, which comes before it in the order.
    void reorder(Node from, Node to) {
        const int low = place_[at(to)];
        const int high = place_[at(from)];
        auto moved = collect(from, [&](Node node, auto visit) {
            forEachPredecessor(node, [&](Node before) {
                if (place_[at(before)] > low) visit(before);
            });
        });
        auto behind = collect(to, [&](Node node, auto visit) {
            forEachSuccessor(node, [&](Node after) {
                if (place_[at(after)] < high) visit(after);
            });
        });
        const auto byPlace = [this](Node node) { return place_[at(node)]; };
        std::ranges::sort(moved, {}, byPlace);
        std::ranges::sort(behind, {}, byPlace);
        moved.insert(moved.end(), behind.begin(), behind.end());
        std::vector<int> places;
        for (const Node node : moved)
            places.push_back(place_[at(node)]);
        std::ranges::sort(places);
        for (std::size_t i = 0; i < moved.size(); ++i)
            place_[at(moved[i])] = places[i];
    }

    TransferEnds ends_;
    std::vector<std::vector<Node>> node_of_; ///< per rank and action; kNone for waits
    std::vector<std::size_t> rank_of_;
    std::vector<Node> next_;                      ///< the next node on its rank
    std::vector<Node> receive_of_;                ///< for sends
    std::vector<Node> send_of_;                   ///< for receives
    std::vector<Node> waited_before_;             ///< for receives: the node after the wait for their send
    std::vector<std::vector<Node>> waits_before_; ///< the receives whose `waited_before_` is that node
    std::vector<int> place_;                      ///< index in a topological order
    std::vector<char> visited_;                   ///< all 0 outside of searches
};

class SendBudget {
public:
    SendBudget(const LoweredSchedule& lowered, int limit)
        : lowered_(lowered), limit_(static_cast<std::size_t>(limit)), graph_(lowered) {}

    bool sort() { return graph_.sort(); }

    Result<std::vector<Action>> limit(Rank rank) {
        pending_.clear();
        moved_.clear();
        std::vector<Action> result;
        const auto& list = lowered_.actions[rank.index()];
        for (std::size_t i = 0; i < list.size(); ++i) {
            const Action& action = list[i];
            if (isSend(action.kind)) {
                while (pending_.size() >= limit_) {
                    const auto wait = waitBefore(graph_.nodeOf(rank, i));
                    if (!wait) return refuse(rank, action);
                    result.push_back(*wait);
                }
                pending_.push_back({action, graph_.nodeOf(rank, i)});
            }
            if (!isSendWait(action.kind) || !wasMoved(action)) result.push_back(action);
            if (isSendWait(action.kind)) std::erase_if(pending_, [&](const Sent& sent) { return waits(action, sent); });
        }
        return result;
    }

private:
    struct Sent {
        Action send;
        Node node = kNone;
    };

    static Action waitFor(Action send) {
        send.kind = send.kind == ActionKind::SendForward ? ActionKind::WaitSendForward : ActionKind::WaitSendBackward;
        send.grouped = false;
        return send;
    }
    static bool waits(const Action& wait, const Sent& sent) { return wait == waitFor(sent.send); }

    bool wasMoved(const Action& wait) {
        const auto found = std::ranges::find(moved_, wait);
        if (found == moved_.end()) return false;
        moved_.erase(found);
        return true;
    }

    /// Moves one wait to just before a node, and returns it.
    std::optional<Action> waitBefore(Node before) {
        auto chosen = pending_.end();
        for (auto sent = pending_.begin(); sent != pending_.end(); ++sent) {
            const Node receive = graph_.receiveOf(sent->node);
            if (graph_.precedes(receive, before)) {
                chosen = sent;
                break;
            }
            if (chosen == pending_.end() && !graph_.precedes(before, receive)) chosen = sent;
        }
        if (chosen == pending_.end()) return std::nullopt;
        const Sent sent = *chosen;
        pending_.erase(chosen);
        graph_.moveWait(sent.node, before);
        moved_.push_back(waitFor(sent.send));
        return moved_.back();
    }

    [[nodiscard]] Error refuse(Rank rank, const Action& send) const {
        std::vector<std::string> outstanding;
        for (const Sent& sent : pending_)
            outstanding.push_back(actionName(lowered_.order, rank, sent.send));
        return usageError(fmt::format("{} cannot be satisfied on rank {} before {}; outstanding: {}",
                                      Field("max_outstanding_sends").is(limit_), rank.value,
                                      actionName(lowered_.order, rank, send),
                                      outstanding.empty() ? "none" : fmt::format("{}", fmt::join(outstanding, ", "))),
                          "raise the limit, or change the order");
    }

    const LoweredSchedule& lowered_;
    std::size_t limit_;
    WaitGraph graph_;
    std::vector<Sent> pending_; ///< oldest first
    std::vector<Action> moved_; ///< waits that were moved forward, so they are left out later
};

} // namespace

Status limitOutstandingSends(LoweredSchedule& lowered, int limit) {
    SendBudget budget(lowered, limit);
    if (!budget.sort())
        return inputError("schedule " + lowered.order.name, "its sends, receives and waits form a cycle");
    std::vector<std::vector<Action>> limited;
    for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
        BUBBLESCOPE_ASSIGN(auto actions, budget.limit(Rank{r}));
        limited.push_back(std::move(actions));
    }
    lowered.actions = std::move(limited);
    return {};
}

} // namespace bubblescope
