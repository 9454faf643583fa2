// run_program CASE: one of the processes that mpirun started; each is a rank of a run. Prints what is wrong and ends
// with 1, or one line for each process with what it saw, which CTest looks for.

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "runtime/launch/session.h"
#include "runtime/model/stage_memory.h"
#include "runtime/run.h"
#include "tests/mpi/check_cases.h"
#include "tests/mpi/heap_watch.h"
#include "tests/mpi/mpi_transport_checks.h"
#include "tests/support/reference_run.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
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
    return fmt::format("{}/{} p={} m={} v={} dp={} tp={}", schedule.name, schedule.flavor, schedule.pp,
                       schedule.microbatches, schedule.vpp, config.replicas, config.tensor_ranks);
}

/// The smallest order of a flavor for these ranks and chunks; with slices if it cuts sequences.
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
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : flavorsOf(family)) {
            for (const int vpp : {1, 2}) {
                if (auto schedule = smallest(family.name, flavor, pp, vpp)) all.push_back(std::move(*schedule));
            }
        }
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
    // Half as many ranks, or a quarter, each stage shared by two.
    for (Schedule& schedule : allSchedules(team.size() / 2)) {
        RunConfig config = smallRun(std::move(schedule));
        config.tensor_ranks = 2;
        const std::string difference = compared(config, team);
        if (!difference.empty()) return wrong(team, difference);
        ++count;
    }
    for (const auto& [family, vpp] : {std::pair{"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}}) {
        RunConfig config = smallRun(smallest(family, "", team.size() / 4, vpp).value());
        config.replicas = config.tensor_ranks = 2;
        const std::string difference = compared(config, team);
        if (!difference.empty()) return wrong(team, difference);
        ++count;
    }
    if (team.isRoot()) fmt::print("{} runs equal their references\n", count);
    return count > 25 ? 0 : wrong(team, "the registry is nearly empty");
}

/// Ops whose end moved, since the machine was through with them beyond the tolerance after their nominal end.
bool keptPace(const StepTimeline& step, const RunConfig& config) {
    for (const auto& ops : step.ranks) {
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i].op;
            if (op.kind == OpKind::Optimizer) continue; // takes the machine's time
            TimeNs nominal = config.times.times.of(op.kind);
            if (op.overlapped) { // as long as both halves
                const bool second = i > 0 && ops[i - 1].start == ops[i].start;
                nominal += config.times.times.of(ops[second ? i - 1 : i + 1].op.kind);
            }
            if (ops[i].duration() != nominal) return false;
        }
    }
    return true;
}

/// Empty if the bubbles of all steps that kept pace are within 5 % of the closed form, or of the simulation where there
/// is none.
std::string differenceOf(const Run& run, const RunConfig& config) {
    const auto simulated = simulate(config.schedule, config.times);
    if (!simulated.ok()) return simulated.error().text();
    int kept = 0;
    double expected = 0;
    bool form = false;
    for (const StepTimeline& step : run.steps) {
        const StepAnalysis analysis = analyzeStep(step, config.schedule);
        form = analysis.form.has_value();
        expected = form ? analysis.form->bubble_rate : bubbleRates(simulated.value()).over_makespan;
        if (!keptPace(step, config)) continue;
        ++kept;
        const double observed = analysis.rates.over_makespan;
        if (std::abs(observed - expected) > 0.05 * expected) {
            return fmt::format("step {}: a bubble rate of {:.4f}, but {:.4f} is expected", step.index, observed,
                               expected);
        }
    }
    fmt::print("{}: {} of {} steps kept pace, all within 5 % of {:.2f} % ({}){}\n", nameOf(config), kept,
               run.steps.size(), 100 * expected, form ? "closed form" : "simulation",
               kept == 0 ? "; skipped, the machine is too busy" : "");
    return {};
}

