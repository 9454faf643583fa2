#include "app/cli/overlap_output.h"

#include "app/cli/paragraph.h"
#include "app/cli/table.h"
#include "core/base/text.h"
#include "core/optimize/overlap/streams.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::cli {
namespace {

using namespace overlap;
using StudyEntry = OverlapStudy::Entry;

constexpr std::size_t kBackward = passIndex(Pass::Backward);
constexpr std::size_t kForward = passIndex(Pass::Forward);

std::string percentOf(TimeNs part, TimeNs whole) {
    return whole.count() == 0 ? "none" : formatPercent(fractionOf(part, whole));
}

/// How much shorter `time` is than `before`, in percent of it.
std::string gain(TimeNs time, TimeNs before) {
    return fmt::format("{:+.1f} %", 100 * fractionOf(before - time, before));
}

std::string layerText(const Operators& layer, int layers) {
    const auto reduces = std::ranges::count_if(layer, &Operator::all_reduce);
    return fmt::format("{} of compute + {} of all-reduce ({})", formatTime(computeTime(layer) * layers),
                       formatTime(allReduceTime(layer) * layers), reduces * layers);
}

std::string headText(const OverlapStudy& study) {
    const OpCosts& costs = study.costs;
    std::string out = costs.name.empty() ? std::string{} : costs.name + "\n";
    out += fmt::format("  {} layers a stage; the all-reduce stream has {} priority", costs.layers,
                       costs.rules.high_priority ? "the higher" : "the compute stream's");
    if (costs.rules.cut_time.count() > 0) out += fmt::format("; each cut costs {}", formatTime(costs.rules.cut_time));
    return out + fmt::format("\n  forward   {}\n  backward  {}\n", layerText(costs.forward, costs.layers),
                             layerText(costs.backward, costs.layers));
}

std::string pairTable(const OverlapStudy& study) {
    Table table({{"a pair", Table::Align::Left},
                 {"time"},
                 {"gain"},
                 {"hidden of B"},
                 {"of F"},
                 {"cuts"},
                 {"", Table::Align::Left}});
    const TimeNs none = study.entries.front().pair.pairTime();
    for (const StudyEntry& entry : study.entries) {
        const PairStudy& pair = entry.pair;
        table.row({std::string(pair.variant.name), formatTime(pair.pairTime()), gain(pair.pairTime(), none),
                   percentOf(pair.hidden[kBackward], pair.all_reduce[kBackward]),
                   percentOf(pair.hidden[kForward], pair.all_reduce[kForward]), fmt::format("{}", pair.cuts()),
                   std::string(pair.variant.title)});
    }
    const TimeNs compute = (computeTime(study.costs.forward) + computeTime(study.costs.backward)) * study.costs.layers;
    table.row({"ideal", formatTime(compute), gain(compute, none), "", "", "", "all-reduces cost nothing"});
    return table.text(0);
}

std::string stepTable(const OverlapStudy& study) {
    Table table({{fmt::format("a step, p = {}, m = {}", study.pp, study.microbatches), Table::Align::Left},
                 {"1F1B's warm-up"},
                 {"gain"},
                 {"hidden of B"},
                 {"deeper warm-up"},
                 {"gain"},
                 {"hidden of B"}});
    const StudyEntry& none = study.entries.front();
    for (const StudyEntry& entry : study.entries) {
        std::vector<std::string> row{std::string(entry.pair.variant.name)};
        const auto add = [&](const StepRun& run, const StepRun& before) {
            row.push_back(formatTime(run.makespan));
            row.push_back(gain(run.makespan, before.makespan));
            row.push_back(percentOf(run.hidden[kBackward], run.all_reduce[kBackward]));
        };
        add(entry.paddle_order, none.paddle_order);
        add(entry.deeper_order, none.deeper_order);
        table.row(std::move(row));
    }
    const TimeNs ideal = idealMakespan(study.costs, study.pp, study.microbatches);
    table.row({"ideal", formatTime(ideal), gain(ideal, none.paddle_order.makespan), "", formatTime(ideal),
               gain(ideal, none.deeper_order.makespan), ""});
    return table.text(0);
}

std::string legendText() {
    return paragraph("  ",
                     "Hidden: the share of the all-reduce time of the backward (B) and the forward (F) during which "
                     "the compute stream works. 1F1B's warm-up, which Paddle's pass keeps, is p−s forwards on rank "
                     "s; the deeper one is 2(p−s−1)+1, so that each input is there before its pair begins.");
}

std::string timesText(const std::vector<TimeNs>& times) {
    constexpr std::size_t kMost = 8;
    std::string out;
    for (std::size_t i = 0; i < std::min(times.size(), kMost); ++i)
        out += fmt::format("{}{}", i == 0 ? "" : ", ", formatTime(times[i]));
    return times.size() > kMost ? out + fmt::format(" … {} in all", times.size()) : out;
}

/// Why the cutting rule stopped where it did.
std::string stopText(const PairStudy& pair, const OpCosts& costs) {
    if (pair.stop == CutStop::ForwardUsedUp) return "no forward op is left to run beside them";
    if (pair.stop == CutStop::None) return "nothing is cut";
    const Operators& forward = pair.plans.pair.of(Pass::Forward);
    const Operator& op = forward[static_cast<std::size_t>(pair.stopped_at)];
    const auto layer = std::count_if(forward.begin(), forward.begin() + pair.stopped_at + 1,
                                     [&](const Operator& other) { return other.name == op.name; });
    const TimeNs budget = costs.cut_budget.value_or(longestAllReduce(costs.backward));
    return fmt::format(
        "the next forward op, '{}' of layer {}, takes {}, and the rule has {} to fill; it never gets past "
        "that op",
        op.name, layer, formatTime(op.assumed), formatTime(budget));
}

std::string exposuresText(const PairStudy& pair, const OpCosts& costs) {
    struct Group {
        std::vector<TimeNs> pieces; ///< beside them
        TimeNs hidden{0};
        TimeNs exposed{0};
        TimeNs surplus{0}; ///< of the pieces over the all-reduces
    };
    Group longer;
    Group shorter;
    Group blocking;
    for (const Exposure& one : backwardExposures(pair)) {
        Group& group = !one.own_stream ? blocking : one.beside < one.span.time ? shorter : longer;
        group.pieces.push_back(one.beside);
        group.hidden += one.span.hidden;
        group.exposed += one.span.time - one.span.hidden;
        group.surplus += std::max(TimeNs{0}, one.beside - one.span.time);
    }
    const auto line = [](const Group& group, const std::string& text) {
        return group.pieces.empty() ? std::string{} : paragraph(fmt::format("  {:4}  ", group.pieces.size()), text);
    };
    return fmt::format("  Of a pair's backward, {} of {} of all-reduces is hidden. Of its all-reduces\n",
                       formatTime(pair.hidden[kBackward]), formatTime(pair.all_reduce[kBackward])) +
           line(longer, fmt::format("have a piece beside them that is at least as long as they are; {} of them stays "
                                    "exposed, and what the pieces are longer, {}, delays the backward",
                                    formatTime(longer.exposed), formatTime(longer.surplus))) +
           line(shorter,
                fmt::format("have a shorter piece beside them, {}; {} of them is hidden, {} is not",
                            timesText(shorter.pieces), formatTime(shorter.hidden), formatTime(shorter.exposed))) +
           line(blocking, fmt::format("block the compute stream for {}: {}", formatTime(blocking.exposed),
                                      stopText(pair, costs)));
}

std::string stepText(const StepRun& run, std::string_view order) {
    return paragraph(
        "  ", fmt::format("With {} {} of {} backwards are in pairs; the other {} have no forward beside them. Of "
                          "the step's backward all-reduces {} is hidden.",
                          order, run.pairs, run.pairs + run.singles, run.singles,
                          percentOf(run.hidden[kBackward], run.all_reduce[kBackward])));
}

std::string explanationText(const OverlapStudy& study, std::string_view variant) {
    const StudyEntry& entry = study.of(variant);
    const PairStudy& pair = entry.pair;
    std::string out = fmt::format("Why {} hides what it hides ({})\n", variant, pair.variant.title);
    out += exposuresText(pair, study.costs);
    out += stepText(entry.paddle_order, "1F1B's warm-up");
    if (pair.cuts() > 0 && study.pp > 1) {
        const TimeNs gradient = pair.pair.ends[kBackward];
        out += paragraph("  ",
                         fmt::format("There a pair's forward gets its input just when the backward has ended, {} after "
                                     "the pair's start, but its first piece comes {} after the start: the pairs wait.",
                                     formatTime(gradient), formatTime(forwardStart(pair))));
    }
    return out + stepText(entry.deeper_order, "the deeper warm-up");
}

Json passJson(const PerPass<TimeNs>& times) {
    return {{"forward", times[kForward].count()}, {"backward", times[kBackward].count()}};
}

Json stepJson(const StepRun& run, TimeNs before, std::string_view flavor) {
    return {{"flavor", flavor},
            {"makespan_ns", run.makespan.count()},
            {"gain", fractionOf(before - run.makespan, before)},
            {"pairs", run.pairs},
            {"single_backwards", run.singles},
            {"all_reduce_ns", passJson(run.all_reduce)},
            {"hidden_ns", passJson(run.hidden)},
            {"backward_hidden_share", fractionOf(run.hidden[kBackward], run.all_reduce[kBackward])}};
}

Json pairJson(const PairStudy& pair) {
    Json reduces = Json::array();
    for (const Exposure& one : backwardExposures(pair)) {
        reduces.push_back({{"op", one.span.op},
                           {"time_ns", one.span.time.count()},
                           {"hidden_ns", one.span.hidden.count()},
                           {"own_stream", one.own_stream},
                           {"beside_ns", one.beside.count()}});
    }
    Json pieces = Json::array();
    for (const Piece& piece : pair.plans.pair.pieces)
        pieces.push_back({piece.pass == Pass::Backward ? "B" : "F", piece.first, piece.end});
    return {{"pair_ns", pair.pairTime().count()},
            {"forward_ns", pair.forward.count()},
            {"backward_ns", pair.backward.count()},
            {"all_reduce_ns", passJson(pair.all_reduce)},
            {"hidden_ns", passJson(pair.hidden)},
            {"backward_hidden_share", fractionOf(pair.hidden[kBackward], pair.all_reduce[kBackward])},
            {"backward_end_ns", pair.pair.ends[kBackward].count()},
            {"forward_start_ns", forwardStart(pair).count()},
            {"cuts", pair.cuts()},
            {"extra_slices", pair.slices},
            {"pieces", pieces},
            {"backward_all_reduces", reduces}};
}

} // namespace

