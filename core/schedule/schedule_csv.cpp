
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/schedule/action_cell.h"
#include "core/schedule/action_check.h"
#include "core/schedule/order_parts.h"
#include "core/schedule/schedule_files.h"
#include "core/schedule/weight_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::string_view kHint = "cells are a stage, F, B, I or W, and a micro-batch, such as 2F0";

std::string placeOf(const std::string& where, std::size_t row, std::size_t column) {
    return fmt::format("{}, line {}, column {}", where, row + 1, column + 1);
}

/// Calls visit(cell, column) for each cell; if it returns false, the row ends.
template <class Visit>
void forEachCell(std::string_view line, Visit visit) {
    std::size_t begin = 0;
    for (std::size_t column = 0; begin <= line.size(); ++column) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        if (!visit(line.substr(begin, end - begin), column)) return;
        begin = end + 1;
    }
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

/// A rank's row. Compute actions have the index of their op.
struct Row {
    std::vector<StageOp> ops;
    std::vector<Action> actions;
};

void append(Row& row, const ActionCell& cell) {
    if (!cell.ops.empty()) {
        Action compute;
        compute.stage = cell.ops.front().stage;
        compute.microbatch = cell.ops.front().op.microbatch;
        compute.op = static_cast<std::int32_t>(row.ops.size());
        row.actions.push_back(compute);
    }
    row.ops.insert(row.ops.end(), cell.ops.begin(), cell.ops.end());
    row.actions.insert(row.actions.end(), cell.actions.begin(), cell.actions.end());
}

Result<Row> parseLine(std::string_view line, std::size_t rank, const std::string& where) {
    Row row;
    Status status;
    forEachCell(line, [&](std::string_view text, std::size_t column) {
        const auto cell = parseActionCell(text);
        if (cell) {
            append(row, *cell);
        } else {
            status = inputError(placeOf(where, rank, column),
                                fmt::format("'{}' is not an op", trimmed(text, " \t\r\"").substr(0, 60)),
                                std::string(kHint));
        }
        return cell.has_value();
    });
    BUBBLESCOPE_TRY(std::move(status));
    return row;
}

/// True if the placement, in a pipeline of pp ranks, assigns every stage to the rank that names it.
bool fits(Placement placement, int pp, const std::vector<Row>& rows) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto elsewhere = [&](Stage stage) { return locate(placement, pp, stage).rank != Rank{r}; };
        if (std::ranges::any_of(rows[r].ops, elsewhere, &StageOp::stage) ||
            std::ranges::any_of(rows[r].actions, elsewhere, &Action::stage))
            return false;
    }
    return true;
}

Result<LoweredSchedule> assemble(std::vector<Row> rows, const std::string& where) {
    LoweredSchedule lowered;
    Schedule& schedule = lowered.order;
    schedule.name = "custom";
    schedule.pp = static_cast<int>(rows.size());
    if (std::ranges::all_of(rows, [](const Row& row) { return row.ops.empty(); }))
        return inputError(where, "holds no op", std::string(kHint));
    const bool loop = fits(Placement::Loop, schedule.pp, rows);
    if (!loop && !fits(Placement::V, schedule.pp, rows)) {
        return inputError(where, "its stages are placed neither in a loop (rank = stage mod p) nor in a V",
                          "number the stages along the pipeline, one line per rank");
    }
    schedule.placement = loop ? Placement::Loop : Placement::V;
    int last_microbatch = 0;
    int last_chunk = 0;
    bool lower = false;
    for (Row& row : rows) {
        auto& list = schedule.ranks.emplace_back();
        for (StageOp op : row.ops) {
            op.op.chunk = locate(schedule.placement, schedule.pp, op.stage).chunk;
            list.push_back(op.op);
            last_microbatch = std::max(last_microbatch, op.op.microbatch.value);
        }
        for (const Action& action : row.actions) {
            last_chunk = std::max(last_chunk, locate(schedule.placement, schedule.pp, action.stage).chunk.value);
            last_microbatch = std::max(last_microbatch, action.microbatch.value);
            lower |= action.kind != ActionKind::Compute;
        }
        for (const Op& op : list)
            last_chunk = std::max(last_chunk, op.chunk.value);
    }
    schedule.microbatches = last_microbatch + 1;
    schedule.vpp = last_chunk + 1;
    BUBBLESCOPE_TRY(checkSizes(schedule, 1, where));
    if (!lower) return lowered;
    for (Row& row : rows)
        lowered.actions.push_back(std::move(row.actions));
    return lowered;
}

/// The column of an action in its line.
std::size_t columnOf(std::string_view line, std::size_t action) {
    std::size_t found = 0;
    forEachCell(line, [&](std::string_view text, std::size_t column) {
        const auto cell = parseActionCell(text);
        const std::size_t count = cell ? cell->actions.size() + (cell->ops.empty() ? 0 : 1) : 0;
        found = column;
        if (action < count) return false;
        action -= count;
        return true;
    });
    return found;
}

std::string csvOf(const LoweredSchedule& lowered) {
    std::string out;
    for (std::size_t r = 0; r < lowered.actions.size(); ++r)
        out += fmt::format("{}\r\n", fmt::join(actionCells(lowered, Rank{r}), ","));
    return out;
}

} // namespace

Result<std::string> scheduleToCsv(const Schedule& schedule) {
    BUBBLESCOPE_TRY(rejectEncoders(schedule.placement, "PyTorch's CSV"));
    if (routes(schedule.placement) > 1) {
        return usageError("PyTorch's CSV cannot represent two pipelines in opposite directions",
                          fmt::format("use {}", Field("json")));
    }
    if (updatesWithinStep(schedule)) {
        return usageError("PyTorch's CSV cannot represent weight updates within a step",
                          fmt::format("use {}", Field("json")));
    }
    if (slicesOf(schedule) > 1)
        return usageError("PyTorch's CSV cannot represent split sequences", fmt::format("use {}", Field("json")));
    return csvOf(withoutActions(schedule));
}

Result<std::string> scheduleToCsv(const LoweredSchedule& lowered) {
    if (lowered.actions.empty()) return scheduleToCsv(lowered.order);
    if (lowered.movesActivations())
        return usageError("PyTorch's CSV cannot represent offloading and recomputation",
                          fmt::format("use {}", Field("json")));
    for (const std::vector<Action>& actions : lowered.actions) {
        const auto only_json = [](const Action& action) { return action.grouped || isReceiveWait(action.kind); };
        if (std::ranges::any_of(actions, only_json)) {
            return usageError("PyTorch's CSV cannot represent groups of transfers or waits for receives",
                              fmt::format("use {}", Field("json")));
        }
    }
    return csvOf(lowered);
}

Result<LoweredSchedule> loweredFromCsv(std::string_view text, const std::string& where) {
    std::vector<Row> rows;
    for (const std::string_view line : linesOf(text)) {
        BUBBLESCOPE_ASSIGN(Row row, parseLine(line, rows.size(), where));
        rows.push_back(std::move(row));
    }
    return assemble(std::move(rows), where);
}

Result<Schedule> scheduleFromCsv(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(LoweredSchedule lowered, loweredFromCsv(text, where));
    const auto problems = checkActions(lowered);
    if (problems.empty()) return std::move(lowered.order);
    const ActionProblem& first = problems.front();
    const std::size_t row = first.rank.index();
    return inputError(placeOf(where, row, columnOf(linesOf(text)[row], first.action)), first.message.text(),
                      first.hint);
}

} // namespace bubblescope
