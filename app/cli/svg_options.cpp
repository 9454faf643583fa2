#include "app/cli/svg_options.h"

#include "core/base/text.h"
#include "core/graph/consolidate.h"
#include "core/report/svg/axis.h"
#include "core/report/svg/draw_timelines.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace bubblescope::cli {
namespace {

Result<int> parseRank(std::string_view text, std::string_view list) {
    if (const auto rank = parseNumber<int>(text); rank && *rank >= 0) return *rank;
    return usageError(fmt::format("--svg-ranks: '{}' is no list of ranks", list),
                      "write ranks and ranges, as in 0,2,4-7");
}

/// "3" or "4-7".
Status addRanks(const std::string& text, std::vector<Rank>& ranks) {
    constexpr int kMaxRanks = 1 << 20; // far more than any drawing has; keeps a typing error from filling the memory
    const auto dash = text.find('-');
    BUBBLESCOPE_ASSIGN(const int first, parseRank(text.substr(0, dash), text));
    int last = first;
    if (dash != std::string::npos) {
        BUBBLESCOPE_ASSIGN(last, parseRank(text.substr(dash + 1), text));
    }
    if (last < first || last >= kMaxRanks)
        return usageError(fmt::format("--svg-ranks: '{}' holds no ranks", text), "write the lower rank first");
    for (int rank = first; rank <= last; ++rank)
        ranks.push_back(Rank{rank});
    return {};
}

bool has(const Schedule& schedule, OpKind kind) {
    return std::ranges::any_of(
        schedule.ranks, [kind](const auto& ops) { return std::ranges::find(ops, kind, &Op::kind) != ops.end(); });
}

std::string heading(const Schedule& schedule) {
    std::int32_t slices = 1;
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops)
            slices = std::max(slices, op.sequence + 1);
    }
    return fmt::format("{}{}", scheduleTitle(schedule), slices > 1 ? fmt::format(", k = {}", slices) : "");
}

/// The times the schedule uses, then what they led to.
std::string details(const Drawn& drawn) {
    const Schedule& schedule = drawn.schedule;
    const CostModel& costs = drawn.costs;
    const OpTimes& t = costs.times;
    std::string times = costs.stages.empty() ? "" : "times per stage";
    const auto add = [&](std::string_view name, TimeNs time) {
        times += fmt::format("{}{} = {}", times.empty() ? "" : ", ", name, svg::shortTime(time));
    };
    if (costs.stages.empty()) {
        add("t_f", t.forward);
        if (has(schedule, OpKind::Backward)) add("t_b", t.backward);
        if (has(schedule, OpKind::BackwardInput)) add("t_i", t.input_grad);
        if (has(schedule, OpKind::BackwardWeight)) add("t_w", t.weight_grad);
    }
    const bool pairs =
        std::ranges::any_of(schedule.ranks, [](const auto& ops) { return std::ranges::any_of(ops, &Op::overlapped); });
    if (pairs) add("t_fb", costs.overlapped.value_or(t.forward + t.backward));
    if (costs.comm.count() > 0) add("transfer", costs.comm);
    return fmt::format("{}; makespan {}, bubble rate {:.2f} %", times, svg::shortTime(drawn.step.wall()),
                       100 * bubbleRates(drawn.step).over_makespan);
}

} // namespace

void SvgOptions::add(Command command) {
    const std::string group = "Drawing";
    const Option file =
        command.addOption("--svg", file_, "Draw the timeline as an SVG file").typeName("FILE").group(group);
    command.addOption("--svg-ranks", ranks_, "Draw these ranks only, such as 0,2,4-7")
        .typeName("LIST")
        .delimiter(',')
        .needs(file)
        .group(group);
    command.addOption("--svg-from", from_, "Draw from this time of the step on (0)")
        .typeName("TIME")
        .needs(file)
        .group(group);
    command.addOption("--svg-to", to_, "Draw up to this time of the step (its end)")
        .typeName("TIME")
        .needs(file)
        .group(group);
    command.addOption("--svg-width", width_, "Width of the drawing in pixels (900)")
        .typeName("PIXELS")
        .range(200, 20000)
        .needs(file)
        .group(group);
    command.addFlag("--svg-consolidated", consolidated_, "Draw the consolidated step too").needs(file).group(group);
}

Status SvgOptions::write(std::span<const Drawn> drawn) const {
    if (!wanted()) return {};
    svg::DrawOptions options;
    options.width = width_;
    for (const std::string& part : ranks_)
        BUBBLESCOPE_TRY(addRanks(part, options.ranks));
    if (from_) {
        BUBBLESCOPE_ASSIGN(options.from, parseTime(*from_));
    }
    if (to_) {
        BUBBLESCOPE_ASSIGN(options.to, parseTime(*to_));
    }
    std::deque<StepTimeline> consolidated; // keeps its elements in place
    std::vector<svg::Panel> panels;
    for (const Drawn& one : drawn) {
        panels.push_back({one.step, heading(one.schedule), details(one)});
        if (!consolidated_) continue;
        const auto form = closedForm(one.schedule, one.costs);
        consolidated.push_back(consolidate(one.step, form.ok() ? form.value().beforeSteady() : std::vector<TimeNs>{}));
        panels.push_back({consolidated.back(), "Consolidated", "The same step, re-timed within its slack"});
    }
    BUBBLESCOPE_TRY(svg::writeTimelines(file_, panels, options));
    fmt::print(stderr, "Drawing written to {}\n", file_);
    return {};
}

} // namespace bubblescope::cli
