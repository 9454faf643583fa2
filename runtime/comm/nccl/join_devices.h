#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "runtime/backend/host_clock.h"
#include "runtime/comm/nccl/device_data.h"

#include <memory>
#include <vector>

namespace bubblescope::runtime {

struct JoinLimit {
    HostClock& clock;
    TimeNs timeout{0};
};

/// Joins the devices of all processes of the team, each of which is one rank, by these links; all call it together.
/// Errors: Run, the same on all, when one of them could not join.
[[nodiscard]] Result<std::unique_ptr<DataChannel>> joinDevices(const LinkContext& context, std::vector<PeerLink> links,
                                                               JoinLimit limit, ProcessTeam& team);

} // namespace bubblescope::runtime
