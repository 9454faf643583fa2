#include "core/report/results/plan_document.h"

#include "core/base/bytes.h"
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/cost/model_flops.h"
#include "core/plan/launch_settings.h"
#include "core/report/results/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::report {
namespace {

using plan::Plan;
using plan::StepParts;

/// A part of the step: its key, its name, and the reason why another plan spends more time on it.
struct StepPart {
    std::string_view key;
    std::string_view name;
    std::string_view more;
    double (*of)(const StepParts&);
};

constexpr std::array<StepPart, 10> kStepParts{{
    {"compute_ns", "computation", "smaller or slower products", [](const StepParts& p) { return p.work.compute; }},
    {"recompute_ns", "recomputation", "recomputation", [](const StepParts& p) { return p.work.recompute; }},
    {"tensor_ns", "tensor parallelism", "tensor-parallel communication",
     [](const StepParts& p) { return p.work.tensor; }},
    {"context_ns", "context parallelism", "context-parallel communication",
     [](const StepParts& p) { return p.work.context; }},
    {"experts_ns", "expert parallelism", "expert-parallel communication",
     [](const StepParts& p) { return p.work.experts; }},
    {"shards_ns", "ZeRO shards", "gathering of shards", [](const StepParts& p) { return p.work.shards; }},
    {"bubble_ns", "bubble", "a longer bubble", [](const StepParts& p) { return p.bubble; }},
    {"gradients_ns", "gradient reduction", "gradient reduction", [](const StepParts& p) { return p.end.gradients; }},
    {"weights_ns", "weight gathering", "weight gathering", [](const StepParts& p) { return p.end.weights; }},
    {"optimizer_ns", "optimizer", "a longer optimizer step", [](const StepParts& p) { return p.end.optimizer; }},
}};

TimeNs timeOfPart(const StepPart& part, const StepParts& parts) {
    return TimeNs{std::llround(part.of(parts) * 1e9)};
}

/// The largest extra cost of another plan over the best one.
struct Loss {
    const StepPart* part = &kStepParts.front();
    TimeNs time{0};
};

Loss mainLoss(const Plan& other, const Plan& best) {
    Loss most;
    for (const StepPart& part : kStepParts) {
        const TimeNs more = timeOfPart(part, other.parts) - timeOfPart(part, best.parts);
        if (more > most.time) most = {&part, more};
    }
    return most;
}

std::string whyBehind(const Plan& other, const Plan& best) {
    const Loss loss = mainLoss(other, best);
    if (loss.time.count() == 0) return "";
    return fmt::format("{} ({})", loss.part->more, formatTimeDelta(loss.time));
}

std::string_view recomputeName(const plan::Layout& layout) {
    using enum TransformerShape::Recompute;
    return layout.recompute == Full ? "full" : layout.recompute == Selective ? "selective" : "none";
}

Value::Object partsOf(const StepParts& parts) {
    Value::Object object;
    for (const StepPart& part : kStepParts)
        object.push_back({std::string(part.key), timeOfPart(part, parts)});
    return object;
}

Value::List settingsOf(const plan::LaunchSettings& launch) {
    Value::List list;
    for (const auto& setting : launch.settings)
        list.emplace_back(Value::Object{{"name", setting.name}, {"value", setting.value}});
    return list;
}

Value memoryValue(const Plan& plan, const plan::Problem& problem, const MemoryCurves* curves) {
    Value::Object object{{"rank", plan.memory_rank},
                         {"weights_bytes", plan.memory.weights},
                         {"gradients_bytes", plan.memory.gradients},
                         {"optimizer_bytes", plan.memory.optimizer},
                         {"activations_bytes", plan.memory.peak_activations},
                         {"peak_op", peakOpValue(plan.peak_op, plan.memory.peak_op)},
                         {"peak_held", heldValue(plan.peak_held)},
                         {"reserved_bytes", problem.cluster.reserved}};
    if (curves == nullptr) return object;
    Value::List ranks;
    for (std::size_t r = 0; r < curves->size(); ++r)
        ranks.emplace_back(Value::Object{{"rank", r}, {"curve", curveValue((*curves)[r])}});
    object.push_back({"ranks", std::move(ranks)});
    return object;
}

Value planValue(const Plan& plan, const Plan& best, const plan::Problem& problem, const MemoryCurves* curves) {
    const plan::Layout& layout = plan.layout;
    const bool first = &plan == &best;
    Value::Object object{
        {"tp", layout.tp},
        {"cp", layout.cp},
        {"dp", layout.dp},
        {"ep", layout.ep},
        {"pp", layout.pp},
        {"vpp", layout.vpp},
        {"microbatch", layout.microbatch},
        {"microbatches", layout.microbatches},
        {"schedule", layout.schedule},
        {"layers_per_stage", layout.layers_per_stage},
        {"recompute", recomputeName(layout)},
        {"zero", static_cast<int>(layout.zero)},
        {"step_time_ns", plan.step},
        {"exact", plan.exact},
        {"mfu", plan.mfu},
        {"tokens_per_second", plan.tokens_per_second},
        {"bubble_rate", plan.bubble_rate},
        {"parts", partsOf(plan.parts)},
        {"memory_bytes", plan.memory.peak() + problem.cluster.reserved},
        {"memory", memoryValue(plan, problem, curves)},
    };
    object.push_back({"behind", first ? Value()
                                      : Value(Value::Object{
                                            {"part", mainLoss(plan, best).part->key},
                                            {"time_ns", mainLoss(plan, best).time},
                                        })});
    Value::List frameworks;
    for (const plan::LaunchSettings& launch : plan::launchSettings(layout, problem))
        frameworks.emplace_back(Value::Object{
            {"framework", launch.framework},
            {"missing", launch.missing.empty() ? Value() : Value(launch.missing)},
            {"settings", settingsOf(launch)},
        });
    object.push_back({"frameworks", std::move(frameworks)});
    return object;
}

void addPlanTable(Document& document, const plan::Problem& problem, const plan::SearchResult& found) {
    Column experts = shown("ep");
    experts.hidden = problem.shape.experts.count == 0;
    Table table({}, {shown("tp"), shown("cp"), shown("dp"), std::move(experts), shown("pp"), shown("v"), shown("b"),
                     shown("m"), shown("schedule", Align::Left), shown("recompute", Align::Left), shown("ZeRO"),
                     shown("step"), shown("MFU"), shown("bubble"), shown("memory"), shown("loses by", Align::Left)});
    const Plan& best = found.plans.front();
    for (const Plan& plan : found.plans) {
        const plan::Layout& layout = plan.layout;
        table.row(layout.tp, layout.cp, layout.dp, layout.ep, layout.pp, layout.vpp, layout.microbatch,
                  layout.microbatches, layout.schedule, recomputeName(layout), static_cast<int>(layout.zero), plan.step,
                  Cell(plan.mfu, Look::Percent), Cell(plan.bubble_rate, Look::Percent),
                  Cell(plan.memory.peak() + problem.cluster.reserved, Look::Bytes), whyBehind(plan, best));
    }
    document.add(std::move(table));
}

void addBestLines(Document& document, const plan::Problem& problem, const Plan& best) {
    document.line(fmt::format("Best: {} per step, {} tokens/s ({} per device), MFU {}", formatTime(best.step),
                              formatThousands(best.tokens_per_second),
                              formatThousands(best.tokens_per_second / problem.cluster.devices),
                              formatPercent(best.mfu)));
    std::vector<std::string> parts;
    for (const StepPart& part : kStepParts) {
        const double share = part.of(best.parts) / best.parts.all();
        if (share >= 0.0005) parts.push_back(fmt::format("{} {}", part.name, formatPercent(share)));
    }
    document.paragraph("Busiest rank: ", fmt::format("{}.", fmt::join(parts, ", ")));
    document.paragraph("Memory: ",
                       fmt::format("weights {}, gradients {}, optimizer {}, activations {}, reserve {}; "
                                   "on rank {}, of {}. Peak at {}: {}.",
                                   formatBytes(best.memory.weights), formatBytes(best.memory.gradients),
                                   formatBytes(best.memory.optimizer), formatBytes(best.memory.peak_activations),
                                   formatBytes(problem.cluster.reserved), best.memory_rank,
                                   formatBytes(problem.cluster.device.memory), opName(best.peak_op),
                                   peakWords(best.memory.peak() + problem.cluster.reserved, best.peak_held)));
    document.paragraph("Layers: ", fmt::format("{} by stage.", fmt::join(best.layout.layers_per_stage, " ")));
}

void addLaunchLines(Document& document, const plan::Problem& problem, const Plan& best) {
    for (const plan::LaunchSettings& launch : plan::launchSettings(best.layout, problem)) {
        std::string text = fmt::format("not possible: {}.", launch.missing);
        if (launch.missing.empty()) {
            text.clear();
            for (const auto& setting : launch.settings)
                text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", setting.name,
                                    setting.value.empty()           ? ""
                                    : setting.name.starts_with('-') ? " "
                                                                    : "=",
                                    setting.value);
        }
        document.paragraph(fmt::format("{}: ", launch.framework), text);
    }
}

