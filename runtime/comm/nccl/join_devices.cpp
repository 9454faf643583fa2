#include "runtime/comm/nccl/join_devices.h"

#include "runtime/agree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// The root makes the identities of all links: they must come from a process that lives until all have joined.
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

/// What became of a rank's joining. Who cannot join keeps the others waiting, so their timeouts say less than its
/// error.
struct Outcome {
    std::string error; ///< empty = joined
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

Outcome waitUntilConnected(DeviceData& data, const JoinLimit& limit, Rank self) {
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

} // namespace

Result<std::unique_ptr<DataChannel>> joinDevices(const LinkContext& context, std::vector<PeerLink> links,
                                                 JoinLimit limit, ProcessTeam& team) {
    BUBBLESCOPE_ASSIGN(std::vector<std::string> ids, idsOf(links.size(), *context.library, team));
    const Rank self{team.rank()};
    std::unique_ptr<DeviceData> data;
    Outcome joined;
    try {
        data = std::make_unique<DeviceData>(context, std::move(links), std::move(ids), self);
        joined = waitUntilConnected(*data, limit, self);
    } catch (const std::exception& e) {
        joined.error = fmt::format("rank {}: {}{}", self.value,
                                   data ? data->waitsFor() + " could not be joined: " : std::string(), e.what());
    }
    BUBBLESCOPE_TRY(agreeOn(joined, team));
    return std::unique_ptr<DataChannel>(std::move(data));
}

} // namespace bubblescope::runtime
