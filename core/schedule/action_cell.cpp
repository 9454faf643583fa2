#include "core/schedule/action_cell.h"

#include "core/base/text.h"

#include <array>
#include <limits>

namespace bubblescope {
namespace {

constexpr std::string_view kPairEnd = ")OVERLAP_F_B";
constexpr std::string_view kGroupEnd = ")GROUP";
constexpr std::string_view kBlanks = " \t\r\"";
constexpr std::int32_t kMaxIndex = 10'000'000;

std::optional<std::int32_t> takeIndex(std::string_view& text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    const auto index = takeNumber<std::int32_t>(text);
    return index && *index < kMaxIndex ? index : std::nullopt;
}

std::optional<StageOp> parseOp(std::string_view cell) {
    const auto stage = takeIndex(cell);
    if (!stage || cell.empty()) return std::nullopt;
    const auto kind = opKindFromLetter(cell.front());
    if (!kind || *kind == OpKind::Optimizer) return std::nullopt;
    cell.remove_prefix(1);
    const auto microbatch = takeIndex(cell);
    if (!microbatch || !cell.empty()) return std::nullopt;
    return StageOp{Stage{*stage}, Op{*kind, Microbatch{*microbatch}, Chunk{0}}};
}

std::optional<Action> parseAction(std::string_view cell) {
    constexpr std::array kKinds{ActionKind::SendForward,
                                ActionKind::ReceiveForward,
                                ActionKind::SendBackward,
                                ActionKind::ReceiveBackward,
                                ActionKind::WaitSendForward,
                                ActionKind::WaitSendBackward,
                                ActionKind::WaitReceiveForward,
                                ActionKind::WaitReceiveBackward,
                                ActionKind::Unshard,
                                ActionKind::Reshard,
                                ActionKind::ReduceGrad,
                                ActionKind::WaitReduceGrad,
                                ActionKind::Offload,
                                ActionKind::WaitOffload,
                                ActionKind::Reload,
                                ActionKind::Recompute};
    const auto stage = takeIndex(cell);
    if (!stage) return std::nullopt;
    for (const ActionKind kind : kKinds) {
        if (!cell.starts_with(actionWord(kind))) continue;
        cell.remove_prefix(actionWord(kind).size());
        Action action;
        action.kind = kind;
        action.stage = Stage{*stage};
        const bool of_microbatch = isTransfer(kind) || isTransferWait(kind) || movesActivations(kind);
        if (cell.empty() && !of_microbatch) return action;
        const auto microbatch = takeIndex(cell);
        if (!microbatch) return std::nullopt;
        action.microbatch = Microbatch{*microbatch};
        if (kind == ActionKind::Offload && cell.starts_with('@')) {
            cell.remove_prefix(1);
            const auto peer = takeIndex(cell);
            if (!peer || *peer > std::numeric_limits<std::int16_t>::max()) return std::nullopt;
            action.peer = static_cast<std::int16_t>(*peer);
        }
        return cell.empty() ? std::optional(action) : std::nullopt;
    }
    return std::nullopt;
}

/// Calls `visit` for each part of "a;b;c".
template <class Visit>
bool forEachPart(std::string_view inside, Visit visit) {
    for (std::size_t begin = 0; begin <= inside.size();) {
        const std::size_t end = std::min(inside.find(';', begin), inside.size());
        if (!visit(trimmed(inside.substr(begin, end - begin), kBlanks))) return false;
        begin = end + 1;
    }
    return true;
}

std::optional<ActionCell> parsePair(std::string_view inside) {
    ActionCell cell;
    const bool good = forEachPart(inside, [&cell](std::string_view part) {
        auto op = parseOp(part);
        if (!op) return false;
        op->op.overlapped = true;
        cell.ops.push_back(*op);
        return true;
    });
    return good && cell.ops.size() == 2 ? std::optional(std::move(cell)) : std::nullopt;
}

std::optional<ActionCell> parseGroup(std::string_view inside) {
    ActionCell cell;
    const bool good = forEachPart(inside, [&cell](std::string_view part) {
        auto action = parseAction(part);
        if (!action || !isTransfer(action->kind)) return false;
        action->grouped = true;
        cell.actions.push_back(*action);
        return true;
    });
    if (!good) return std::nullopt;
    cell.actions.back().grouped = false;
    return cell;
}

} // namespace

std::optional<ActionCell> parseActionCell(std::string_view text) {
    const std::string_view cell = trimmed(text, kBlanks);
    if (cell.empty()) return ActionCell{};
    if (cell.front() == '(') {
        if (cell.ends_with(kPairEnd)) return parsePair(cell.substr(1, cell.size() - kPairEnd.size() - 1));
        if (cell.ends_with(kGroupEnd)) return parseGroup(cell.substr(1, cell.size() - kGroupEnd.size() - 1));
        return std::nullopt;
    }
    if (const auto op = parseOp(cell)) return ActionCell{{*op}, {}};
    if (const auto action = parseAction(cell)) return ActionCell{{}, {*action}};
    return std::nullopt;
}

} // namespace bubblescope
