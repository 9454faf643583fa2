#pragma once

#include "core/schedule/schedule.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/comm/message.h"
#include "runtime/model/data_plan.h"

#include <string>
#include <vector>

namespace bubblescope::runtime {

struct LinkMessage {
    Rank from; ///< world ranks
    Rank to;
    MessageKey key;

    friend auto operator<=>(const LinkMessage&, const LinkMessage&) = default;
};

/// The messages of a step over one communicator. Communicators match transfers only by their order, so both ends must
/// know that order in advance.
struct PeerLink {
    /// The index of a member is its rank in the communicator. A one-way link has two members: the sender, then the
    /// receiver.
    std::vector<Rank> members;
    /// If true, messages are sent one by one, in the order in which the sender's list of ops produces them. Otherwise,
    /// all messages of the step are exchanged together, in both directions.
    bool one_way = true;
    std::vector<LinkMessage> messages;
};

/// The purpose of the link from a member's point of view: "link to rank 3: activations". Unique among a rank's links.
[[nodiscard]] std::string purposeOf(const PeerLink& link, Rank self);

/// All links of a run, in an order that is the same for all ranks. For each rank and each of the ranks that it sends
/// to, there is one link for activations and one for gradients. A transfer therefore never waits for a transfer in
/// another direction or of another kind. The receiver may take messages out of arrival order. Ranks with copies of the
/// same stages share one link, over which they exchange the sums of their gradients together. Ranks that share stages
/// have one link for each sum that may be pending (see kPartsUnderWay), over which they exchange the parts of that sum
/// together.
[[nodiscard]] std::vector<PeerLink> planLinks(const Schedule& schedule, const DataPlan& plan, RunMesh mesh);

} // namespace bubblescope::runtime
