#pragma once

#include "core/base/result.h"
#include "core/base/text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Removes a number from the beginning of `text` and returns it. If `text` does not start with one, changes nothing.
[[nodiscard]] inline std::optional<std::int64_t> takeNumber(std::string_view& text) {
    std::string_view rest = text;
    const auto number = takeNumber<std::int64_t>(rest);
    if (!number || *number < 0) return std::nullopt;
    text = rest;
    return number;
}

/// Removes `word` from the beginning of `text`; returns false if `text` does not start with it.
[[nodiscard]] inline bool takeWord(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
}

/// A property of an op that a name, an arg or a thread's name can contain.
enum class RuleField : std::uint8_t {
    Kind,
    MicrobatchId,
    ChunkId,
    StageId,
    StepId,
    RankId,
    ReplicaId,
    SequenceId,
    TensorRank,
    LayerId ///< matched but ignored: an op spans its layers
};
inline constexpr std::array<std::string_view, 10> kRuleFieldNames{
    "kind", "microbatch", "chunk", "stage", "step", "rank", "replica", "sequence", "tensor_rank", "layer"};
[[nodiscard]] std::optional<RuleField> ruleFieldFrom(std::string_view name);

/// The fields extracted from a name. For a pair of ops, entries of the second op follow those of the first.
struct NameParts {
    std::array<std::array<std::optional<std::int64_t>, 2>, kRuleFieldNames.size()> numbers;
    std::string_view kind; ///< the word matched by {kind}

    [[nodiscard]] const std::optional<std::int64_t>& get(RuleField field, std::size_t of = 0) const {
        return numbers[static_cast<std::size_t>(field)][of];
    }
};

/// A pattern for names: "fwd mb{microbatch}[ chunk{chunk}]*". {field} is a number ({kind} is a word of letters and
/// underscores), [part] is optional, * matches any text, \ escapes the next character. A pattern must match the
/// complete name. Matching takes time proportional to the product of the lengths of pattern and name.
class NamePattern {
public:
    /// Error: Input, with the problem and the position of the character; `where` is the location for the message.
    [[nodiscard]] static Result<NamePattern> parse(std::string_view text, const std::string& where);

    [[nodiscard]] std::optional<NameParts> match(std::string_view name) const;
    [[nodiscard]] const std::string& text() const { return text_; }
    /// Number of occurrences of a field in the pattern.
    [[nodiscard]] std::size_t count(RuleField field) const;

private:
    enum class What : std::uint8_t { Text, Field, Any, Maybe, EndOfMaybe };
    struct Piece {
        What what = What::Text;
        std::string text;
        RuleField field = RuleField::Kind;
        std::size_t of = 0;   ///< index of the op in a pair
        std::size_t skip = 0; ///< for Maybe: index of the piece after the optional part
    };
    class Matcher;

    std::string text_;
    std::vector<Piece> pieces_;
};

} // namespace bubblescope
