// The cost of checks in bubbles on a GPU, and their findings.

#include "core/base/median.h"
#include "tests/gpu/gpu_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

void reportCheckedSteps(const std::shared_ptr<Accelerator>& gpu, const Budget& budget, bool graphs, int width) {
    constexpr int kSteps = 49;
    constexpr double kCost = 0.003; // as --aadiff-cost by default
    for (const auto& [name, vpp] : {std::pair{"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"gpipe", 1}}) {
        if (!budget.left()) {
            fmt::print("{:<12}  no time left\n", name);
            continue;
        }
        try {
            ModelConfig model;
            model.width = width;
            model.heads = std::max(width / 64, 1);
            model.sequence = width / 2;
            model.batch = 4;
            model.layers_per_stage = 2;
            Run run(gpu, scheduleOf(name, 4, 8, vpp), model, {}, false);
            run.divide();
            run.check(kCost);
            const Measured measured = run.measure(kSteps);
            std::array<std::vector<TimeNs>, 2> took; // by steps without checks and with; the first one warms up
            for (std::size_t step = 1; step < measured.whole.size(); ++step)
                took[measured.checked[step] ? 1 : 0].push_back(measured.whole[step]);
            const double off = seconds(bubblescope::median(took[0])) * 1e3;
            const double on = took[1].empty() ? off : seconds(bubblescope::median(took[1])) * 1e3;
            const double share = static_cast<double>(took[1].size()) / (kSteps - 1);
            fmt::print(
                "{:<12}{}  {:.3f} ms without, {:.3f} ms with, in {} of {} steps: {:+.2f} % in the mean; {} checks, "
                "{} left out, {} alarms\n",
                name, graphs ? " graphs" : "", off, on, took[1].size(), kSteps - 1, 100 * share * (on - off) / off,
                measured.equal, measured.left_out, measured.mismatches.size());
        } catch (const std::exception& e) {
            fmt::print("{:<12}  {}\n", name, e.what());
        }
    }
}

void reportCampaign(const std::shared_ptr<Accelerator>& gpu, const Budget& budget, int width) {
    CostModel times;
    times.times = {TimeNs{2'000'000}, TimeNs{4'000'000}, TimeNs{2'000'000}, TimeNs{2'000'000}, TimeNs{0}};
    ModelConfig model;
    model.width = width;
    model.sequence = width;
    model.layers_per_stage = 2;
    for (const char* const name : {"1f1b", "zb-h1"}) {
        try {
            const Schedule schedule = scheduleOf(name, 4, 8, 1);
            Run clean(gpu, schedule, model, times, true);
            clean.check(1.0);
            const Measured quiet = clean.measure(10);
            int planted = 0;
            int found = 0;
            int named = 0;
            std::size_t number = 0;
            // As many flips of each family, of checks all over the plan's second step.
            constexpr std::size_t kFlips = 12;
            std::vector<std::pair<std::size_t, PlannedCheck>> places;
            for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
                const RankPlan& plan = clean.checks().study.plan().ranks[r];
                if (plan.steps.empty()) continue;
                for (const PlannedCheck& check : plan.steps[1 % plan.steps.size()])
                    places.emplace_back(r, check);
            }
            for (std::size_t i = 0; i < places.size() && budget.left(); i += (places.size() + kFlips - 1) / kFlips) {
                const auto& [r, check] = places[i];
                const Op op = clean.checks().study.timeline().ranks[r][check.op].op;
                const CheckUnit& unit = clean.checks().study.plan().ranks[r].units[check.unit];
                const int layer = clean.checks().layersOf(schedule.stageOf(Rank{r}, unit.chunk)).first + unit.layer;
                if (layer == clean.checks().headLayer() && op.kind == OpKind::Forward) continue; // has no output
                const char* const tensor = op.kind == OpKind::Forward          ? "output"
                                           : op.kind == OpKind::BackwardWeight ? "weight-gradient"
                                                                               : "input-gradient";
                Run run(gpu, schedule, model, times, true);
                run.check(1.0, {parseFault(fmt::format("flip:{},rank={},step=1,layer={},tensor={},bit={}", opName(op),
                                                       r, layer, tensor, 37 * ++number % 2048))
                                    .value()});
                const Measured measured = run.measure(2);
                ++planted;
                if (measured.mismatches.empty()) continue;
                ++found;
                const CheckRecord& first = measured.mismatches.front();
                named += first.rank == Rank{r} && first.layer == layer && opName(first.op) == opName(op) ? 1 : 0;
            }
            fmt::print("{:<12}  {} flips planted, {} found, {} of them named right; {} clean checks, {} alarms\n", name,
                       planted, found, named, quiet.equal, quiet.mismatches.size());
        } catch (const std::exception& e) {
            fmt::print("{:<12}  {}\n", name, e.what());
        }
    }
}

} // namespace bubblescope::runtime
