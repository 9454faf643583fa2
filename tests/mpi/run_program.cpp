// run_program CASE: one of the processes that mpirun started; each is a rank of a run. Prints what is wrong and ends
// with 1, or one line for each process with what it saw, which CTest looks for.

#include "core/bubble/analysis.h"
#include "core/recognise/run.h"
#include "core/schedule/registry.h"
#include "core/schedule/validate.h"
#include "runtime/launch/session.h"
#include "runtime/run_processes.h"
#include "tests/mpi/mpi_wires_checks.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;

int wrong(const ProcessTeam& team, const std::string& what) {
    fmt::print(stderr, "rank {}: {}\n", team.rank(), what);
    return 1;
}

RunConfig smallRun(Schedule schedule) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 6;
    config.model.sequence = 5;
    config.steps = 2; // receives are posted ahead from the second on
    config.paced = false;
    return config;
}

std::string nameOf(const RunConfig& config) {
    const Schedule& schedule = config.schedule;
    return fmt::format("{}/{} p={} m={} v={} dp={}", schedule.name, schedule.flavor, schedule.pp, schedule.microbatches,
                       schedule.vpp, config.replicas);
}

/// The smallest order that a flavor has for so many ranks and chunks; slices where it cuts sequences.
std::optional<Schedule> smallest(std::string_view family, std::string_view flavor, int pp, int vpp) {
    for (const int microbatches : {4, 6, 8}) {
        ScheduleSpec spec{std::string(family), std::string(flavor), pp, microbatches, vpp};
        spec.sequence_slices = 2;
        auto made = makeSchedule(spec);
        if (made.ok() && validate(made.value()).empty() && made.value().vpp == vpp) return std::move(made).value();
    }
    return std::nullopt;
}

/// All flavors of the registry; unit tests run them in all sizes with threads.
std::vector<Schedule> allSchedules(int pp) {
    std::vector<Schedule> all;
    const auto add = [&](const ScheduleFamily& family, std::string_view flavor) {
        for (const int vpp : {1, 2}) {
            if (auto schedule = smallest(family.name, flavor, pp, vpp)) all.push_back(std::move(*schedule));
        }
    };
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.flavors.empty()) add(family, "");
        for (const std::string_view flavor : family.flavors)
            add(family, flavor);
    }
    return all;
}

/// Empty if the processes trained what one thread trains, bit for bit.
std::string compared(const RunConfig& config, ProcessTeam& team) {
    JobControl control;
    const ProcessRun ran = runOverProcesses(config, control, team);
    if (!ran.summary.ok()) return nameOf(config) + ": " + ran.summary.error().text();
    const RunSummary& summary = ran.summary.value();
    if (!team.isRoot()) return {};
    const auto reference = runReference(config);
    const auto threads = runPipeline(config, control);
    if (!reference.ok() || !threads.ok()) return nameOf(config) + ": there is nothing to compare with";
    if (summary.losses != reference.value().losses) return nameOf(config) + ": losses differ from the reference's";
    if (summary.weights_digest != reference.value().weights_digest) return nameOf(config) + ": weights differ";
    if (summary.ops != threads.value().ops) return nameOf(config) + ": another number of ops than with threads";
    if (summary.memory.size() != threads.value().memory.size()) return nameOf(config) + ": memory is incomplete";
    for (std::size_t r = 0; r < summary.memory.size(); ++r) {
        if (summary.memory[r].total() != threads.value().memory[r].total())
            return fmt::format("{}: rank {} held other memory than with threads", nameOf(config), r);
    }
    return {};
}

int schedules(ProcessTeam& team) {
    std::size_t count = 0;
    for (Schedule& schedule : allSchedules(team.size())) {
        const std::string difference = compared(smallRun(std::move(schedule)), team);
        if (!difference.empty()) return wrong(team, difference);
        ++count;
    }
    for (const auto& [family, vpp] : {std::pair{"1f1b", 1}, {"interleaved", 2}, {"dualpipe", 2}}) {
        RunConfig config = smallRun(smallest(family, "", team.size() / 2, vpp).value()); // half as many ranks, twice
        config.replicas = 2;
        const std::string difference = compared(config, team);
        if (!difference.empty()) return wrong(team, difference);
        ++count;
    }
    if (team.isRoot()) fmt::print("{} runs equal their references\n", count);
    return count > 25 ? 0 : wrong(team, "the registry is nearly empty");
}

