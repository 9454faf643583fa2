#pragma once

#include "core/cost/communicators.h"
#include "core/graph/task_graph.h"
#include "core/schedule/action.h"
#include "core/schedule/action_check.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// Index of an action among the actions of all ranks, in rank order.
using ActionIndex = std::int32_t;
inline constexpr ActionIndex kNoAction = -1;

/// The dependencies in a lowered schedule. An event happens once all events that it waits for have happened; which
/// events these are does not depend on times. Therefore, regardless of the ranks' speed, either all events happen, or
/// some wait for each other in a cycle and never happen. The events:
///
/// - An action has passed, so its rank continues. This event waits for the previous action of the rank. An op waits
///   for its receives (with `receive_blocks_compute`, for all earlier receives) and for the UNSHARD of its weights, a
///   WAIT_SEND or WAIT_RECV for its transfer, a WAIT_REDUCE_GRAD for its reduction, a WAIT_OFFLOAD for its OFFLOAD, and
///   a backward for its RELOAD. Posting a send or receive does not wait for anything else.
/// - A call (a send, a receive, or a group of both in one communicator) is at the head of its rank's queue in
///   that communicator. This event waits until the call is posted and the previous call in the queue has ended.
/// - A transfer has ended. This event waits until both of its calls are at the head. For its sender, an eager send ends
///   without the other rank; the receive then still waits for both calls.
/// - A side action has ended. UNSHARD and REDUCE_GRAD share a stream. OFFLOAD and RELOAD use one stream to the host,
///   one from the host, and one for copies between ranks. The event waits for earlier ones on its stream and, for a
///   RELOAD, for its OFFLOAD.
///
/// A send or receive without a counterpart waits only for its queue; checkActions() reports it.
class LoweredGraph {
public:
    /// Payloads small enough for eager sends.
    struct Eager {
        bool activations = false;
        bool gradients = false;
    };

    LoweredGraph(const LoweredSchedule& lowered, const QueueModel& queues, Eager eager);

    [[nodiscard]] const LoweredSchedule& lowered() const { return *lowered_; }
    [[nodiscard]] ActionIndex actionCount() const { return rank_begin_.back(); }
    [[nodiscard]] const Action& action(ActionIndex index) const;
    [[nodiscard]] Rank rank(ActionIndex index) const { return rank_of_[at(index)]; }
    [[nodiscard]] ActionIndex firstOf(Rank rank) const { return rank_begin_[rank.index()]; }
    [[nodiscard]] ActionIndex endOf(Rank rank) const { return rank_begin_[rank.index() + 1]; }
    /// The matching receive or send on the other rank; kNoAction if there is none.
    [[nodiscard]] ActionIndex otherEnd(ActionIndex index) const { return other_[at(index)]; }
    /// The number of a send's or receive's communicator, see Communicators::of().
    [[nodiscard]] std::int64_t communicator(ActionIndex index) const { return communicator_[at(index)]; }

    /// A call: the sends and receives that a rank posted together in one communicator.
    struct Call {
        ActionIndex posted = kNoAction; ///< the last action of the group
        std::int32_t before = -1;       ///< the previous call in the queue
        std::vector<ActionIndex> ends;
    };
    [[nodiscard]] std::int32_t callOf(ActionIndex index) const { return call_of_[at(index)]; }
    [[nodiscard]] const Call& call(std::int32_t index) const { return calls_[static_cast<std::size_t>(index)]; }

    /// True if the action is a send that ends without waiting for the receiver.
    [[nodiscard]] bool isEager(ActionIndex index) const;

    /// The sends and receives that an action waits for, besides the rank's previous action.
    [[nodiscard]] std::span<const TaskIndex> inputs(ActionIndex index) const { return inputs_[at(index)]; }
    /// The side actions that an action waits for.
    [[nodiscard]] std::span<const TaskIndex> sideInputs(ActionIndex index) const { return side_inputs_[at(index)]; }

    /// The previous side action on the same stream; kNoAction for the first one and for other actions.
    [[nodiscard]] ActionIndex sideBefore(ActionIndex index) const { return side_before_[at(index)]; }
    /// The OFFLOAD of a RELOAD; kNoAction for other actions.
    [[nodiscard]] ActionIndex offloadOf(ActionIndex index) const { return offload_of_[at(index)]; }

    // Number of events, which are the tasks of a graph.
    [[nodiscard]] TaskIndex eventCount() const { return 2 * actionCount() + static_cast<TaskIndex>(calls_.size()); }
    [[nodiscard]] TaskIndex passed(ActionIndex index) const { return index; }
    /// The event that a send or receive has ended for its rank, or that a side action has ended.
    [[nodiscard]] TaskIndex ended(ActionIndex index) const { return actionCount() + index; }
    [[nodiscard]] TaskIndex atHead(std::int32_t call) const { return 2 * actionCount() + call; }
    [[nodiscard]] std::vector<TaskEdge> edges() const;

private:
    static std::size_t at(ActionIndex index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] ActionIndex indexOf(const TransferEnds::Place& place) const {
        return place.found() ? firstOf(place.rank) + place.action : kNoAction;
    }
    void pairEnds(const TransferEnds& ends);
    void queueCalls(const QueueModel& queues);
    void linkInputs(const TransferEnds& ends, bool receive_blocks_compute);
    static constexpr std::size_t kSideStreams = 4;
    /// The stream of a side action; for a RELOAD, `offload` is the matching OFFLOAD.
    [[nodiscard]] std::optional<std::size_t> sideStream(const Action& action, ActionIndex offload) const;

    const LoweredSchedule* lowered_;
    Eager eager_;
    std::vector<ActionIndex> rank_begin_;
    std::vector<Rank> rank_of_;
    std::vector<ActionIndex> other_;
    std::vector<std::int64_t> communicator_;
    std::vector<std::int32_t> call_of_;
    std::vector<Call> calls_;
    TaskLists inputs_;
    TaskLists side_inputs_;
    std::vector<ActionIndex> side_before_;
    std::vector<ActionIndex> offload_of_;
};

} // namespace bubblescope
