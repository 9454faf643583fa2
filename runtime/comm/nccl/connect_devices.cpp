#include "runtime/comm/nccl/connect_devices.h"

#include "runtime/comm/agree.h"
#include "runtime/comm/nccl/device_data_channel.h"
#include "runtime/comm/nccl/link_plan.h"
#include "runtime/model/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// Enough to keep a GPU busy while the host is delayed.
constexpr std::size_t kOpsAhead = 16;

struct JoinLimit {
    HostClock& clock;
    TimeNs timeout{0};
};

/// The root makes the ids of all links: they must come from a process that lives until all have connected.
Result<std::vector<std::string>> idsOf(std::size_t links, PeerLibrary& library, ProcessTeam& team) {
    std::string all;
    Status made;
    try {
        for (std::size_t i = 0; team.isRoot() && i < links; ++i)
            all += library.makeId();
    } catch (const std::exception& e) {
        made = runError(fmt::format("rank 0: {}", e.what()));
    }
    BUBBLESCOPE_TRY(agree(std::move(made), team));
    BUBBLESCOPE_ASSIGN(all, team.broadcast(std::move(all)));
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < links; ++i)
        ids.push_back(all.substr(i * (all.size() / links), all.size() / links));
    return ids;
}

/// The result of a rank's attempt to connect. A rank that fails makes the others wait, so its error explains more than
/// their timeouts.
struct Outcome {
    std::string error; ///< empty = connected
    bool timeout = false;
};

Status agreeOn(const Outcome& own, ProcessTeam& team) {
    const std::string text = own.error.empty() ? std::string() : (own.timeout ? "t" : "e") + own.error;
    BUBBLESCOPE_ASSIGN(std::vector<std::string> all,
                       team.exchange(std::vector(static_cast<std::size_t>(team.size()), text)));
    std::erase(all, std::string());
    if (all.empty()) return {};
    const auto told = std::ranges::find(all, 'e', [](const std::string& error) { return error.front(); });
    return runError((told == all.end() ? all.front() : *told).substr(1),
                    "NCCL_DEBUG=INFO makes NCCL say what it tries; --timeout says how long it may take");
}

Outcome waitUntilConnected(DeviceDataChannel& data, const JoinLimit& limit, Rank self) {
    constexpr TimeNs kNap{1'000'000};
    const TimeNs end = limit.clock.now() + limit.timeout;
    while (!data.connected()) {
        if (limit.clock.now() >= end) {
            return {fmt::format("rank {}: {} could not be joined within {}", self.value, data.waitsFor(),
                                formatTime(limit.timeout)),
                    true};
        }
        limit.clock.sleepUntil(limit.clock.now() + kNap);
    }
    return {};
}

/// Connects all links. All processes of the team, each of which is one rank, call it together. Error: Run, equal on all
/// processes, if one of them could not connect.
Result<std::unique_ptr<DataChannel>> joinByLinks(const LinkContext& context, std::vector<PeerLink> links,
                                                 const JoinLimit& limit, ProcessTeam& team) {
    BUBBLESCOPE_ASSIGN(std::vector<std::string> ids, idsOf(links.size(), *context.library, team));
    const Rank self{team.rank()};
    std::unique_ptr<DeviceDataChannel> data;
    Outcome joined;
    try {
        data = std::make_unique<DeviceDataChannel>(context, std::move(links), std::move(ids), self);
        joined = waitUntilConnected(*data, limit, self);
    } catch (const std::exception& e) {
        joined.error = fmt::format("rank {}: {}{}", self.value,
                                   data ? data->waitsFor() + " could not be joined: " : std::string(), e.what());
    }
    BUBBLESCOPE_TRY(agreeOn(joined, team));
    return std::unique_ptr<DataChannel>(std::move(data));
}

/// The shapes of the arrays in a run's messages.
std::function<ArrayShape(const MessageKey&)> shapesOf(const PeerJob& job, Storage activations, std::int64_t alignment) {
    return [job, activations, alignment, slices = job.plan.slices()](const MessageKey& key) -> ArrayShape {
        if (key.content == Content::GradientSum) {
            StageTask task = job.plan.taskOf(key.consumer);
            task.shard.size = job.mesh.tensor_ranks;
            return {flatLayout(job.model, task, alignment).size, 1, Storage::Float};
        }
        const bool part = key.content == Content::Part; // `sequence` then counts sums
        const int slice = part ? 0 : key.sequence;
        const int length = job.model.sequence * (slice + 1) / slices - job.model.sequence * slice / slices;
        return {std::int64_t{job.model.batch} * length, std::int64_t{job.model.width},
                part ? Storage::Float : activations};
    };
}

} // namespace

DeviceConnector connectDevices(std::shared_ptr<PeerLibrary> library) {
    if (library == nullptr) return {};
    return [library = std::move(library)](const std::shared_ptr<RankQueue>& queue, Storage activations,
                                          const PeerJob& job,
                                          ProcessTeam& team) -> Result<std::unique_ptr<DataChannel>> {
        const int slices = job.plan.slices();
        if (job.mesh.tensor_ranks > 1 && job.model.sequence % slices != 0) {
            return usageError(
                fmt::format("sequences of {} tokens cannot be cut into {} equal slices", job.model.sequence, slices),
                "GPUs of several processes that share stages need equal ones: choose another --sequence");
        }
        queue->limitAhead(kOpsAhead);
        return joinByLinks({library, queue, shapesOf(job, activations, queue->traits().alignment), job.paced},
                           planLinks(job.schedule, job.plan, job.mesh), {job.clock, job.timeout}, team);
    };
}

} // namespace bubblescope::runtime
