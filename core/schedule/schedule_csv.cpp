#include "core/schedule/schedule_csv.h"

#include "core/schedule/csv_transfers.h"
#include "core/schedule/size_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::string_view kHint = "cells are a stage, F, B, I or W, and a micro-batch, such as 2F0";
constexpr std::string_view kPairEnd = ")OVERLAP_F_B";
constexpr std::array<std::string_view, 3> kPassedOver{"UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::int32_t kMaxStages = 10'000'000;

/// An op with the global stage that its cell names.
struct StageOp {
    std::int32_t stage = 0;
    Op op;
};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\"";
    const auto first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::int32_t> takeNumber(std::string_view& text) {
    std::int32_t value = 0;
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return value;
}

bool isPassedOver(std::string_view cell) {
    return takeNumber(cell) && std::ranges::any_of(kPassedOver, [&](std::string_view name) {
               if (!cell.starts_with(name)) return false;
               std::string_view rest = cell.substr(name.size());
               return rest.empty() || (takeNumber(rest) && rest.empty());
           });
}

std::optional<StageOp> parseCell(std::string_view cell) {
    const auto stage = takeNumber(cell);
    if (!stage || *stage >= kMaxStages || cell.empty()) return std::nullopt;
    const auto kind = opKindFromLetter(cell.front());
    if (!kind || *kind == OpKind::Optimizer) return std::nullopt;
    cell.remove_prefix(1);
    const auto microbatch = takeNumber(cell);
    if (!microbatch || *microbatch >= kMaxStages || !cell.empty()) return std::nullopt;
    StageOp parsed{*stage, {}};
    parsed.op.kind = *kind;
    parsed.op.microbatch = Microbatch{*microbatch};
    return parsed;
}

/// The ops of one cell: none, one, or the two halves of a pair. Nothing for a cell that makes no sense.
std::optional<std::vector<StageOp>> parseOps(std::string_view cell) {
    if (cell.empty() || isPassedOver(cell)) return std::vector<StageOp>{};
    if (cell.front() != '(') {
        const auto op = parseCell(cell);
        return op ? std::optional(std::vector{*op}) : std::nullopt;
    }
    const auto middle = cell.find(';');
    if (!cell.ends_with(kPairEnd) || middle == std::string_view::npos) return std::nullopt;
    auto first = parseCell(trimmed(cell.substr(1, middle - 1)));
    auto second = parseCell(trimmed(cell.substr(middle + 1, cell.size() - kPairEnd.size() - middle - 1)));
    if (!first || !second) return std::nullopt;
    first->op.overlapped = second->op.overlapped = true;
    return std::vector{*first, *second};
}

Result<std::vector<StageOp>> parseLine(std::string_view line, std::size_t rank, const std::string& where,
                                       CsvTransfers& transfers) {
    std::vector<StageOp> ops;
    std::size_t begin = 0;
    for (std::size_t column = 1; begin <= line.size(); ++column) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        const std::string_view cell = trimmed(line.substr(begin, end - begin));
        begin = end + 1;
        if (transfers.takeCell(cell, rank, column - 1)) continue;
        const auto parsed = parseOps(cell);
        if (!parsed) {
            return inputError(fmt::format("{}, line {}, column {}", where, rank + 1, column),
                              fmt::format("'{}' is no op", cell.substr(0, 60)), std::string(kHint));
        }
        ops.insert(ops.end(), parsed->begin(), parsed->end());
        for (const StageOp& op : *parsed)
            transfers.takeOp(op.op, op.stage, rank, column - 1);
    }
    return ops;
}

/// Whether every stage that a rank names is one that the placement gives it, in a pipeline of pp ranks.
bool fits(Placement placement, int pp, const std::vector<std::vector<StageOp>>& ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (const StageOp& op : ranks[r]) {
            if (locate(placement, pp, Stage{op.stage}).rank != Rank{r}) return false;
        }
    }
    return true;
}

Result<Schedule> assemble(const std::vector<std::vector<StageOp>>& ranks, const std::string& where) {
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = static_cast<int>(ranks.size());
    const bool loop = fits(Placement::Loop, schedule.pp, ranks);
    if (!loop && !fits(Placement::V, schedule.pp, ranks)) {
        return inputError(where, "its ranks hold stages neither in a loop (rank = stage mod p) nor in a V",
                          "number the stages along the pipeline, and write one line per rank");
    }
    schedule.placement = loop ? Placement::Loop : Placement::V;
    int last_microbatch = -1;
    int last_chunk = 0;
    for (const auto& ops : ranks) {
        auto& list = schedule.ranks.emplace_back();
        for (StageOp op : ops) {
            op.op.chunk = locate(schedule.placement, schedule.pp, Stage{op.stage}).chunk;
            last_chunk = std::max(last_chunk, op.op.chunk.value);
            last_microbatch = std::max(last_microbatch, op.op.microbatch.value);
            list.push_back(op.op);
        }
    }
    if (last_microbatch < 0) return inputError(where, "holds no op", std::string(kHint));
    schedule.microbatches = last_microbatch + 1;
    schedule.vpp = last_chunk + 1;
    BUBBLESCOPE_TRY(checkSizes(schedule, 1, where));
    return schedule;
}

} // namespace

Result<std::string> scheduleToCsv(const Schedule& schedule) {
    if (routes(schedule.placement) > 1) {
        return usageError("two pipelines in opposite directions cannot be written as PyTorch's CSV", "use --json");
    }
    std::string out;
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        std::string line;
        const auto& ops = schedule.ranks[r];
        const auto cell = [&](const Op& op) {
            return fmt::format("{}{}{}", schedule.stageOf(Rank{r}, op.chunk).value, opLetter(op.kind),
                               op.microbatch.value);
        };
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (ops[i].sequence > 0)
                return usageError("split sequences cannot be written as PyTorch's CSV", "use --json");
            if (ops[i].kind == OpKind::Optimizer) continue;
            if (!line.empty()) line += ',';
            if (ops[i].overlapped && i + 1 < ops.size() && ops[i + 1].overlapped) {
                line += fmt::format("({};{}{}", cell(ops[i]), cell(ops[i + 1]), kPairEnd);
                ++i;
            } else {
                line += cell(ops[i]);
            }
        }
        out += line + "\r\n";
    }
    return out;
}

Result<Schedule> scheduleFromCsv(std::string_view text, const std::string& where) {
    std::vector<std::vector<StageOp>> ranks;
    CsvTransfers transfers;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        BUBBLESCOPE_ASSIGN(auto ops, parseLine(text.substr(begin, end - begin), ranks.size(), where, transfers));
        ranks.push_back(std::move(ops));
        begin = end + 1;
    }
    BUBBLESCOPE_TRY(transfers.check(where));
    return assemble(ranks, where);
}

} // namespace bubblescope
