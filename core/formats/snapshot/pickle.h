#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::snapshot {

/// A document in Python's pickle format, protocols 2 to 5. The document may contain only None, booleans, numbers, text,
/// bytes, lists, tuples and dicts. Anything that would run code or create other objects is rejected.
class Pickle {
public:
    using Index = std::uint32_t;
    enum class Kind : std::uint8_t { None, Number, Text, List, Dict };

    /// `bytes` must outlive the document. Errors: Input.
    [[nodiscard]] static Result<Pickle> parse(std::string_view bytes, const std::string& where);

    [[nodiscard]] Index root() const { return root_; }
    [[nodiscard]] Kind kind(Index value) const { return values_[value].kind; }
    /// An integer, or a float truncated to one; none for other types.
    [[nodiscard]] std::optional<std::int64_t> number(Index value) const;
    /// The text of a string or bytes value; empty for other types.
    [[nodiscard]] std::string_view text(Index value) const;
    /// The items of a list or tuple, or the alternating keys and values of a dict. Empty for other types.
    [[nodiscard]] const std::vector<Index>& items(Index value) const;
    /// The value of a key in a dict; none if `dict` is not a dict or has no such key.
    [[nodiscard]] std::optional<Index> find(Index dict, std::string_view key) const;

private:
    friend class PickleParser;
    struct Value {
        Kind kind = Kind::None;
        std::int64_t number = 0; ///< for List and Dict: index in lists_
        std::string_view text;
    };
    std::vector<Value> values_;
    std::vector<std::vector<Index>> lists_;
    Index root_ = 0;
};

} // namespace bubblescope::snapshot