void addSearchLines(Document& document, const plan::SearchResult& found) {
    std::string text =
        fmt::format("Evaluated {} of {} layouts; {} do not fit", found.judged, found.considered, found.too_large);
    if (found.ruled_out_from)
        text += fmt::format("; {} were ruled out, since none takes less than {}", found.ruled_out,
                            formatTime(*found.ruled_out_from));
    document.paragraph("", fmt::format("{}. Even without a memory limit, no layout takes less than {}.", text,
                                       formatTime(found.bound)));
}

Value clusterValue(const plan::Cluster& cluster) {
    return Value::Object{{"device", cluster.device.name},
                         {"devices", cluster.devices},
                         {"per_host", cluster.device.per_host},
                         {"memory_bytes", cluster.device.memory},
                         {"flops", cluster.flops()},
                         {"memory_rate", cluster.device.memory_rate},
                         {"link_rate", cluster.device.link},
                         {"network_rate", cluster.device.network},
                         {"product_rate_measured", cluster.device.measured}};
}

Value modelValue(const plan::Problem& problem) {
    const auto parameters = parameterCount(problem.shape);
    const auto flops = forwardFlops(problem.shape);
    return Value::Object{{"parameters", parameters.ok() ? Value(parameters.value()) : Value()},
                         {"flops_per_token", flops.ok() ? Value(trainingFlops(flops.value())) : Value()},
                         {"sequence", problem.shape.sequence},
                         {"global_batch", problem.global_batch}};
}

} // namespace

