#include "core/timeline/text_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace bubblescope {
namespace {

/// Omits the chunk number if there is only one chunk.
std::string label(const Op& op, int vpp) {
    if (vpp > 1 || op.kind == OpKind::Optimizer) return opName(op);
    const std::string slice = op.sequence > 0 ? fmt::format(":{}", op.sequence) : std::string{};
    return fmt::format("{}{}{}", opLetter(op.kind), op.microbatch.value, slice);
}

/// The two halves of an overlapped pair have the same times, so they share a label.
std::string labelAt(const std::vector<TimelineOp>& ops, std::size_t i, int vpp) {
    const bool pair =
        ops[i].op.overlapped && i + 1 < ops.size() && ops[i + 1].op.overlapped && ops[i + 1].start == ops[i].start;
    return label(ops[i].op, vpp) + (pair ? label(ops[i + 1].op, vpp) : "");
}

std::string rowHead(std::size_t rank, std::size_t ranks) {
    return fmt::format("rank {:>{}} |", rank, fmt::format("{}", ranks - 1).size());
}

std::int64_t unitOf(const StepTimeline& step) {
    std::int64_t unit = 0;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops) {
            unit = std::gcd(unit, (op.start - step.begin).count());
            unit = std::gcd(unit, (op.end - step.begin).count());
        }
    }
    return unit;
}

} // namespace

std::string textChart(const StepTimeline& step, int max_units) {
    const std::int64_t unit = unitOf(step);
    if (unit == 0 || step.wall().count() / unit > max_units) return {};
    std::size_t width = 1;
    for (const auto& ops : step.ranks) {
        for (std::size_t i = 0; i < ops.size(); ++i)
            width = std::max(width, labelAt(ops, i, step.vpp).size());
    }
    std::string out;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        out += rowHead(r, step.ranks.size());
        TimeNs at = step.begin;
        const auto fill = [&](TimeNs until, std::string_view first, char rest) {
            for (bool begun = false; at < until; at += TimeNs{unit}, begun = true) {
                out += begun || first.empty() ? fmt::format(" {:{}}", std::string(1, rest), width)
                                              : fmt::format(" {:{}}", first, width);
            }
        };
        for (std::size_t i = 0; i < step.ranks[r].size(); ++i) {
            fill(step.ranks[r][i].start, {}, '.');
            fill(step.ranks[r][i].end, labelAt(step.ranks[r], i, step.vpp), '-');
        }
        fill(step.end, {}, '.');
        out.erase(out.find_last_not_of(' ') + 1);
        out += '\n';
    }
    return out;
}

std::string orderText(const Schedule& schedule) {
    std::string out;
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        out += rowHead(r, schedule.ranks.size());
        for (const Op& op : schedule.ranks[r])
            out += " " + label(op, schedule.vpp);
        out += '\n';
    }
    return out;
}

} // namespace bubblescope
