#include "app/cli/whatif_output.h"

#include "app/cli/output.h"
#include "app/cli/paragraph.h"
#include "app/cli/table.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::cli {
namespace {

// The study's thresholds: a job is called straggling, a cause is sought, a cause explains the loss.
constexpr double kStraggling = 1.1;
constexpr double kAttributed = 1.03;
constexpr double kExplains = 0.5;

Json optionalNumber(const std::optional<double>& number) {
    return number ? Json(*number) : Json();
}

std::string headText(const RunModel& model, const ModelFit& fit) {
    const std::size_t replicas = model.replicas.size();
    const std::string shape = fmt::format(
        "{}: {}, {} replica{}, {} step{}\n", model.where, sizesText(model.pp, model.microbatches, model.vpp), replicas,
        replicas == 1 ? "" : "s", model.steps.size(), model.steps.size() == 1 ? "" : "s");
    return shape + paragraph("", fmt::format("A step took {} in the mean; replayed as recorded it takes {}, {} off "
                                             "(launch delays: {}).",
                                             formatTime(fit.observed), formatTime(fit.simulated),
                                             formatPercent(fit.error()), formatPercent(fit.launchDelay())));
}

/// How dark a cell of the heat map is.
std::string_view shade(double slowdown) {
    if (slowdown < kAttributed) return "·";
    if (slowdown < kStraggling) return "░";
    if (slowdown < 1.25) return "▒";
    if (slowdown < 1.5) return "▓";
    return "█";
}

/// A row a rank, a column a replica: numbers where they fit into a terminal, else shades alone.
std::string heatMap(const RunModel& model, const StragglerStudy& study) {
    constexpr std::size_t kNumbers = 11;
    constexpr std::size_t kShades = 80;
    const std::size_t replicas = model.replicas.size();
    std::string out;
    if (replicas <= kNumbers) {
        std::vector<Table::Column> columns{{"rank"}};
        for (const int replica : model.replicas)
            columns.push_back({fmt::format("dp {}", replica)});
        Table table(std::move(columns));
        for (std::size_t rank = 0; rank < study.by_pp.size(); ++rank) {
            std::vector<std::string> row{fmt::format("{}", rank)};
            for (std::size_t replica = 0; replica < replicas; ++replica) {
                const double slowdown = study.workers[replica][rank];
                row.push_back(fmt::format("{} {:.3f}", shade(slowdown), slowdown));
            }
            table.row(std::move(row));
        }
        return table.text();
    }
    for (std::size_t first = 0; first < replicas; first += kShades) {
        const std::size_t end = std::min(replicas, first + kShades);
        out += fmt::format("  rank  dp {} to {}\n", model.replicas[first], model.replicas[end - 1]);
        for (std::size_t rank = 0; rank < study.by_pp.size(); ++rank) {
            out += fmt::format("  {:>4}  ", rank);
            for (std::size_t replica = first; replica < end; ++replica)
                out += shade(study.workers[replica][rank]);
            out += "\n";
        }
    }
    return out;
}

std::string verdict(const StragglerStudy& study) {
    std::string workers;
    for (const auto& worker : study.slowest)
        workers += fmt::format("{}dp {} rank {}", workers.empty() ? "" : ", ", worker.replica, worker.rank.value);
    std::string out = paragraph(
        "", fmt::format("If all ops took what their kind takes in the mean, and transfers what they take in the "
                        "median, a step would take {}: S = {:.4f}, so {} of the time is lost to stragglers.",
                        formatTime(study.ideal), study.slowdown, formatPercent(study.waste)));
    if (study.slowdown < kAttributed || !study.m_w || !study.m_s) {
        return out +
               paragraph("", fmt::format("Below S = {} no cause is sought: nearly nothing can be won.", kAttributed));
    }
    const auto explains = [](double share) { return share > kExplains ? "explains it" : "does not explain it"; };
    out +=
        paragraph("", fmt::format("With the last stage as fast as the rest {} of what is lost would be won back (M_S "
                                  "= {:.4f}): it {}. With the slowest 3 % of workers ({}) as fast as the rest, {} "
                                  "(M_W = {:.4f}): that {}.",
                                  formatPercent(*study.m_s), *study.m_s, explains(*study.m_s), workers,
                                  formatPercent(*study.m_w), *study.m_w, explains(*study.m_w)));
    if (study.slowdown < kStraggling)
        out += paragraph("", fmt::format("Below S = {} a job is not called straggling.", kStraggling));
    return out;
}

} // namespace

