
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

std::optional<std::int32_t> takeIndex(std::string_view& text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    return takeNumber<std::int32_t>(text);
}

/// Checks that the SEND and RECV cells of a PyTorch schedule file fit its ops: every op whose input another rank makes
/// is preceded by one RECV, and its producer is followed by one SEND. PyTorch does not check this; the job hangs. A
/// file without such cells leaves transfers to its runner, and passes.
class CsvTransfers {
public:
    /// Takes a cell such as 1RECV_F0: stage 1 receives the input of its forward of micro-batch 0; the sender's cell is
    /// 0SEND_F0. False for cells of another kind. `row` and `column` count from 0.
    bool takeCell(std::string_view cell, std::size_t row, std::size_t column);
    void takeOp(const Op& op, std::int32_t stage, std::size_t row, std::size_t column);

    /// Errors: Input, with line and column, for the first cell that is missing, duplicate, misplaced or belongs to no
    /// op.
    [[nodiscard]] Status check(const std::string& where) const;

private:
    struct Key {
        bool forward = true;
        std::int32_t stage = 0;
        std::int32_t microbatch = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Place {
        std::size_t row = 0;
        std::size_t column = 0;
        bool twice = false;
    };
    using Places = std::map<Key, Place>;
    static void put(Places& places, const Key& key, std::size_t row, std::size_t column);
    [[nodiscard]] Status checkCells(const Places& ops, bool send, const std::string& where) const;
    [[nodiscard]] Status checkOp(const Places& ops, const Key& key, const std::string& where) const;

