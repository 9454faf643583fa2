#include "runtime/run.h"

#include "core/base/exception_text.h"
#include "core/base/hash.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/comm/mpi/mpi_job.h"
#include "runtime/comm/process_transport.h"
#include "runtime/run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// The transport of the single rank of this process.
struct RankTransport {
    std::shared_ptr<RankQueue> device; ///< null on the host
    std::unique_ptr<ProcessTransport> transport;
};

Result<std::unique_ptr<ControlChannel>> openControl(ProcessTeam& team) {
    if (auto* const source = dynamic_cast<ControlSource*>(&team)) return source->openControl();
    return openMpiJobControl();
}

Result<std::shared_ptr<RankQueue>> openDevice(Backend& backend, ProcessTeam& team) {
    std::shared_ptr<RankQueue> device;
    Status opened;
    try {
        device = backend.openRank();
    } catch (const std::exception& e) {
        opened = runError(exceptionText(e));
    }
    BUBBLESCOPE_TRY(agree(std::move(opened), team));
    return device;
}

/// Opens the transport; all processes call it together. Ranks on the host communicate over MPI. Ranks on devices use
/// links between the devices, and the team's own connection for everything else. References must outlive the transport.
Result<RankTransport> openTransport(const RunConfig& config, const DataPlan& plan, HostClock& clock,
                                    ProcessTeam& team) {
    RankTransport rank;
    BUBBLESCOPE_ASSIGN(std::shared_ptr<ActivityBoard> board, ActivityBoard::open(team));
    if (!config.backend) {
        BUBBLESCOPE_ASSIGN(rank.transport,
                           openMpiJobTransport(config.schedule, plan, clock, config.timeout, std::move(board)));
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
    BUBBLESCOPE_ASSIGN(rank.transport, ProcessTransport::open({.rank = Rank{team.rank()},
                                                               .size = team.size(),
                                                               .clock = clock,
                                                               .timeout = config.timeout,
                                                               .own_clock = own != root,
                                                               .data = std::move(data),
                                                               .control = std::move(control),
                                                               .board = std::move(board)}));
    return rank;
}

/// Data about each rank that the root needs, except losses.
struct RankSummary {
    MemoryUse memory;
    std::int64_t ops = 0;
    std::int64_t late_ops = 0;
    TimeNs max_lateness{0};
    std::int64_t dropped_records = 0;
    profiler::KernelCounts kernels;
};

template <class Value>
std::string bytesOfValue(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

template <class Value>
Value valueOf(std::string_view bytes) {
    Value value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

/// The digest covers all stages of a copy of the model: each stage's process continues the hash of the previous one.
Result<std::uint64_t> digestAcross(const TrainedStages& stages, const RunConfig& config, ProcessTeam& team) {
    const Schedule& schedule = config.schedule;
    const RunMesh mesh{schedule.pp, config.replicas, config.tensor_ranks};
    const auto routes_count = static_cast<std::size_t>(routes(schedule.placement));
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(mesh.replicas) * routes_count, kFnvOffset);
    const auto goOn = [&](std::uint64_t& hash, const MeshPlace& place, std::size_t s) -> Status {
        const Rank owner = mesh.world(place);
        if (owner.value == team.rank()) hash = stages[mesh.laneOf(place.replica, place.tensor)][s]->digest(hash);
        const std::vector<std::string> same(static_cast<std::size_t>(team.size()), bytesOfValue(hash));
        BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team.exchange(same));
        hash = valueOf<std::uint64_t>(all[owner.index()]);
        return {};
    };
    for (int replica = 0; replica < mesh.replicas; ++replica) {
        for (std::size_t s = 0; s < static_cast<std::size_t>(schedule.stages()); ++s) {
            std::uint64_t& hash = hashes[static_cast<std::size_t>(replica) * routes_count + s % routes_count];
            const Rank rank = locate(schedule.placement, schedule.pp, Stage{s}).rank;
            for (int tensor = 0; tensor < mesh.tensor_ranks; ++tensor)
                BUBBLESCOPE_TRY(goOn(hash, {rank, replica, tensor}, s));
        }
    }
    return oneDigest(hashes);
}

/// Each share of a loss is known to one rank and 0 on all others.
Status addLosses(const std::vector<std::vector<double>>& own, ProcessTeam& team, RunSummary& summary) {
    std::string bytes;
    for (const std::vector<double>& shares : own)
        bytes.append(reinterpret_cast<const char*>(shares.data()), shares.size() * sizeof(double));
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team.gather(std::move(bytes)));
    if (!team.isRoot()) return {};
    std::size_t at = 0;
    for (const std::vector<double>& step : own) {
        std::vector<double> shares(step.size(), 0.0);
        for (double& share : shares) {
            for (const std::string& rank : all)
                share += valueOf<double>(std::string_view(rank).substr(at));
            at += sizeof(double);
        }
        summary.losses.push_back(lossOf(shares));
    }
    return {};
}

Status addShares(const RankSummary& own, ProcessTeam& team, RunSummary& summary) {
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team.gather(bytesOfValue(own)));
    for (const std::string& bytes : all) {
        const auto rank = valueOf<RankSummary>(bytes);
        summary.memory.push_back(rank.memory);
        summary.ops += rank.ops;
        summary.late_ops += rank.late_ops;
        summary.max_lateness = std::max(summary.max_lateness, rank.max_lateness);
        summary.dropped_records += rank.dropped_records;
        if (summary.kernels) *summary.kernels += rank.kernels;
    }
    return {};
}

