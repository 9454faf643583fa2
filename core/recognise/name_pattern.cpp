#include "core/recognise/name_pattern.h"

#include "core/recognise/name_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

// Each costs a pass over the name for every place where the one before may end.
constexpr std::size_t kMostAny = 4;

} // namespace

std::optional<RuleField> ruleFieldFrom(std::string_view name) {
    const auto known = std::find(kRuleFieldNames.begin(), kRuleFieldNames.end(), name);
    if (known == kRuleFieldNames.end()) return std::nullopt;
    return static_cast<RuleField>(known - kRuleFieldNames.begin());
}

Result<NamePattern> NamePattern::parse(std::string_view text, const std::string& where) {
    const auto wrong = [&](std::size_t at, std::string_view what) {
        return inputError(where, fmt::format("pattern '{}', character {}: {}", text, at + 1, what),
                          "patterns are text with {field}, [parts that may be missing] and *; \\ before one of these "
                          "takes it as it is");
    };
    NamePattern pattern;
    pattern.text_ = text;
    std::vector<std::size_t> open;
    std::size_t stars = 0;
    const auto add = [&pattern](Piece piece) { pattern.pieces_.push_back(std::move(piece)); };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '{') {
            const std::size_t end = text.find('}', i);
            if (end == std::string_view::npos) return wrong(i, "no } follows");
            const auto field = ruleFieldFrom(text.substr(i + 1, end - i - 1));
            if (!field) {
                return wrong(i, fmt::format("no such field; known are {}", fmt::join(kRuleFieldNames, ", ")));
            }
            const std::size_t before = pattern.count(*field);
            if (before > 1) return wrong(i, "a field stands there more than twice");
            add({What::Field, "", *field, before, 0});
            i = end;
        } else if (text[i] == '*') {
            if (++stars > kMostAny) return wrong(i, "more than four *");
            add({What::Any, "", {}, 0, 0});
        } else if (text[i] == '[') {
            open.push_back(pattern.pieces_.size());
            add({What::Maybe, "", {}, 0, 0});
        } else if (text[i] == ']') {
            if (open.empty()) return wrong(i, "no [ is open");
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

bool NamePattern::matchFrom(std::size_t index, std::string_view name, NameParts& parts) const {
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
            for (std::size_t taken = 0; taken <= name.size(); ++taken) {
                if (matchFrom(index + 1, name.substr(taken), parts)) return true;
            }
            return false;
        case What::Maybe: {
            const NameParts before = parts;
            if (matchFrom(index + 1, name, parts)) return true;
            parts = before;
            return matchFrom(piece.skip, name, parts);
        }
        case What::EndOfMaybe: break;
        }
    }
    return name.empty();
}

std::optional<NameParts> NamePattern::match(std::string_view name) const {
    NameParts parts;
    return matchFrom(0, name, parts) ? std::optional(parts) : std::nullopt;
}

} // namespace bubblescope
