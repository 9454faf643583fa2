#include "tests/mpi/check_cases.h"

#include "core/families/registry.h"
#include "core/recognise/run.h"
#include "runtime/run.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace bubblescope::runtime::test {
namespace {

using namespace std::chrono_literals;

constexpr int kWrong = 1; ///< the rank that is, where one is; of its two blocks the first is layer 3

struct Case {
    std::string_view name;
    std::string fault;
    std::optional<Verdict> verdict; ///< on the mismatches; none = there must be none
    std::optional<CheckKind> kind;  ///< of all of them
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"clean", "", std::nullopt, std::nullopt},
        {"sticky", "flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=sticky", Verdict::Device, std::nullopt},
        {"nondet", "nondet:F,layer=3,tensor=hidden", Verdict::Everywhere, std::nullopt},
        {"fixed", "flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=fixed", Verdict::Device, CheckKind::Elsewhere},
    };
    return all;
}

RunConfig configOf(const Case& of, int ranks, std::string folder) {
    RunConfig config;
    config.schedule = makeSchedule({"1f1b", "", ranks, 8, 1}).value();
    config.model.width = 8;
    config.model.sequence = 6;
    config.model.layers_per_stage = 2;
    config.steps = 12;
    config.times.times = {2ms, 4ms, 2ms, 2ms, TimeNs{0}};
    config.pace_tolerance = std::chrono::hours(1); // on a busy machine as on an idle one
    if (!of.fault.empty()) config.faults.push_back(parseFault(of.fault).value());
    config.aadiff.emplace();
    config.out_dir = std::move(folder);
    return config;
}

/// For the statements of the trace.
std::string judged(const CheckLog& log, const Case& of) {
    std::map<Verdict, int> verdicts;
    int elsewhere = 0;
    for (const CheckRecord& check : log.checks) {
        if (check.kind == CheckKind::Elsewhere && check.outcome == CheckOutcome::Equal) ++elsewhere;
        if (check.outcome != CheckOutcome::Mismatch) continue;
        ++verdicts[check.verdict];
        if (of.verdict == Verdict::Device && check.rank != Rank{kWrong})
            return fmt::format("rank {} is blamed", check.rank.value);
        if (of.kind && check.kind != *of.kind) return "a check found it that is blind to it";
        if (check.tensor != "hidden" || check.layer != 3 || !check.difference)
            return fmt::format("it is said to be {} of layer {}", check.tensor, check.layer);
    }
    if (elsewhere == 0) return "no rank ran another one's layers again";
    if (!of.verdict) return verdicts.empty() ? "" : "there are mismatches where nothing was planted";
    if (!verdicts.contains(*of.verdict)) return "nothing was found, or the verdict is another one";
    // Code that is not deterministic may by chance agree with itself.
    const bool others = std::ranges::any_of(verdicts, [&](const auto& one) {
        return one.first != *of.verdict && (of.verdict != Verdict::Everywhere || one.first != Verdict::Transient);
    });
    return others ? "there are other verdicts, too" : "";
}

} // namespace

std::string checkVerdicts(std::string_view fault, ProcessTeam& team) {
    const auto of = std::ranges::find(cases(), fault, &Case::name);
    if (of == cases().end()) return "no such case";
    const bubblescope::test::ScratchFolder scratch;
    const auto folder = team.broadcast(team.isRoot() ? scratch.path().string() : std::string());
    JobControl control;
    const ProcessRun ran = runOverProcesses(configOf(*of, team.size(), folder.value()), control, team);
    if (!ran.summary.ok()) return ran.summary.error().text();
    if (!team.isRoot()) return {};
    const auto loaded = loadRun({folder.value()}, control);
    if (!loaded.ok()) return loaded.error().text();
    return judged(loaded.value().checks, *of);
}

} // namespace bubblescope::runtime::test