/// Orders that differ in kind: with one bubble, with two, with chunks, with a split backward, over two routes.
std::vector<Schedule> fewSchedules(int pp) {
    std::vector<Schedule> few;
    for (const auto& [family, vpp] :
         {std::pair{"fthenb", 1}, {"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"dualpipe", 2}})
        few.push_back(smallest(family, "", pp, vpp).value());
    return few;
}

/// Paced runs. A loaded machine may leave few steps that keep pace.
int bubbles(ProcessTeam& team, std::vector<Schedule> of) {
    const auto folder_text = [&]() -> std::string {
        static const bubblescope::test::ScratchFolder scratch;
        return scratch.path().string();
    };
    for (Schedule& schedule : of) {
        RunConfig config = smallRun(std::move(schedule));
        config.paced = true;
        config.steps = 3;
        config.times.times = {5ms, 10ms, 5ms, 5ms, TimeNs{0}};
        const auto folder = team.broadcast(team.isRoot() ? folder_text() : std::string());
        config.out_dir = folder.value();
        JobControl control;
        const ProcessRun ran = runOverProcesses(config, control, team);
        if (!ran.summary.ok()) return wrong(team, ran.summary.error().text());
        if (!team.isRoot()) continue;
        const auto loaded = loadRun({config.out_dir}, control);
        if (!loaded.ok()) return wrong(team, loaded.error().text());
        if (!loaded.value().problems.empty()) return wrong(team, loaded.value().problems.front().message.text());
        const std::string difference = differenceOf(loaded.value(), config);
        if (!difference.empty()) return wrong(team, nameOf(config) + ", " + difference);
    }
    return 0;
}

/// How much of what the memory model predicts a rank may allocate; resources/benchmarks/engine.md explains it.
struct Margin {
    double least = 0;
    double most = 0;
};

Margin marginOf(const RunConfig& config) {
    const Schedule& schedule = config.schedule;
    // Tensor ranks and a second route each add buffers, and so does who is ahead of others on a busy machine.
    const double most = 1.16 + (config.tensor_ranks > 1 ? 0.13 : 0) + (routes(schedule.placement) > 1 ? 0.13 : 0);
    for (const auto& ops : schedule.ranks) {
        // The model has both halves of a pair at once, here they run one after the other.
        if (std::ranges::any_of(ops, &Op::overlapped)) return {0.70, most};
    }
    return {0.88, most};
}

/// The memory that a rank really allocates, compared with the memory model's prediction for its schedule. Gradients
/// that wait for their
/// turn in the sum are known from the run. Empty if all are within their margins.
std::string memoryOf(const RunConfig& config, ProcessTeam& team) {
    const std::int64_t before = bubblescope::test::heapBytes();
    bubblescope::test::watchHeap();
    JobControl control;
    const ProcessRun ran = runOverProcesses(config, control, team);
    if (!ran.summary.ok()) return ran.summary.error().text();
    const auto all = team.gather(std::to_string(bubblescope::test::heapPeak() - before));
    if (!all.ok()) return all.error().text();
    if (!team.isRoot() || bubblescope::test::heapPeak() == 0) return {};
    const auto predicted =
        memoryUse(config.schedule, memoryModelOf(config.model, config.schedule, config.tensor_ranks));
    const Margin margin = marginOf(config);
    std::string line = nameOf(config) + ":";
    bool within = true;
    for (std::size_t r = 0; r < all.value().size(); ++r) {
        const RankMemory& rank = predicted[r / static_cast<std::size_t>(config.tensor_ranks)];
        const std::int64_t waiting =
            std::max<std::int64_t>(0, ran.summary.value().memory[r].gradients - rank.gradients);
        // The optimizer's op, see memoryModelOf().
        const int others = routes(config.schedule.placement) - 1;
        const std::int64_t most = std::max(rank.peak() + waiting, rank.fixed() + rank.gradients * (2 + 3 * others));
        const double share = std::stod(all.value()[r]) / static_cast<double>(most);
        within = within && share >= margin.least && share <= margin.most;
        line += fmt::format(" {:.3f}", share);
    }
    fmt::print("{}\n", line);
    return within ? "" : fmt::format("{} of what is predicted; {} to {} is expected", line, margin.least, margin.most);
}

int memory(ProcessTeam& team) {
    for (const int tensor_ranks : {1, 2}) {
        for (Schedule& schedule : allSchedules(team.size() / tensor_ranks)) {
            RunConfig config = smallRun(std::move(schedule));
            config.model.width = 64;
            config.model.heads = 4;
            config.model.sequence = 64;
            config.model.batch = 2;
            config.tensor_ranks = tensor_ranks;
            const std::string difference = memoryOf(config, team);
            if (!difference.empty()) return wrong(team, difference);
        }
    }
    return 0;
}

/// A run with a fault that ends it: each process prints the error that it received.
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
    if (name == "bubbles") return bubbles(team, fewSchedules(team.size()));
    if (name == "bubbles-of-all") return bubbles(team, allSchedules(team.size())); // for resources/benchmarks/engine.md
    if (name == "memory") return memory(team);
    if (name == "transport") {
        const std::string difference = test::checkMpiTransport(team.rank(), team.size());
        return difference.empty() ? 0 : wrong(team, difference);
    }
    if (name.starts_with("checks-")) {
        const std::string difference = test::checkVerdicts(name.substr(std::string_view("checks-").size()), team);
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
