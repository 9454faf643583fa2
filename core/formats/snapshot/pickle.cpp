#include "core/formats/snapshot/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace bubblescope::snapshot {

/// The stack machine of the format. Opcodes are those of Python's pickletools.
class PickleParser {
public:
    PickleParser(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

    Result<Pickle> run() {
        while (true) {
            const auto opcode = take(1);
            if (!opcode) return fault("ends early");
            if (opcode->front() == '.') break;
            if (const char* const problem = step(opcode->front())) return fault(problem);
        }
        if (stack_.empty()) return fault("holds no value");
        document_.root_ = stack_.back();
        return std::move(document_);
    }

private:
    using Index = Pickle::Index;
    using Kind = Pickle::Kind;
    static constexpr const char* kCut = "ends early";
    static constexpr const char* kDamaged = "is corrupt";

    [[nodiscard]] Error fault(std::string_view what) const {
        return inputError(fmt::format("{}, byte {}", where_, at_), fmt::format("the pickle {}", what),
                          "dump the snapshot again with torch.cuda.memory._dump_snapshot()");
    }

    std::optional<std::string_view> take(std::size_t count) {
        if (bytes_.size() - at_ < count) return std::nullopt;
        at_ += count;
        return bytes_.substr(at_ - count, count);
    }
    /// A little-endian number of this many bytes.
    std::optional<std::uint64_t> takeLength(std::size_t bytes) {
        const auto text = take(bytes);
        if (!text) return std::nullopt;
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>((*text)[i])) << (8 * i);
        return value;
    }

    void push(Pickle::Value value) {
        stack_.push_back(static_cast<Index>(document_.values_.size()));
        document_.values_.push_back(value);
    }
    void pushList(Kind kind, std::vector<Index> items) {
        push({kind, static_cast<std::int64_t>(document_.lists_.size()), {}});
        document_.lists_.push_back(std::move(items));
    }
    const char* pushNumber(std::size_t bytes, bool is_signed) {
        const auto raw = takeLength(bytes);
        if (!raw) return kCut;
        auto number = static_cast<std::int64_t>(*raw);
        if (is_signed && bytes < 8 && (*raw >> (8 * bytes - 1)) != 0) number -= std::int64_t{1} << (8 * bytes);
        push({Kind::Number, number, {}});
        return nullptr;
    }
    const char* pushLong() {
        const auto bytes = takeLength(1);
        if (!bytes) return kCut;
        if (*bytes > 8) { // beyond 64 bits; no number in a snapshot that matters is
            if (!take(*bytes)) return kCut;
            push({});
            return nullptr;
        }
        return pushNumber(*bytes, true);
    }
    const char* pushFloat() {
        const auto raw = take(8);
        if (!raw) return kCut;
        std::uint64_t bits = 0;
        for (const char byte : *raw)
            bits = bits << 8 | static_cast<unsigned char>(byte);
        const double value = std::bit_cast<double>(bits);
        constexpr double kLargest = 9e18;
        if (!(std::abs(value) < kLargest))
            push({});
        else
            push({Kind::Number, static_cast<std::int64_t>(value), {}});
        return nullptr;
    }
    const char* pushText(std::size_t length_bytes, bool is_text) {
        const auto length = takeLength(length_bytes);
        if (!length) return kCut;
        const auto text = take(*length);
        if (!text) return kCut;
        push({is_text ? Kind::Text : Kind::None, 0, *text});
        return nullptr;
    }

    /// Removes the values above the last mark.
    std::optional<std::vector<Index>> popMarked() {
        if (marks_.empty() || marks_.back() > stack_.size()) return std::nullopt;
        std::vector<Index> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return items;
    }
    /// Removes the last values, but none below the last mark.
    std::optional<std::vector<Index>> pop(std::size_t count) {
        const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
        if (stack_.size() < bottom + count) return std::nullopt;
        std::vector<Index> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
        stack_.resize(stack_.size() - count);
        return items;
    }
    /// Adds items to the list or dict on top of the stack.
    const char* extend(Kind kind, std::optional<std::vector<Index>> items) {
        if (!items || stack_.empty() || document_.values_[stack_.back()].kind != kind) return kDamaged;
        if (kind == Kind::Dict && items->size() % 2 != 0) return kDamaged;
        auto& list = document_.lists_[static_cast<std::size_t>(document_.values_[stack_.back()].number)];
        list.insert(list.end(), items->begin(), items->end());
        return nullptr;
    }
    const char* tuple(std::optional<std::vector<Index>> items) {
        if (!items) return kDamaged;
        pushList(Kind::List, std::move(*items));
        return nullptr;
    }
    const char* memoize(std::optional<std::uint64_t> index) {
        if (!index) return kCut;
        // Each entry takes an opcode, and their numbers begin with 0.
        if (stack_.empty() || *index >= bytes_.size()) return kDamaged;
        if (memo_.size() <= *index) memo_.resize(*index + 1, kUnset);
        memo_[*index] = stack_.back();
        return nullptr;
    }
    const char* recall(std::optional<std::uint64_t> index) {
        if (!index) return kCut;
        if (*index >= memo_.size() || memo_[*index] == kUnset) return kDamaged;
        stack_.push_back(memo_[*index]);
        return nullptr;
    }

