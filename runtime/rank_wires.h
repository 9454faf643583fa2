#pragma once

#include "core/base/process_team.h"
#include "runtime/backend/host_clock.h"
#include "runtime/comm/process_wires.h"
#include "runtime/model/data_plan.h"
#include "runtime/run.h"

#include <memory>

namespace bubblescope::runtime {

/// What the one rank of this process has to reach the others.
struct RankWires {
    std::shared_ptr<RankDevice> device; ///< null on the host
    std::unique_ptr<ProcessWires> wires;
};

/// All processes call it together. Ranks on the host talk by MPI; those on devices by links between these, and besides
/// by whatever joins the team. What is referred to must outlive the wires.
[[nodiscard]] Result<RankWires> openRankWires(const RunConfig& config, const DataPlan& plan, HostClock& clock,
                                              ProcessTeam& team);

} // namespace bubblescope::runtime
