#pragma once

#include "core/graph/cost_table.h"
#include "core/graph/rendezvous.h"
#include "core/graph/timeline_recorder.h"

#include <span>
#include <vector>

namespace bubblescope {

/// The clock beside runRendezvous(): when each rank runs and waits where sends block, as simulate.h states it.
class RendezvousSimulation final : public RendezvousListener {
public:
    RendezvousSimulation(const CostTable& costs, const OpGraph& graph, bool on_compute_stream,
                         TimelineRecorder& recorder);

    void run(OpIndex op, OpIndex partner) override;
    void post(Rank rank, const Endpoint& end) override;
    void finish(Rank rank, std::span<const Endpoint> group) override;

private:
    struct Posting {
        TimeNs latest{0};      ///< by the later of the two ranks so far
        TimeNs stream_free{0}; ///< of what its sender sent before
    };

    const CostTable& costs_;
    const OpGraph& graph_;
    bool on_compute_stream_;
    TimelineRecorder& recorder_;
    std::vector<TimeNs> free_;        ///< per rank: when its next part can begin
    std::vector<TimeNs> stream_free_; ///< per communication stream
    std::vector<Posting> postings_;   ///< of a transfer, by the op it feeds
};

} // namespace bubblescope
