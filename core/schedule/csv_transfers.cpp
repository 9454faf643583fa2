#include "core/schedule/csv_transfers.h"

#include <fmt/format.h>

#include <charconv>

namespace bubblescope {
namespace {

std::optional<std::int32_t> takeCount(std::string_view& text) {
    std::int32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc{} || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return value;
}

std::string placeOf(const std::string& where, std::size_t row, std::size_t column) {
    return fmt::format("{}, line {}, column {}", where, row + 1, column + 1);
}

} // namespace

void CsvTransfers::put(Places& places, const Key& key, std::size_t row, std::size_t column) {
    const auto [place, added] = places.try_emplace(key, Place{row, column});
    if (!added) place->second = {row, column, true};
}

bool CsvTransfers::takeCell(std::string_view cell, std::size_t row, std::size_t column) {
    const auto stage = takeCount(cell);
    if (!stage) return false;
    const bool send = cell.starts_with("SEND_");
    if (!send && !cell.starts_with("RECV_")) return false;
    cell.remove_prefix(5);
    if (cell.empty() || (cell.front() != 'F' && cell.front() != 'B')) return false;
    const bool forward = cell.front() == 'F';
    cell.remove_prefix(1);
    const auto microbatch = takeCount(cell);
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
    const Places ops(ops_.begin(), ops_.end()); // of duplicates the first
    BUBBLESCOPE_TRY(checkCells(ops, true, where));
    BUBBLESCOPE_TRY(checkCells(ops, false, where));
    for (const auto& [key, place] : ops)
        BUBBLESCOPE_TRY(checkOp(ops, key, where));
    return {};
}

} // namespace bubblescope
