#pragma once

#include "core/schedule/op.h"
#include "core/schedule/placement.h"

#include <string>
#include <vector>

namespace bubblescope {

/// The order in which each rank executes its ops in one step. Nothing here carries times.
/// A Schedule may be invalid (it may come from a file): validate() judges it.
struct Schedule {
    std::string name;     ///< family, as in the registry; "custom" for one that belongs to none
    std::string flavor;   ///< whose order it is; empty where the family has only one
    int pp = 1;           ///< p, pipeline ranks
    int microbatches = 1; ///< m
    int vpp = 1;          ///< v, chunks per rank
    Placement placement = Placement::Loop;
    std::vector<std::vector<Op>> ranks; ///< one list per rank, in execution order; size pp

    [[nodiscard]] int stages() const { return pp * vpp; }
    [[nodiscard]] Stage stageOf(Rank rank, Chunk chunk) const {
        return bubblescope::stageOf(placement, pp, rank, chunk);
    }
    [[nodiscard]] std::size_t opCount() const;
};

} // namespace bubblescope
