#pragma once

#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace bubblescope {

/// One direction between two ranks of a replica.
struct LinkKey {
    int replica = 0;
    Rank from;
    Rank to;

    friend auto operator<=>(const LinkKey&, const LinkKey&) = default;
};

struct Transferred {
    std::size_t step = 0; ///< index into the run's steps
    double time = 0;      ///< ns, from when both sides were there
};

/// A receive that ended before its send started, by the record.
struct Backwards {
    std::size_t step = 0; ///< index into the run's steps
    Rank from;
    Rank to;
    TimeNs start{0}; ///< of the receive
    TimeNs end{0};
    TimeNs early{0};
};

/// The transfers of a run of which both sides are recorded. Linear in transfers.
struct TransferSamples {
    std::map<LinkKey, std::vector<Transferred>> links; ///< between different ranks; each by step
    std::vector<Backwards> backwards;                  ///< by step

    explicit TransferSamples(std::span<const StepTimeline> steps);
};

} // namespace bubblescope
