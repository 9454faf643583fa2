#include "core/analysis/clocks/run_clocks.h"

#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/clocks/step_events.h"
#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace bubblescope {

std::string_view clockMethodName(ClockMethod method) {
    switch (method) {
    case ClockMethod::Shared: return "shared";
    case ClockMethod::AsRecorded: return "as recorded";
    case ClockMethod::Aligned: return "aligned";
    }
    return "";
}

std::vector<ClockStep> RunClocks::steps() const {
    std::vector<ClockStep> steps;
    for (const RankClock& rank : ranks) {
        TimeNs before = rank.fit.offset;
        for (const ClockSpan& span : rank.fit.later) {
            steps.push_back({&rank, rank.fit.toReference(span.from), span.within, span.offset - before});
            before = span.offset;
        }
    }
    return steps;
}

TimeNs RunClocks::bound() const {
    // Both ends of a comparison may have an error; the reference itself has none.
    TimeNs largest{0};
    TimeNs second{0};
    for (const RankClock& rank : ranks) {
        second = std::max(second, std::min(largest, rank.fit.bound));
        largest = std::max(largest, rank.fit.bound);
    }
    return largest + second;
}

void moveToReference(StepTimeline& step, std::span<const ClockFit> fits) {
    const auto move = [](auto& spans, const ClockFit& fit) {
        for (auto& span : spans) {
            span.start = fit.toReference(span.start);
            span.end = fit.toReference(span.end);
        }
    };
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        move(step.ranks[r], fits[r]);
        move(step.comm[r], fits[r]);
    }
    step.fitWindow();
}

namespace {

/// The assignment of ranks to clocks.
struct ClockOwners {
    std::map<RankKey, int> clock;
    std::map<RankKey, std::uint32_t> file;
    std::vector<std::string> host; ///< per clock; empty if unknown
};

Result<ClockOwners> findOwners(const Run& run, std::span<const NativeClocks> native, bool one_a_rank) {
    ClockOwners owners;
    BUBBLESCOPE_ASSIGN(owners.file, rankFiles(run));
    std::map<std::string, int> of_host; // by the text that identifies its clock
    std::map<std::uint32_t, int> of_file;
    std::set<RankKey> keys;
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            keys.insert({step.replica, Rank{r}});
    }
    for (const RankKey& key : keys) {
        const auto file = owners.file.find(key);
        std::string host = file != owners.file.end() ? run.inputs()[file->second].host : std::string{};
        std::string name = host;
        if (file != owners.file.end() && file->second < native.size() && native[file->second].host) {
            const RecordedHost& known = *native[file->second].host;
            host = known.name;
            name = known.clock.empty() ? host : known.clock;
        }
        const auto fresh = [&] {
            owners.host.push_back(host);
            return static_cast<int>(owners.host.size()) - 1;
        };
        int clock = 0;
        if (!host.empty()) {
            const auto known = of_host.find(name);
            clock = known != of_host.end() ? known->second : (of_host[name] = fresh());
        } else if (one_a_rank) {
            clock = fresh();
        } else { // nothing shows that ranks without a known file were recorded separately
            const std::uint32_t number = file != owners.file.end() ? file->second : kNoId;
            const auto known = of_file.find(number);
            clock = known != of_file.end() ? known->second : (of_file[number] = fresh());
        }
        owners.clock[key] = clock;
    }
    return owners;
}

struct Events {
    std::vector<Precedence> precedences;
    std::vector<Coincidence> coincidences;
};

