#include "app/cli/run_comparison.h"

#include "app/cli/output.h"
#include "core/cost/measured_times.h"
#include "core/cost/partition.h"
#include "core/report/results/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

namespace bubblescope::cli {
namespace {

/// Creates the schedule with the number of chunks from --vpp, or with the smallest number that it supports.
Result<Schedule> withChunks(const ScheduleRequest& options, const std::string& name, const CostModel& times) {
    Result<Schedule> asked = options.sibling(name, times);
    if (asked.ok()) return asked;
    constexpr int kMaxChunks = 4;
    for (int vpp = 1; vpp <= kMaxChunks; ++vpp) {
        if (auto made = options.sibling(name, times, vpp); made.ok()) return made;
    }
    return asked;
}

Result<std::vector<Schedule>> schedulesOf(const Comparison& comparison, const CostModel& times) {
    std::vector<Schedule> schedules;
    if (comparison.schedule.given()) {
        BUBBLESCOPE_ASSIGN(schedules.emplace_back(), comparison.schedule.schedule(times));
    }
    for (const std::string& name : comparison.names) {
        BUBBLESCOPE_ASSIGN(schedules.emplace_back(), withChunks(comparison.schedule, name, times));
    }
    return schedules;
}

/// Number of blocks on each rank.
Result<int> blocksPerRank(const std::vector<Schedule>& schedules, std::optional<int> layers) {
    int even = 1;
    for (const Schedule& schedule : schedules)
        even = std::lcm(even, chunksOfModel(schedule));
    if (!layers) return even;
    const int first = chunksOfModel(schedules.front());
    const int blocks = *layers * first;
    for (const Schedule& schedule : schedules) {
        const int chunks = chunksOfModel(schedule);
        if (blocks % chunks == 0) continue;
        return usageError(fmt::format("the {} layers of a rank do not divide evenly into the {} chunks of {}", blocks,
                                      chunks, orderName(schedule)),
                          fmt::format("use --layers {} or omit the option", std::lcm(even, first) / first));
    }
    return blocks;
}

/// Groups runs with bit-identical weights, and assigns a letter to each group.
std::vector<std::size_t> weightGroups(const std::vector<RecordedRun>& runs) {
    std::vector<std::uint64_t> seen;
    std::vector<std::size_t> groups;
    for (const RecordedRun& run : runs) {
        const auto found = std::ranges::find(seen, run.training.weights_digest);
        groups.push_back(static_cast<std::size_t>(found - seen.begin()));
        if (found == seen.end()) seen.push_back(run.training.weights_digest);
    }
    return groups;
}

std::string weightsText(const std::vector<RecordedRun>& runs, const std::vector<std::size_t>& groups) {
    const std::vector<double>& losses = runs.front().training.losses;
    std::string out =
        fmt::format("\nAll trained the same model for {}, to a loss of {:.6f}.",
                    losses.size() == 1 ? "1 step" : fmt::format("{} steps", losses.size()), losses.back());
    if (std::ranges::max(groups) == 0) {
        return out + fmt::format(" Their weights are equal bit for bit ({}).",
                                 digestText(runs.front().training.weights_digest));
    }
    return out + " Runs with the same letter in the last column have bit-identical weights.\nOrders with two pipelines "
                 "or with sequence slices sum gradients in a different order, so the last bits differ.";
}

void addLateOps(report::Section& document, const std::vector<RecordedRun>& runs) {
    std::int64_t ops = 0;
    std::int64_t late = 0;
    for (const RecordedRun& run : runs) {
        ops += run.training.ops;
        late += run.training.late_ops;
    }
    if (late == 0) return;
    document.line(
        fmt::format("{} of {} ops ran late and are recorded with their actual end times. To see the schedules' own "
                    "bubbles, use a less busy\nmachine, longer op times or a larger --pace-tolerance.",
                    late, ops));
}

/// Memory use of the rank that used the most.
const runtime::MemoryUse& largest(const std::vector<runtime::MemoryUse>& memory) {
    return *std::ranges::max_element(memory, {}, &runtime::MemoryUse::total);
}

std::string kibibytes(std::int64_t bytes) {
    return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

const StepAnalysis& typicalStep(const RecordedRun& recorded) {
    return recorded.report.steps[recorded.report.typicalStep()];
}

report::Compared comparedOf(const RecordedRun& recorded) {
    const StepAnalysis& step = typicalStep(recorded);
    return {recorded.run.schedule, step.wall, step.rates, {}};
}

} // namespace

Result<std::vector<runtime::RunConfig>> planComparison(const Comparison& comparison, const CostModel& times,
                                                       const runtime::RunConfig& base) {
    BUBBLESCOPE_ASSIGN(std::vector<Schedule> schedules, schedulesOf(comparison, times));
    BUBBLESCOPE_TRY(comparison.schedule.checkUsed(schedules));
    const bool whole = comparison.model.wholeModel();
    BUBBLESCOPE_ASSIGN(const int blocks,
                       whole ? Result<int>(0) : blocksPerRank(schedules, comparison.model.layersPerChunk()));
    const int first = chunksOfModel(schedules.front());
    std::vector<runtime::RunConfig> configs;
    for (Schedule& schedule : schedules) {
        runtime::RunConfig& config = configs.emplace_back(base);
        const int chunks = chunksOfModel(schedule);
        if (!whole) config.model.layers_per_stage = blocks / chunks;
        BUBBLESCOPE_TRY(comparison.model.cutLayers(schedule, config.model));
        BUBBLESCOPE_ASSIGN(config.times, recut(times, first, chunks));
        config.schedule = std::move(schedule);
    }
    return configs;
}

std::vector<std::string> foldersOf(const std::vector<runtime::RunConfig>& configs, const std::string& out) {
    std::vector<std::string> folders;
    std::map<std::string, int> named;
    for (const runtime::RunConfig& config : configs) {
        const Schedule& schedule = config.schedule;
        std::string name = schedule.name + (schedule.flavor.empty() ? "" : "-" + schedule.flavor);
        if (const int before = named[name]++; before > 0) name += fmt::format("-{}", before + 1);
        folders.push_back(out.empty() ? "" : (std::filesystem::path(out) / name).string());
    }
    return folders;
}

Result<std::vector<RecordedRun>> recordAll(const std::vector<runtime::RunConfig>& configs,
                                           const std::vector<std::string>& folders, ProcessTeam* team) {
    std::vector<RecordedRun> runs;
    for (std::size_t i = 0; i < configs.size(); ++i) {
        BUBBLESCOPE_ASSIGN(runs.emplace_back(), recordRun(configs[i], folders[i], team));
        printProblems(runs.back().run.problems);
    }
    return runs;
}

report::Document comparisonDocument(const std::vector<RecordedRun>& runs, bool json) {
    report::Document document;
    if (json) {
        report::Sections schedules;
        schedules.key = "schedules";
        for (const RecordedRun& run : runs) {
            report::Section& object = schedules.list.emplace_back();
            const StepAnalysis& step = typicalStep(run);
            report::addCompared(object, comparedOf(run));
            object.data("vpp", run.run.schedule.vpp);
            object.data("expected_bubble_rate", step.form ? report::Value(step.form->bubble_rate) : report::Value());
            object.data("peak_memory_bytes", largest(run.training.memory).total());
            report::Section all = toDocument(run, report::Reader::Programs);
            all.key = "run";
            object.add(std::move(all));
        }
        document.add(std::move(schedules));
        return document;
    }
    std::vector<report::Compared> rows;
    const std::vector<std::size_t> groups = weightGroups(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const StepAnalysis& step = typicalStep(runs[i]);
        const runtime::MemoryUse& memory = largest(runs[i].training.memory);
        rows.push_back(comparedOf(runs[i]));
        rows.back().further = {step.form ? report::Cell(step.form->bubble_rate, report::Look::Percent2)
                                         : report::Cell("none"),
                               runs[i].run.schedule.vpp, kibibytes(memory.total()), kibibytes(memory.activations),
                               std::string(1, static_cast<char>('a' + groups[i] % 26))};
    }
    document.add(
        report::comparisonTable(std::move(rows), {"closed form", "chunks", "peak memory", "activations", "weights"}));
    document.line(weightsText(runs, groups));
    addLateOps(document, runs);
    return document;
}

Status drawRuns(const SvgOptions& svg, const std::vector<RecordedRun>& runs) {
    std::deque<CostModel> costs; // elements must not move
    std::vector<report::Drawn> drawn;
    for (const RecordedRun& recorded : runs) {
        const StepTimeline& step = recorded.run.steps[recorded.report.typicalStep()];
        drawn.push_back({recorded.run.schedule, step, costs.emplace_back(typicalCosts(step))});
    }
    return svg.write(drawn);
}

} // namespace bubblescope::cli