/// Of paced steps in which no op was late the bubbles must be within 5 % of the closed form; a loaded machine may leave
/// few of them, but not none.
int bubbles(ProcessTeam& team) {
    const auto folder_text = [&]() -> std::string {
        static const bubblescope::test::ScratchFolder scratch;
        return scratch.path().string();
    };
    for (const char* const name : {"1f1b", "zb-h1", "interleaved"}) {
        auto made = makeSchedule({name, "", team.size(), 8, std::string_view(name) == "interleaved" ? 2 : 1});
        if (!made.ok()) return wrong(team, made.error().text());
        RunConfig config = smallRun(std::move(made).value());
        config.paced = true;
        config.steps = 6;
        config.times.times = {10ms, 20ms, 10ms, 10ms, TimeNs{0}};
        const auto folder = team.broadcast(team.isRoot() ? folder_text() : std::string());
        config.out_dir = folder.value();
        JobControl control;
        const ProcessRun ran = runOverProcesses(config, control, team);
        if (!ran.summary.ok()) return wrong(team, ran.summary.error().text());
        if (!team.isRoot()) continue;
        const auto loaded = loadRun({config.out_dir}, control);
        if (!loaded.ok()) return wrong(team, loaded.error().text());
        if (!loaded.value().problems.empty()) return wrong(team, loaded.value().problems.front().message);
        int punctual = 0;
        for (const StepTimeline& step : loaded.value().steps) {
            bool late = false;
            for (const auto& rank : step.ranks) {
                for (const TimelineOp& op : rank)
                    late = late || op.lateness > config.pace_tolerance;
            }
            const StepAnalysis analysis = analyzeStep(step, loaded.value().schedule);
            if (late || !analysis.form) continue;
            ++punctual;
            const double expected = analysis.form->bubble_rate;
            if (std::abs(analysis.rates.over_makespan - expected) > 0.05 * expected) {
                return wrong(team, fmt::format("{}, step {}: a bubble rate of {:.4f}, the closed form has {:.4f}", name,
                                               step.index, analysis.rates.over_makespan, expected));
            }
        }
        fmt::print("{}: {} of {} steps without a late op, all within 5 % of the closed form\n", name, punctual,
                   loaded.value().steps.size());
        if (punctual == 0) fmt::print("{}: skipped, the machine is too busy\n", name);
    }
    return 0;
}

/// A run with a fault that ends it: each process tells what it was told.
int fault(ProcessTeam& team, const std::string& text, bool all_alive) {
    RunConfig config = smallRun(makeSchedule({"1f1b", "", team.size(), 4, 1}).value());
    config.faults.push_back(parseFault(text).value());
    config.timeout = 2s;
    JobControl control;
    const ProcessRun ran = runOverProcesses(config, control, team);
    if (ran.summary.ok()) return wrong(team, "the run ended well");
    if (ran.summary.error().kind != ErrorKind::Run) return wrong(team, "another kind of error");
    fmt::print("rank {} was told: {}\n", team.rank(), ran.summary.error().message);
    std::fflush(stdout);
    if (ran.all_alive != all_alive) return wrong(team, "who is alive is not known");
    if (!ran.all_alive) std::_Exit(0); // as main() does
    return 0;
}

int runCase(std::string_view name, ProcessTeam& team) {
    if (name == "schedules") return schedules(team);
    if (name == "bubbles") return bubbles(team);
    if (name == "wires") {
        const std::string difference = test::checkMpiWires(team.rank(), team.size());
        return difference.empty() ? 0 : wrong(team, difference);
    }
    if (name == "fail") return fault(team, "flip:F1,rank=1,step=1,bit=999999", true);
    if (name == "hang") return fault(team, "hang:rank=2,step=1,op=B0", true);
    if (name == "die") return fault(team, "die:rank=1,step=1,op=F2", false);
    if (name == "die-root") return fault(team, "die:rank=0,step=1,op=F2", false);
    return wrong(team, "no such case");
}

} // namespace
} // namespace bubblescope::runtime

int main(int argc, char** argv) {
    using namespace bubblescope;
    const auto started = LaunchSession::start();
    if (!started.ok()) return fmt::print(stderr, "{}\n", started.error().text()), 1;
    LaunchSession& session = *started.value();
    if (argc != 2 || session.team() == nullptr) return fmt::print(stderr, "not started as expected\n"), 1;
    const int result = runtime::runCase(argv[1], *session.team());
    if (result != 0) session.abort(result); // the others may be waiting
    return 0;
}