Result<Events> collectEvents(const Run& run, const ClockOwners& owners, OpOrder op_order, const ClockOptions& options,
                             std::span<const NativeClocks> native, RunClocks& report) {
    Events events;
    report.transfers = report.op_orders = report.collectives = report.pings = 0;
    for (const StepTimeline& step : run.steps) {
        std::vector<int> clock_of_rank;
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            clock_of_rank.push_back(owners.clock.at({step.replica, Rank{r}}));
        const StepEventCounts counts = addStepEvents(step, clock_of_rank, op_order, events.precedences);
        report.transfers += counts.transfers;
        report.op_orders += counts.op_orders;
    }
    std::vector<int> clock_of_file(run.inputs().size(), -1);
    for (const auto& [key, file] : owners.file)
        clock_of_file[file] = owners.clock.at(key);
    if (std::set(clock_of_file.begin(), clock_of_file.end()).size() > 1) {
        BUBBLESCOPE_ASSIGN(std::vector<FileCollectives> files, extract(run, kCollectives));
        const auto collectives = matchCollectives(std::move(files));
        addCollectives(collectives, clock_of_file, options.collective_spread, events.precedences, events.coincidences);
        report.collectives = collectives.size();
    }
    const int replicas = run.info ? std::max(1, run.info->dp) : 1;
    const int tensor_ranks = run.info ? std::max(1, run.info->tp) : 1;
    const auto clockOf = [&](int rank) { // of the whole run; steps contain the first tensor rank of each
        if (rank < 0 || rank % tensor_ranks != 0) return -1;
        const int place = rank / tensor_ranks;
        const auto clock = owners.clock.find({place % replicas, Rank{place / replicas}});
        return clock == owners.clock.end() ? -1 : clock->second;
    };
    for (const NativeClocks& file : native) {
        for (Ping ping : file.pings) {
            ping.asker = clockOf(ping.asker);
            ping.replier = clockOf(ping.replier);
            if (ping.asker < 0 || ping.replier < 0 || ping.asker == ping.replier) continue;
            addPing(ping, events.precedences);
            ++report.pings;
        }
    }
    return events;
}

Status fitClocks(const Run& run, const ClockOwners& owners, OpOrder op_order, const ClockOptions& options,
                 std::span<const NativeClocks> native, RunClocks& report, bool stepped = false) {
    BUBBLESCOPE_ASSIGN(const Events events, collectEvents(run, owners, op_order, options, native, report));
    const auto clocks = static_cast<int>(owners.host.size());
    const auto fits =
        stepped ? solveSteppedClocks(clocks, events.precedences, events.coincidences, options.limits, options.tolerance)
                : solveClocks(clocks, events.precedences, events.coincidences, options.limits);
    report.residual = TimeNs{0};
    for (RankClock& rank : report.ranks) {
        rank.fit = fits[static_cast<std::size_t>(owners.clock.at({rank.replica, rank.rank}))];
        report.residual = std::max(report.residual, rank.fit.residual);
    }
    return {};
}

std::string nameRank(const RankClock& rank) {
    std::string name = fmt::format("rank {}", rank.rank.value);
    if (rank.replica != 0) name += fmt::format(" of replica {}", rank.replica);
    if (!rank.host.empty()) name += fmt::format(" ({})", rank.host);
    return name;
}

std::string nameInput(const Run& run) {
    if (run.files.empty()) return "the run";
    const std::string first = run.files.front().string();
    return run.files.size() == 1 ? first : fmt::format("{} and {} more", first, run.files.size() - 1);
}

/// The reason why the clocks of a step's ranks cannot be compared; empty if they can.
std::optional<Error> whyUnrelated(const Run& run, const RunClocks& report, const ClockOptions& options) {
    const std::string hint =
        fmt::format("record transfers or collectives in both directions, or use {} if all times are from one clock",
                    Field("clocks").is("off"));
    for (const RankClock& rank : report.ranks) {
        const auto other = std::ranges::find_if(report.ranks, [&](const RankClock& candidate) {
            return candidate.replica == rank.replica && candidate.fit.group != rank.fit.group;
        });
        if (other == report.ranks.end()) continue;
        return inputError(
            nameInput(run),
            fmt::format("cannot align the clocks of {} and {}: no events bound their difference from both sides",
                        nameRank(rank), nameRank(*other)),
            hint);
    }
    if (report.residual <= options.largest_residual) return std::nullopt;
    return inputError(
        nameInput(run),
        fmt::format(
            "cannot align the ranks' clocks: events contradict each other by {}, whatever the clock offsets are",
            formatTime(report.residual)),
        hint);
}

} // namespace