    std::vector<std::pair<Key, Place>> ops_; ///< sorted by key only if the file has such cells
    Places sends_;
    Places receives_;
};

std::string placeOf(const std::string& where, std::size_t row, std::size_t column) {
    return fmt::format("{}, line {}, column {}", where, row + 1, column + 1);
}

void CsvTransfers::put(Places& places, const Key& key, std::size_t row, std::size_t column) {
    const auto [place, added] = places.try_emplace(key, Place{row, column});
    if (!added) place->second = {row, column, true};
}

bool CsvTransfers::takeCell(std::string_view cell, std::size_t row, std::size_t column) {
    const auto stage = takeIndex(cell);
    if (!stage) return false;
    const bool send = cell.starts_with("SEND_");
    if (!send && !cell.starts_with("RECV_")) return false;
    cell.remove_prefix(5);
    if (cell.empty() || (cell.front() != 'F' && cell.front() != 'B')) return false;
    const bool forward = cell.front() == 'F';
    cell.remove_prefix(1);
    const auto microbatch = takeIndex(cell);
    if (!microbatch || !cell.empty()) return false;
    put(send ? sends_ : receives_, {forward, *stage, *microbatch}, row, column);
    return true;
}

void CsvTransfers::takeOp(const Op& op, std::int32_t stage, std::size_t row, std::size_t column) {
    if (op.kind == OpKind::Forward || producesInputGradient(op.kind))
        ops_.push_back({{op.kind == OpKind::Forward, stage, op.microbatch.value}, {row, column}});
}

Status CsvTransfers::checkOp(const Places& ops, const Key& key, const std::string& where) const {
    const Place& at = ops.at(key);
    const char letter = key.forward ? 'F' : 'B';
    const Key from{key.forward, key.forward ? key.stage - 1 : key.stage + 1, key.microbatch};
    const auto producer = ops.find(from);
    if (producer == ops.end() || producer->second.row == at.row) return {};
    const auto receive = receives_.find(key);
    const auto send = sends_.find(from);
    const std::string receive_cell = fmt::format("{}RECV_{}{}", key.stage, letter, key.microbatch);
    const std::string send_cell = fmt::format("{}SEND_{}{}", from.stage, letter, key.microbatch);
    if (receive == receives_.end() || receive->second.column > at.column) {
        return inputError(placeOf(where, at.row, at.column),
                          fmt::format("{}{}{} has no {} before it", key.stage, letter, key.microbatch, receive_cell),
                          "its input comes from another rank: add the cell, or leave all SEND and RECV cells out");
    }
    const Place& made = producer->second;
    if (send == sends_.end() || send->second.column < made.column) {
        return inputError(placeOf(where, made.row, made.column),
                          fmt::format("{}{}{} has no {} behind it, for which {} would wait for ever", from.stage,
                                      letter, key.microbatch, send_cell, receive_cell),
                          "add the cell, or leave all SEND and RECV cells out");
    }
    return {};
}

Status CsvTransfers::checkCells(const Places& ops, bool send, const std::string& where) const {
    for (const auto& [key, place] : send ? sends_ : receives_) {
        const std::string cell =
            fmt::format("{}{}_{}{}", key.stage, send ? "SEND" : "RECV", key.forward ? 'F' : 'B', key.microbatch);
        if (place.twice)
            return inputError(placeOf(where, place.row, place.column), cell + " stands there twice", "remove one");
        const auto here = ops.find(key);
        const int to_other_end = key.forward == send ? 1 : -1;
        const auto there = ops.find({key.forward, key.stage + to_other_end, key.microbatch});
        if (here == ops.end() || there == ops.end() || here->second.row != place.row ||
            there->second.row == place.row) {
            return inputError(placeOf(where, place.row, place.column),
                              cell + " belongs to no transfer between this rank and another", "remove it");
        }
    }
    return {};
}

Status CsvTransfers::check(const std::string& where) const {
    if (sends_.empty() && receives_.empty()) return {};
    const Places ops(ops_.begin(), ops_.end()); // the first of duplicates
    BUBBLESCOPE_TRY(checkCells(ops, true, where));
    BUBBLESCOPE_TRY(checkCells(ops, false, where));
    for (const auto& [key, place] : ops)
        BUBBLESCOPE_TRY(checkOp(ops, key, where));
    return {};
}

constexpr std::string_view kHint = "cells are a stage, F, B, I or W, and a micro-batch, such as 2F0";
constexpr std::string_view kPairEnd = ")OVERLAP_F_B";
constexpr std::array<std::string_view, 3> kSkippedActions{"UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::int32_t kMaxStages = 10'000'000;

/// An op with the global stage that its cell names.
struct StageOp {
    std::int32_t stage = 0;
    Op op;
};

constexpr std::string_view kBlanks = " \t\r\"";

bool isSkippedAction(std::string_view cell) {
    return takeIndex(cell) && std::ranges::any_of(kSkippedActions, [&](std::string_view name) {
               if (!cell.starts_with(name)) return false;
               std::string_view rest = cell.substr(name.size());
               return rest.empty() || (takeIndex(rest) && rest.empty());
           });
}

std::optional<StageOp> parseCell(std::string_view cell) {
    const auto stage = takeIndex(cell);
    if (!stage || *stage >= kMaxStages || cell.empty()) return std::nullopt;
    const auto kind = opKindFromLetter(cell.front());
    if (!kind || *kind == OpKind::Optimizer) return std::nullopt;
    cell.remove_prefix(1);
    const auto microbatch = takeIndex(cell);
    if (!microbatch || *microbatch >= kMaxStages || !cell.empty()) return std::nullopt;
    StageOp parsed{*stage, {}};
    parsed.op.kind = *kind;
    parsed.op.microbatch = Microbatch{*microbatch};
    return parsed;
}

/// The ops of one cell: none, one, or the two halves of a pair. Nothing for an invalid cell.
std::optional<std::vector<StageOp>> parseOps(std::string_view cell) {
    if (cell.empty() || isSkippedAction(cell)) return std::vector<StageOp>{};
    if (cell.front() != '(') {
        const auto op = parseCell(cell);
        return op ? std::optional(std::vector{*op}) : std::nullopt;
    }
    const auto middle = cell.find(';');
    if (!cell.ends_with(kPairEnd) || middle == std::string_view::npos) return std::nullopt;
    auto first = parseCell(trimmed(cell.substr(1, middle - 1), kBlanks));
    auto second = parseCell(trimmed(cell.substr(middle + 1, cell.size() - kPairEnd.size() - middle - 1), kBlanks));
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
        const std::string_view cell = trimmed(line.substr(begin, end - begin), kBlanks);
        begin = end + 1;
        if (transfers.takeCell(cell, rank, column - 1)) continue;
        const auto parsed = parseOps(cell);
        if (!parsed) {
            return inputError(fmt::format("{}, line {}, column {}", where, rank + 1, column),
                              fmt::format("'{}' is not an op", cell.substr(0, 60)), std::string(kHint));
        }
        ops.insert(ops.end(), parsed->begin(), parsed->end());
        for (const StageOp& op : *parsed)
            transfers.takeOp(op.op, op.stage, rank, column - 1);
    }
    return ops;
}

/// Whether every stage that a rank names is assigned to it by the placement, in a pipeline of pp ranks.
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
        return usageError("two pipelines in opposite directions cannot be written as PyTorch's CSV",
                          fmt::format("use {}", Field("json")));
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
                return usageError("split sequences cannot be written as PyTorch's CSV",
                                  fmt::format("use {}", Field("json")));
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
