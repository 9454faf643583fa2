#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/dependency.h"

#include <span>
#include <vector>

namespace bubblescope {

// Sends that wait for their receives. A rank's program, of its ops and what they exchange with other ranks, is
//
//     receive what op 1 needs, op 1, send what it made, receive what op 2 needs, op 2, send what it made, …
//
// where an overlapped pair stands for one op with up to two of each, in the order of its halves. The sends and
// receives between two ops form groups, in which all are posted together. A group ends for its rank when each of
// its transfers has been posted by both ranks; the next group is posted then, or the next op runs.
//
// - Blocking: every send and receive is a group of its own, the sends first. Neighbours that send to each
//   other at the same time wait for good, as 1F1B does in its steady part.
// - Paired: a send is posted together with the next op's first receive from the same rank, as Megatron's
//   send_forward_recv_backward and send_backward_recv_forward do; the rest as for Blocking.
// - Batched: all between two ops is one group, and the next receive after it is posted along, though waited for
//   only in its own turn. So Megatron's interleaved schedule does it, which asks for the inputs of the next
//   forward and the next backward in one call.
//
// Transfers between stages of one rank need no send.

/// One rank's part in a transfer. A transfer is known by the op it feeds.
struct Endpoint {
    OpIndex consumer = kNoOp;
    bool send = false;

    [[nodiscard]] Endpoint other() const { return {consumer, !send}; }
    /// The op after which it is sent or before which it is received.
    [[nodiscard]] OpIndex op(const OpGraph& graph) const { return send ? graph.producers(consumer).stage : consumer; }
    [[nodiscard]] Rank rank(const OpGraph& graph) const { return graph.rank(op(graph)); }
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Is told what each rank does, in its rank's order and each part after those it depends on.
class RendezvousListener {
public:
    virtual ~RendezvousListener() = default;
    virtual void run(OpIndex op, OpIndex partner) = 0; ///< `partner` is kNoOp unless two ops overlap
    virtual void post(Rank rank, const Endpoint& end) = 0;
    virtual void finish(Rank rank, std::span<const Endpoint> group) = 0; ///< after all of it was posted on both sides
};

/// Runs a graph that has no missing ops and no deadlock with asynchronous sends. `mode` is one of the others.
/// Returns, per rank that is stuck for good, the first part of its group whose other side is not posted;
/// empty = no deadlock. Linear in ops.
[[nodiscard]] std::vector<Endpoint> runRendezvous(const OpGraph& graph, SendMode mode, RendezvousListener& listener);

} // namespace bubblescope