const StudyEntry& OverlapStudy::of(std::string_view variant) const {
    return *std::ranges::find(entries, variant, [](const StudyEntry& one) { return one.pair.variant.name; });
}

std::string overlapText(const OverlapStudy& study, std::string_view explained) {
    return fmt::format("{}\n{}\n{}{}\n{}", headText(study), pairTable(study), stepTable(study), legendText(),
                       explanationText(study, explained));
}

std::string overlapChart(const OverlapStudy& study, std::string_view variant, int width) {
    const PairStudy& pair = study.of(variant).pair;
    return fmt::format("\n{}, {}\n{}", variant, formatTime(pair.pairTime()),
                       streamChart(pair.plans.pair, pair.pair, width));
}

Json overlapJson(const OverlapStudy& study) {
    const StudyEntry& none = study.entries.front();
    Json variants = Json::array();
    for (const StudyEntry& entry : study.entries) {
        Json one = {{"variant", entry.pair.variant.name}, {"title", entry.pair.variant.title}};
        one["pair"] = pairJson(entry.pair);
        one["steps"] = {stepJson(entry.paddle_order, none.paddle_order.makespan, "paddle-mp"),
                        stepJson(entry.deeper_order, none.deeper_order.makespan, "combined")};
        variants.push_back(std::move(one));
    }
    return {{"name", study.costs.name},
            {"layers_per_stage", study.costs.layers},
            {"pp", study.pp},
            {"microbatches", study.microbatches},
            {"ideal_makespan_ns", idealMakespan(study.costs, study.pp, study.microbatches).count()},
            {"variants", variants}};
}

} // namespace bubblescope::cli
