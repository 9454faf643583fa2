#include "core/io/read_trace.h"
#include "core/recognise/assemble.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/match_schedule.h"
#include "core/recognise/replicas.h"
#include "core/recognise/run.h"
#include "core/timeline/typical_costs.h"
#include "core/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace bubblescope {
namespace {

std::string nameInput(const std::vector<std::filesystem::path>& paths) {
    const std::string first = paths.empty() ? std::string{} : paths.front().string();
    return paths.size() <= 1 ? first : fmt::format("{} and {} more", first, paths.size() - 1);
}

struct Recognised {
    FoundOps found;
    const Rule* rule = nullptr;
};

Recognised recognise(const Trace& trace, DiagnosticLog& log) {
    for (const Rule& rule : recognitionRules()) {
        FoundOps found = rule.find(trace, log);
        const bool any = std::any_of(found.ops.begin(), found.ops.end(),
                                     [](const FoundOp& op) { return op.kind != OpKind::Optimizer; });
        if (any) return {std::move(found), &rule};
    }
    return {};
}

/// "cpu_op 5000, user_annotation 180": the commonest categories.
std::string categorySummary(const Trace& trace) {
    constexpr std::size_t kShown = 6;
    std::map<StringId, std::size_t> counts;
    for (const StringId category : trace.sliceCategories())
        ++counts[category];
    std::vector<std::pair<StringId, std::size_t>> order(counts.begin(), counts.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string out;
    for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i) {
        const std::string_view name = trace.text(order[i].first);
        out += fmt::format("{}{} {}", i == 0 ? "" : ", ", name.empty() ? "(none)" : name, order[i].second);
    }
    if (order.size() > kShown) out += fmt::format(" and {} more", order.size() - kShown);
    return out;
}

Error nothingRecognised(const Trace& trace, const std::string& where) {
    std::string looked_for;
    for (const Rule& rule : recognitionRules())
        looked_for += fmt::format("{}{}", looked_for.empty() ? "" : "; ", rule.looks_for);
    const std::string found = trace.sliceCount() == 0 ? std::string("no slices at all")
                                                      : fmt::format("{} slices of the categories {}",
                                                                    trace.sliceCount(), categorySummary(trace));
    const bool kineto = std::any_of(trace.files().begin(), trace.files().end(),
                                    [](const TraceFile& file) { return file.format == "kineto"; });
    return inputError(
        where, fmt::format("no pipeline op found: looked for {}; found {}", looked_for, found),
        kineto
            ? "where ops are not annotated, as by PyTorch's Schedule1F1B, they are told by their sends and receives: "
              "record the operators of the host too, on all pipeline ranks"
            : "");
}

void describeInput(const Trace& trace, Run& run) {
    for (const TraceFile& file : trace.files()) {
        if (file.format.empty()) continue; // could not be used
        run.files.push_back(file.path);
        if (run.format.empty()) run.format = file.format;
    }
    run.slices = static_cast<std::int64_t>(trace.sliceCount());
    run.span = trace.span();
}

void nameSchedule(Run& run, DiagnosticLog& log) {
    Schedule observed = executedOrder(run.steps.front());
    for (const StepTimeline& step : run.steps) {
        if (executedOrder(step).ranks == observed.ranks) continue;
        log.add("order-changes", fmt::format("step {}", step.index),
                "steps run their ops in another order than the first step; the first one's names the schedule");
    }
    if (run.info) {
        observed.name = run.info->schedule;
        observed.flavor = run.info->flavor;
    }
    ScheduleMatch match = matchSchedule(observed, typicalCosts(run.steps.front()));
    run.schedule = std::move(match.schedule);
    run.departure = match.departure;
    run.closest = std::move(match.closest);
    run.closest_order = std::move(match.closest_order);
}

} // namespace

Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    BUBBLESCOPE_ASSIGN(ReadTraces read, readTraces(paths, control));
    const std::string where = nameInput(paths);
    DiagnosticLog log;
    for (Diagnostic& entry : read.problems)
        log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
    if (control.stopRequested()) return cancelledError();

    Run run;
    run.trace = read.trace;
    describeInput(*run.trace, run);
    Recognised recognised = recognise(*run.trace, log);
    if (recognised.rule == nullptr) return nothingRecognised(*run.trace, where);
    run.annotation = recognised.rule->name;
    if (!recognised.rule->format.empty()) run.format = recognised.rule->format;
    run.info = recognised.found.info;
    if (control.stopRequested()) return cancelledError();

    BUBBLESCOPE_TRY(splitReplicas(recognised.found, where));
    BUBBLESCOPE_ASSIGN(const Layout layout, inferLayout(recognised.found, where));
    BUBBLESCOPE_ASSIGN(run.steps, assembleSteps(recognised.found, layout, where, log));
    if (control.stopRequested()) return cancelledError();
    nameSchedule(run, log);
    run.problems = log.take();
    return run;
}

} // namespace bubblescope
