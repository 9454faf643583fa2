#include "core/schedule/op.h"

#include "core/base/text.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace bubblescope {

char opLetter(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return 'F';
    case OpKind::Backward: return 'B';
    case OpKind::BackwardInput: return 'I';
    case OpKind::BackwardWeight: return 'W';
    case OpKind::Optimizer: return 'O';
    }
    return '?';
}

std::optional<OpKind> opKindFromLetter(char letter) {
    switch (letter) {
    case 'F': return OpKind::Forward;
    case 'B': return OpKind::Backward;
    case 'I': return OpKind::BackwardInput;
    case 'W': return OpKind::BackwardWeight;
    case 'O': return OpKind::Optimizer;
    default: return std::nullopt;
    }
}

std::string opName(const Op& op) {
    if (op.kind == OpKind::Optimizer) return "O";
    // Formatted by hand for speed, because recorders name every slice: a letter and up to three numbers, each followed
    // by a mark.
    constexpr std::size_t kMaxLength = 40;
    std::array<char, kMaxLength> text{opLetter(op.kind)};
    char* const end = text.data() + text.size();
    char* at = std::to_chars(text.data() + 1, end, op.microbatch.value).ptr;
    *at++ = '.';
    at = std::to_chars(at, end, op.chunk.value).ptr;
    if (op.sequence > 0) {
        *at++ = ':';
        at = std::to_chars(at, end, op.sequence).ptr;
    }
    return {text.data(), at};
}

std::optional<Op> parseOpName(std::string_view text) {
    if (text.empty()) return std::nullopt;
    const auto kind = opKindFromLetter(text.front());
    if (!kind) return std::nullopt;
    Op op;
    op.kind = *kind;
    if (*kind == OpKind::Optimizer) return text.size() == 1 ? std::optional(op) : std::nullopt;

    std::string_view rest = text.substr(1);
    const auto takeIndex = [&rest] {
        const auto index = takeNumber<std::int32_t>(rest);
        return index && *index >= 0 ? index : std::nullopt;
    };
    const auto microbatch = takeIndex();
    if (!microbatch) return std::nullopt;
    op.microbatch = Microbatch{*microbatch};
    if (rest.empty()) return op;
    if (rest.front() != '.') return std::nullopt;
    rest.remove_prefix(1);
    const auto chunk = takeIndex();
    if (!chunk) return std::nullopt;
    op.chunk = Chunk{*chunk};
    if (rest.empty()) return op;
    if (rest.front() != ':') return std::nullopt;
    rest.remove_prefix(1);
    const auto sequence = takeIndex();
    if (!sequence || !rest.empty()) return std::nullopt;
    op.sequence = sequenceSlice(*sequence);
    return op;
}

} // namespace bubblescope