Result<RunClocks> estimateClocks(const Run& run, const ClockOptions& options) {
    RunClocks report;
    BUBBLESCOPE_ASSIGN(const std::vector<NativeClocks> native, extract(run, kNativeClocks)); // by file
    BUBBLESCOPE_ASSIGN(const ClockOwners owners, findOwners(run, native, options.use == ClockUse::Align));
    for (const auto& [key, clock] : owners.clock) {
        RankClock& rank = report.ranks.emplace_back();
        rank.replica = key.first;
        rank.rank = key.second;
        rank.host = owners.host[static_cast<std::size_t>(clock)];
        if (const auto file = owners.file.find(key); file != owners.file.end()) rank.file = file->second;
    }
    const auto nameless = std::ranges::count_if(owners.host, &std::string::empty);
    if (options.use == ClockUse::Off) {
        report.method = owners.host.size() < 2 ? ClockMethod::Shared : ClockMethod::AsRecorded;
        report.reason = "alignment is switched off";
        return report;
    }
    if (owners.host.size() < 2) {
        report.reason = owners.host.empty() || owners.host.front().empty() ? "all times are from one file"
                                                                           : "all ranks ran on " + owners.host.front();
        return report;
    }
    if (options.use == ClockUse::Auto && run.info && nameless == std::ssize(owners.host)) {
        report.reason = "one process wrote all files"; // if several processes had written the files, the files would
                                                       // name the host
        return report;
    }

    OpOrder order = OpOrder::EndToStart;
    BUBBLESCOPE_TRY(fitClocks(run, owners, order, options, native, report));
    if (report.residual > options.tolerance && report.op_orders > 0) { // the ops may include waits
        RunClocks looser = report;
        BUBBLESCOPE_TRY(fitClocks(run, owners, OpOrder::StartToEnd, options, native, looser));
        if (looser.residual < report.residual / 2) {
            report = std::move(looser);
            order = OpOrder::StartToEnd;
        }
    }
    if (report.residual > options.tolerance) { // a clock may have been set during the run
        RunClocks stepped = report;
        BUBBLESCOPE_TRY(fitClocks(run, owners, order, options, native, stepped, true));
        if (stepped.residual < report.residual) report = std::move(stepped);
    }
    // `record` states wall-clock times; without pings, the bounds may be wider than the error of the hosts' time
    // service.
    const bool on_wall_clocks =
        !run.info && std::ranges::any_of(native, [](const NativeClocks& file) { return file.host.has_value(); });
    const bool known_to_differ = options.use == ClockUse::Align || (nameless == 0 && !on_wall_clocks);
    const auto unrelated = whyUnrelated(run, report, options);
    const bool contradicted = std::ranges::any_of(report.ranks, [&](const RankClock& rank) {
        return std::chrono::abs(rank.fit.offset) > rank.fit.bound + options.tolerance || rank.fit.drift != 0 ||
               !rank.fit.later.empty();
    });
    if (unrelated && known_to_differ) return *unrelated;
    if (unrelated || (!known_to_differ && !contradicted)) {
        report.method = ClockMethod::AsRecorded;
        report.reason = nameless == 0 ? "ranks ran on different hosts" : "the files do not name their hosts";
        report.reason +=
            unrelated ? ", and their events do not show clock offsets" : "; their events agree with their clocks";
        for (RankClock& rank : report.ranks) { // trusted at an offset of 0, which is consistent with the events
            rank.fit.bound = unrelated ? TimeNs{0} : rank.fit.bound + std::chrono::abs(rank.fit.offset);
            rank.fit.offset = TimeNs{0};
            rank.fit.drift = 0;
        }
        return report;
    }
    report.method = ClockMethod::Aligned;
    report.reason = options.use == ClockUse::Align ? "alignment was requested"
                    : known_to_differ              ? "ranks ran on different hosts"
                                                   : "events contradict the recorded clocks";
    for (const RankClock& rank : report.ranks)
        report.moved = std::max(report.moved, TimeNs{std::chrono::abs(rank.fit.offset)});
    for (const RankClock& rank : report.ranks) {
        for (const ClockSpan& span : rank.fit.later)
            report.moved = std::max(report.moved, TimeNs{std::chrono::abs(span.offset)});
    }
    return report;
}

Run alignRun(Run run, const RunClocks& clocks) {
    if (clocks.method != ClockMethod::Aligned) return run;
    std::map<RankKey, ClockFit> by_rank;
    for (const RankClock& rank : clocks.ranks)
        by_rank[{rank.replica, rank.rank}] = rank.fit;
    for (StepTimeline& step : run.steps) {
        std::vector<ClockFit> of_step;
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            of_step.push_back(by_rank.at({step.replica, Rank{r}}));
        moveToReference(step, of_step);
    }
    for (CheckRecord& check : run.checks.checks) {
        const auto fit = by_rank.find({check.replica, check.rank});
        if (fit == by_rank.end()) continue;
        check.start = fit->second.toReference(check.start);
        check.end = fit->second.toReference(check.end);
    }
    return run;
}

} // namespace bubblescope
