#include "core/recognise/name_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kLongest = 1000; // limits the recursion depth, which equals the length of the pattern

/// Memoizes failed branches of a match: the rest only depends on the position in the pattern and the position in the
/// name, so no such pair is tried twice.
class DeadEnds {
public:
    explicit DeadEnds(std::size_t name_length) : places_(name_length + 1) {}

    [[nodiscard]] bool knows(std::size_t piece, std::size_t rest) const {
        const std::size_t at = piece * places_ + rest;
        return at < failed_.size() && failed_[at];
    }
    void add(std::size_t piece, std::size_t rest) {
        const std::size_t at = piece * places_ + rest;
        if (at >= failed_.size()) failed_.resize((piece + 1) * places_);
        failed_[at] = true;
    }

private:
    std::size_t places_;
    std::vector<bool> failed_; ///< by piece and length of the rest of the name; allocated at the first failure
};

} // namespace

class NamePattern::Matcher {
public:
    Matcher(const std::vector<Piece>& pieces, std::size_t name_length)
        : pieces_(pieces), dead_ends_(name_length), tried_(pieces.size(), 0) {}

    [[nodiscard]] bool from(std::size_t piece, std::string_view name, NameParts& parts);

private:
    [[nodiscard]] bool branch(std::size_t piece, std::string_view name, NameParts& parts);

    const std::vector<Piece>& pieces_;
    DeadEnds dead_ends_;
    std::vector<std::size_t> tried_; ///< for each Any: no rest of the name shorter than this matches after it
};

std::optional<RuleField> ruleFieldFrom(std::string_view name) {
    const auto known = std::find(kRuleFieldNames.begin(), kRuleFieldNames.end(), name);
    if (known == kRuleFieldNames.end()) return std::nullopt;
    return static_cast<RuleField>(known - kRuleFieldNames.begin());
}

Result<NamePattern> NamePattern::parse(std::string_view text, const std::string& where) {
    const auto wrong = [&](std::size_t at, std::string_view what) {
        return inputError(
            where, fmt::format("pattern '{}', character {}: {}", text, at + 1, what),
            "patterns are text with {field}, [optional parts] and *; \\ before one of these makes it literal");
    };
    if (text.size() > kLongest)
        return inputError(where, fmt::format("the pattern has {} characters", text.size()),
                          fmt::format("a pattern can have at most {}; split it into several patterns", kLongest));
    NamePattern pattern;
    pattern.text_ = text;
    std::vector<std::size_t> open;
    const auto add = [&pattern](Piece piece) { pattern.pieces_.push_back(std::move(piece)); };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '{') {
            const std::size_t end = text.find('}', i);
            if (end == std::string_view::npos) return wrong(i, "missing }");
            const auto field = ruleFieldFrom(text.substr(i + 1, end - i - 1));
            if (!field) {
                return wrong(i, fmt::format("unknown field; known fields: {}", fmt::join(kRuleFieldNames, ", ")));
            }
            const std::size_t before = pattern.count(*field);
            if (before > 1) return wrong(i, "a field occurs more than twice");
            add({What::Field, "", *field, before, 0});
            i = end;
        } else if (text[i] == '*') {
            add({What::Any, "", {}, 0, 0});
        } else if (text[i] == '[') {
            open.push_back(pattern.pieces_.size());
            add({What::Maybe, "", {}, 0, 0});
        } else if (text[i] == ']') {
            if (open.empty()) return wrong(i, "] without [");
            add({What::EndOfMaybe, "", {}, 0, 0});
            pattern.pieces_[open.back()].skip = pattern.pieces_.size();
            open.pop_back();
        } else {
            if (text[i] == '\\' && ++i == text.size()) return wrong(i - 1, "nothing follows");
            if (pattern.pieces_.empty() || pattern.pieces_.back().what != What::Text) add({});
            pattern.pieces_.back().text += text[i];
        }
    }
    if (!open.empty()) return wrong(text.size(), "a [ is not closed");
    return pattern;
}

std::size_t NamePattern::count(RuleField field) const {
    return static_cast<std::size_t>(std::count_if(pieces_.begin(), pieces_.end(), [field](const Piece& piece) {
        return piece.what == What::Field && piece.field == field;
    }));
}

bool NamePattern::Matcher::branch(std::size_t piece, std::string_view name, NameParts& parts) {
    if (dead_ends_.knows(piece, name.size())) return false;
    const NameParts before = parts;
    if (from(piece, name, parts)) return true;
    parts = before;
    dead_ends_.add(piece, name.size());
    return false;
}

bool NamePattern::Matcher::from(std::size_t index, std::string_view name, NameParts& parts) {
    for (; index < pieces_.size(); ++index) {
        const Piece& piece = pieces_[index];
        switch (piece.what) {
        case What::Text:
            if (!takeWord(name, piece.text)) return false;
            break;
        case What::Field: {
            if (piece.field == RuleField::Kind) {
                const auto end = std::find_if_not(name.begin(), name.end(), [](char c) {
                    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                });
                parts.kind = name.substr(0, static_cast<std::size_t>(end - name.begin()));
                if (parts.kind.empty()) return false;
                name.remove_prefix(parts.kind.size());
                break;
            }
            const auto number = takeNumber(name);
            if (!number) return false;
            parts.numbers[static_cast<std::size_t>(piece.field)][piece.of] = number;
            break;
        }
        case What::Any:
            for (std::size_t taken = 0; taken <= name.size() && name.size() - taken >= tried_[index]; ++taken) {
                if (branch(index + 1, name.substr(taken), parts)) return true;
            }
            tried_[index] = std::max(tried_[index], name.size() + 1);
            return false;
        case What::Maybe: return branch(index + 1, name, parts) || branch(piece.skip, name, parts);
        case What::EndOfMaybe: break;
        }
    }
    return name.empty();
}

std::optional<NameParts> NamePattern::match(std::string_view name) const {
    NameParts parts;
    return Matcher(pieces_, name.size()).from(0, name, parts) ? std::optional(parts) : std::nullopt;
}

} // namespace bubblescope