Json studyJson(const RunModel& model, const StragglerStudy& study) {
    Json by_op_type = Json::object();
    for (const auto& [name, slowdown] : study.by_op_type)
        by_op_type[name] = slowdown;
    Json steps = Json::array();
    for (const StragglerStudy::Step& step : study.steps) {
        steps.push_back({{"index", step.index},
                         {"observed_ns", step.observed.count()},
                         {"replayed_ns", step.simulated.count()},
                         {"slowdown", step.slowdown}});
    }
    Json slowest = Json::array();
    for (const StragglerStudy::Worker& worker : study.slowest)
        slowest.push_back({{"replica", worker.replica}, {"rank", worker.rank.value}});
    return {{"slowdown", study.slowdown},
            {"waste", study.waste},
            {"by_op_type", by_op_type},
            {"by_dp", study.by_dp},
            {"by_pp", study.by_pp},
            {"m_w", optionalNumber(study.m_w)},
            {"m_s", optionalNumber(study.m_s)},
            {"workers", study.workers},
            {"slowest_workers", slowest},
            {"replicas", model.replicas},
            {"observed_ns", study.fit.observed.count()},
            {"replayed_ns", study.fit.simulated.count()},
            {"ideal_ns", study.ideal.count()},
            {"replay_error", study.fit.error()},
            {"launch_delay", study.fit.launchDelay()},
            {"steps", steps}};
}

std::string studyText(const RunModel& model, const StragglerStudy& study) {
    std::string out = headText(model, study.fit) + verdict(study);
    Table ops({{"op", kLeft}, {"S"}});
    for (const auto& [name, slowdown] : study.by_op_type)
        ops.row({name, fmt::format("{:.4f}", slowdown)});
    out += "\nS by kind of op: all ideal but this kind\n" + ops.text();
    out += "\nS by worker: the lesser of its rank's and its replica's\n" + heatMap(model, study);
    out += "  · below 1.03, ░ below 1.1, ▒ below 1.25, ▓ below 1.5, █ above\n";
    return out;
}

Json predictionJson(const std::vector<std::string>& changes, const Prediction& prediction) {
    Json ranks = Json::array();
    for (const Prediction::RankBubble& rank : prediction.ranks) {
        ranks.push_back({{"rank", rank.rank.value},
                         {"bubble_before_ns", rank.before.count()},
                         {"bubble_after_ns", rank.after.count()}});
    }
    Json document = {{"changes", changes},
                     {"observed_ns", prediction.fit.observed.count()},
                     {"predicted_ns", prediction.predicted().count()},
                     {"replayed_before_ns", prediction.before.count()},
                     {"replayed_after_ns", prediction.after.count()},
                     {"change_ns", prediction.change().count()},
                     {"change", prediction.relativeChange()},
                     {"model_error", prediction.fit.error()},
                     {"late_starts_ns", prediction.late.count()},
                     {"microbatches_before", prediction.microbatches_before},
                     {"microbatches_after", prediction.microbatches_after},
                     {"ranks", ranks}};
    if (prediction.schedule) {
        document["schedule"] = {{"schedule", prediction.schedule->name},
                                {"flavor", prediction.schedule->flavor},
                                {"pp", prediction.schedule->pp},
                                {"microbatches", prediction.schedule->microbatches},
                                {"vpp", prediction.schedule->vpp}};
    }
    return document;
}

std::string predictionText(const std::vector<std::string>& changes, const Prediction& prediction) {
    std::string out;
    for (const std::string& change : changes)
        out += fmt::format("{} {}\n", out.empty() ? "If" : "  ", change);
    if (prediction.schedule) {
        out += fmt::format("Schedule: {}\n", scheduleTitle(*prediction.schedule));
    }
    out += fmt::format("\nStep: {} -> {} ({}, {:+.1f} %)\n", formatTime(prediction.fit.observed),
                       formatTime(prediction.predicted()), formatTimeDelta(prediction.change()),
                       100 * prediction.relativeChange());
    if (prediction.microbatches_before != prediction.microbatches_after) {
        const auto each = [](TimeNs step, int count) { return formatTime(step / count); };
        out +=
            fmt::format("  per micro-batch: {} -> {}\n", each(prediction.fit.observed, prediction.microbatches_before),
                        each(prediction.predicted(), prediction.microbatches_after));
    }
    out += paragraph("", fmt::format("Unchanged, the model replays the step in {}: {} off. Doubt changes that are not "
                                     "clearly larger.",
                                     formatTime(prediction.before), formatPercent(prediction.fit.error())));
    if (prediction.late > prediction.before / 200) {
        out +=
            paragraph("", fmt::format("Ops begin later than they could, and no record says why: without that it would "
                                      "take {} ({}) less. What of it makes steps long is taken to stay.",
                                      formatTime(prediction.late),
                                      formatPercent(static_cast<double>(prediction.late.count()) /
                                                    static_cast<double>(prediction.before.count()))));
    }
    Table ranks({{"rank"}, {"bubble before"}, {"after"}, {"change"}});
    for (const Prediction::RankBubble& rank : prediction.ranks) {
        ranks.row({fmt::format("{}", rank.rank.value), formatTime(rank.before), formatTime(rank.after),
                   formatTimeDelta(rank.after - rank.before)});
    }
    return out + "\nBubbles as replayed, mean over steps and replicas\n" + ranks.text();
}

} // namespace bubblescope::cli
