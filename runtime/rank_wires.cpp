#include "runtime/rank_wires.h"

#include "runtime/agree.h"
#include "runtime/comm/control_source.h"
#include "runtime/comm/mpi/mpi_job.h"
#include "runtime/comm/system_clock_name.h"

#include <exception>
#include <string>
#include <utility>

namespace bubblescope::runtime {
namespace {

Result<std::unique_ptr<ControlChannel>> openControl(ProcessTeam& team) {
    if (auto* const source = dynamic_cast<ControlSource*>(&team)) return source->openControl();
    return openJobControl();
}

Result<std::shared_ptr<RankDevice>> openDevice(Backend& backend, ProcessTeam& team) {
    std::shared_ptr<RankDevice> device;
    Status opened;
    try {
        device = backend.openRank();
    } catch (const std::exception& e) {
        opened = runError(e.what());
    }
    BUBBLESCOPE_TRY(agree(std::move(opened), team));
    return device;
}

} // namespace

Result<RankWires> openRankWires(const RunConfig& config, const DataPlan& plan, HostClock& clock, ProcessTeam& team) {
    RankWires rank;
    if (!config.backend) {
        BUBBLESCOPE_ASSIGN(rank.wires, openJobWires(config.schedule, plan, clock, config.timeout));
        return rank;
    }
    BUBBLESCOPE_ASSIGN(rank.device, openDevice(*config.backend, team));
    const PeerJob job{config.schedule, plan,         RunMesh{config.schedule.pp, config.replicas, config.tensor_ranks},
                      config.model,    config.paced, clock,
                      config.timeout};
    BUBBLESCOPE_ASSIGN(std::unique_ptr<DataChannel> data, config.backend->connect(*rank.device, job, team));
    BUBBLESCOPE_ASSIGN(std::unique_ptr<ControlChannel> control, openControl(team));
    const std::string own = systemClockName();
    BUBBLESCOPE_ASSIGN(const std::string root, team.broadcast(own));
    BUBBLESCOPE_ASSIGN(rank.wires, ProcessWires::open({Rank{team.rank()}, team.size(), clock, config.timeout,
                                                       own != root, std::move(data), std::move(control)}));
    return rank;
}

} // namespace bubblescope::runtime