Result<RunSummary> summarise(EngineResult& result, const profiler::Recorder* recorder, const RunConfig& config,
                             ProcessTeam& team) {
    RunSummary summary;
    BUBBLESCOPE_TRY(addLosses(result.losses, team, summary));
    BUBBLESCOPE_ASSIGN(summary.weights_digest, digestAcross(result.stages, config, team));
    if (config.kernels && recorder != nullptr) summary.kernels.emplace();
    BUBBLESCOPE_TRY(addShares({result.memory.front(), result.ops, result.late_ops, result.max_lateness,
                               recorder != nullptr ? recorder->dropped() : 0,
                               config.kernels ? config.kernels->counts() : profiler::KernelCounts()},
                              team, summary));
    for (int r = 0; recorder != nullptr && r < team.size(); ++r)
        std::ranges::move(profiler::TraceSegmentWriter::filesOf(config.out_dir, Rank{r}),
                          std::back_inserter(summary.files));
    return summary;
}

Status checkTeam(const RunConfig& config, const ProcessTeam& team) {
    const int ranks = RunMesh{config.schedule.pp, config.replicas, config.tensor_ranks}.ranks();
    if (config.adapt)
        return usageError("a run of several processes cannot change its order",
                          "run the ranks as threads of one process");
    if (config.backend && config.dispatch.dynamic())
        return usageError("processes on GPUs receive in a fixed order, so ranks cannot choose ops by readiness",
                          "run the ranks as threads of one process");
    if (team.size() == ranks) return {};
    return usageError(fmt::format("the job has {} processes, but the run has {} ranks", team.size(), ranks),
                      fmt::format("start {} processes, or a single one to run ranks as threads", ranks));
}

Result<RunSummary> runRank(const RunConfig& config, JobControl& control, ProcessTeam& team, bool& all_alive) {
    const std::array own_rank{Rank{team.rank()}};
    BUBBLESCOPE_ASSIGN(std::unique_ptr<RunChecks> planned, RunChecks::plan(config, 1));
    BUBBLESCOPE_TRY(agree(checkDeviceMemory(config, own_rank, planned.get()), team));
    MonotonicClock clock;
    std::unique_ptr<profiler::Recorder> recorder;
    auto opened = openRecorder(config, {Rank{team.rank()}});
    if (opened.ok()) recorder = std::move(opened).value();
    BUBBLESCOPE_TRY(agree(opened.ok() ? Status() : Status(std::move(opened).error()), team));
    recordKernels(config, recorder.get(), Rank{team.rank()});
    const DataPlan plan(config.schedule, config.replicas);
    BUBBLESCOPE_ASSIGN(const RankTransport own, openTransport(config, plan, clock, team));
    const std::unique_ptr<ProcessTransport>& transport = own.transport;

    // Writes the pings from the start immediately, for viewers of the running job; more follow during the run and at
    // its end.
    const std::size_t pings_written = transport->pings().size();
    if (recorder) {
        recorder->addPings(transport->pings());
        transport->onPings([&recorder](std::span<const Ping> pings) { recorder->addPings(pings); });
    }
    const std::unique_ptr<RunChecks> checks = std::move(planned); // uses the transport
    if (checks) {
        checks->recordInto(recorder.get());
        checks->askProcesses(*transport, team.size());
    }
    EngineParts parts = engineParts(config, clock, {transport.get()}, recorder.get(), checks.get());
    if (own.device) parts.devices->open = [&own] { return own.device; };
    parts.die = [] { std::raise(SIGKILL); };
    EngineConfig alike = config; // equal on all processes: a process that ended early would leave the others waiting
    alike.end_early = {};
    Result<EngineResult> ran = runEngine(alike, parts, control);
    all_alive = transport->leave();
    if (recorder) recorder->addPings(std::span(transport->pings()).subspan(pings_written));
    Status written = recorder ? recorder->close(ran.ok() ? std::string() : failureOf(ran.error())) : Status();
    if (const auto error = transport->error()) return *error; // here or elsewhere, in the run or after it
    if (!ran.ok()) return std::move(ran).error();
    BUBBLESCOPE_TRY(agree(std::move(written), team));
    BUBBLESCOPE_ASSIGN(RunSummary summary, summarise(ran.value(), recorder.get(), config, team));
    if (!checks) return summary;
    summary.checks = checks->summary();
    // Each process may have only the plan of its own rank.
    constexpr int kNever = 0;
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all,
                       team.gather(bytesOfValue(summary.checks->steps_to_full.value_or(kNever))));
    for (const std::string& bytes : all) {
        std::optional<int>& steps = summary.checks->steps_to_full;
        const auto its = valueOf<int>(bytes);
        steps = its == kNever || !steps ? std::nullopt : std::optional(std::max(*steps, its));
    }
    return summary;
}

} // namespace

ProcessRun runOverProcesses(const RunConfig& config, JobControl& control, ProcessTeam& team) {
    ProcessRun run{RunSummary{}, true};
    Status fit = checkConfig(config);
    if (fit.ok() && config.movesStages())
        fit = usageError("stages that do not belong to ranks need all ranks in one process", "start a single process");
    if (fit.ok()) fit = checkTeam(config, team);
    if (!fit.ok()) {
        run.summary = std::move(fit).error();
        return run;
    }
    try {
        run.summary = runRank(config, control, team, run.all_alive);
    } catch (const std::exception& e) {
        run.summary = runError(fmt::format("rank {} cannot run: {}", team.rank(), exceptionText(e)));
        run.all_alive = false; // the others may still wait for this process
    }
    return run;
}

} // namespace bubblescope::runtime