Document planDocument(const plan::Problem& problem, const plan::SearchResult& found,
                      std::span<const MemoryCurves> curves) {
    Document document;
    document.data("model", modelValue(problem));
    document.data("cluster", clusterValue(problem.cluster));
    const Plan& best = found.plans.front();
    Value::List plans;
    for (std::size_t i = 0; i < found.plans.size(); ++i)
        plans.push_back(planValue(found.plans[i], best, problem, i < curves.size() ? &curves[i] : nullptr));
    document.data("plans", std::move(plans));
    document.data("considered", found.considered);
    document.data("judged", found.judged);
    document.data("too_large", found.too_large);
    document.data("ruled_out", found.ruled_out);
    document.data("ruled_out_from_ns", found.ruled_out_from);
    document.data("bound_ns", found.bound);
    addBestLines(document, problem, best);
    addPlanTable(document, problem, found);
    addSearchLines(document, found);
    addLaunchLines(document, problem, best);
    return document;
}

Document calibratedDocument(const RunModel& run, const Schedule& order, const plan::CalibratedResult& found,
                            double peak_seconds, const std::vector<std::string>& words) {
    Document document;
    document.data("from", Value::Object{{"schedule", order.name},
                                        {"flavor", order.flavor},
                                        {"pp", run.pp},
                                        {"vpp", run.vpp},
                                        {"microbatches", run.microbatches},
                                        {"step_time_ns", run.step_time}});
    document.line(fmt::format("As recorded: {}, step {}", scheduleTitle(order), formatTime(run.step_time)));
    const auto mfuOf = [peak_seconds](TimeNs step) {
        return peak_seconds > 0 ? Value(peak_seconds / (static_cast<double>(step.count()) * 1e-9)) : Value();
    };
    Table table({}, {shown("schedule", Align::Left), shown("v"), shown("m"), shown("step"), shown("±"), shown("change"),
                     shown("bubble"), shown("MFU"), shown("what-if", Align::Left)});
    Value::List plans;
    for (const plan::CalibratedPlan& plan : found.plans) {
        const Prediction& prediction = plan.prediction;
        const TimeNs step = prediction.predicted();
        const int microbatches = prediction.microbatches_after * plan.change.split;
        plans.emplace_back(Value::Object{{"schedule", plan.change.schedule},
                                         {"pp", run.pp},
                                         {"vpp", *plan.change.vpp},
                                         {"microbatches", microbatches},
                                         {"split", plan.change.split},
                                         {"layers_per_stage", plan.change.layers},
                                         {"step_time_ns", step},
                                         {"error_bar_ns", prediction.bar.time},
                                         {"change_ns", prediction.change()},
                                         {"bubble_rate", plan.bubble_rate},
                                         {"mfu", mfuOf(step)},
                                         {"scenario", plan.texts}});
        Cell mfu = peak_seconds > 0 ? Cell(mfuOf(step), Look::Percent) : Cell(Value()).as("-");
        table.row(plan.change.schedule, *plan.change.vpp, microbatches, step, prediction.bar.time,
                  Cell(prediction.change(), Look::Delta), Cell(plan.bubble_rate, Look::Percent), std::move(mfu),
                  fmt::format("{}", fmt::join(plan.texts, " ")));
    }
    document.data("plans", std::move(plans));
    document.data("judged", found.judged);
    document.add(std::move(table));
    document.paragraph("", fmt::format("Evaluated {} choices with the run's mean op times. Smaller micro-batches are "
                                       "assumed to take proportionally less time.",
                                       found.judged));
    std::string command = fmt::format("whatif {}", fmt::join(words, " "));
    for (const std::string& text : found.plans.front().texts)
        command += fmt::format(" {}", optionOf(Field("if"), text));
    document.paragraph("Details: ", fmt::format("`{}`.", command));
    return document;
}

std::string planCsv(const plan::Problem& problem, const plan::SearchResult& found) {
    std::string text = "tp,cp,dp,pp,vpp,microbatch,microbatches,schedule,recompute,zero,ep,step_time_ns,mfu,"
                       "tokens_per_second,bubble_rate,memory_bytes";
    for (const StepPart& part : kStepParts)
        text += fmt::format(",{}", part.key);
    text += "\n";
    for (const Plan& plan : found.plans) {
        const plan::Layout& layout = plan.layout;
        text +=
            fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", layout.tp, layout.cp, layout.dp, layout.pp,
                        layout.vpp, layout.microbatch, layout.microbatches, layout.schedule, recomputeName(layout),
                        static_cast<int>(layout.zero), layout.ep, plan.step.count(), plan.mfu, plan.tokens_per_second,
                        plan.bubble_rate, plan.memory.peak() + problem.cluster.reserved);
        for (const StepPart& part : kStepParts)
            text += fmt::format(",{}", timeOfPart(part, plan.parts).count());
        text += "\n";
    }
    return text;
}

} // namespace bubblescope::report