    /// Returns a problem, or null.
    const char* step(char opcode) {
        switch (opcode) {
        case '\x80': return take(1) ? nullptr : kCut;              // PROTO
        case '\x95': return take(8) ? nullptr : kCut;              // FRAME
        case '(': marks_.push_back(stack_.size()); return nullptr; // MARK
        case 'N': push({}); return nullptr;                        // NONE
        case '\x88': push({Kind::Number, 1, {}}); return nullptr;  // NEWTRUE
        case '\x89': push({Kind::Number, 0, {}}); return nullptr;  // NEWFALSE
        case 'K': return pushNumber(1, false);                     // BININT1
        case 'M': return pushNumber(2, false);                     // BININT2
        case 'J': return pushNumber(4, true);                      // BININT
        case '\x8a': return pushLong();                            // LONG1
        case 'G': return pushFloat();                              // BINFLOAT
        case '\x8c': return pushText(1, true);                     // SHORT_BINUNICODE
        case 'X': return pushText(4, true);                        // BINUNICODE
        case '\x8d': return pushText(8, true);                     // BINUNICODE8
        case 'C': return pushText(1, false);                       // SHORT_BINBYTES
        case 'B': return pushText(4, false);                       // BINBYTES
        case ']': pushList(Kind::List, {}); return nullptr;        // EMPTY_LIST
        case ')': pushList(Kind::List, {}); return nullptr;        // EMPTY_TUPLE
        case '}': pushList(Kind::Dict, {}); return nullptr;        // EMPTY_DICT
        case '\x85': return tuple(pop(1));                         // TUPLE1
        case '\x86': return tuple(pop(2));                         // TUPLE2
        case '\x87': return tuple(pop(3));                         // TUPLE3
        case 't': return tuple(popMarked());                       // TUPLE
        case 'a': return extend(Kind::List, pop(1));               // APPEND
        case 'e': return extend(Kind::List, popMarked());          // APPENDS
        case 's': return extend(Kind::Dict, pop(2));               // SETITEM
        case 'u': return extend(Kind::Dict, popMarked());          // SETITEMS
        case '\x94': return memoize(memo_.size());                 // MEMOIZE
        case 'q': return memoize(takeLength(1));                   // BINPUT
        case 'r': return memoize(takeLength(4));                   // LONG_BINPUT
        case 'h': return recall(takeLength(1));                    // BINGET
        case 'j': return recall(takeLength(4));                    // LONG_BINGET
        default: return "creates objects that are not plain data";
        }
    }

    static constexpr Index kUnset = static_cast<Index>(-1);
    std::string_view bytes_;
    const std::string& where_;
    std::size_t at_ = 0;
    Pickle document_;
    std::vector<Index> stack_;
    std::vector<std::size_t> marks_;
    std::vector<Index> memo_;
};

Result<Pickle> Pickle::parse(std::string_view bytes, const std::string& where) {
    return PickleParser(bytes, where).run();
}

std::optional<std::int64_t> Pickle::number(Index value) const {
    return values_[value].kind == Kind::Number ? std::optional(values_[value].number) : std::nullopt;
}

std::string_view Pickle::text(Index value) const {
    return values_[value].kind == Kind::Text ? values_[value].text : std::string_view();
}

const std::vector<Pickle::Index>& Pickle::items(Index value) const {
    static const std::vector<Index> none;
    const bool holds = values_[value].kind == Kind::List || values_[value].kind == Kind::Dict;
    return holds ? lists_[static_cast<std::size_t>(values_[value].number)] : none;
}

std::optional<Pickle::Index> Pickle::find(Index dict, std::string_view key) const {
    if (kind(dict) != Kind::Dict) return std::nullopt;
    const std::vector<Index>& pairs = items(dict);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        if (text(pairs[i]) == key) return pairs[i + 1];
    }
    return std::nullopt;
}

} // namespace bubblescope::snapshot
