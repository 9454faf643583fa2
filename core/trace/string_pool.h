#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bubblescope {

/// Index of a string in a StringPool. The empty string always has index 0.
using StringId = std::uint32_t;

/// Stores each distinct string once. Ids are consecutive and never change; views remain valid as long as the pool
/// exists, even if it is moved. Several threads may read while no string is being interned.
class StringPool {
public:
    StringPool();
    StringPool(const StringPool&) = delete;
    StringPool& operator=(const StringPool&) = delete;
    StringPool(StringPool&&) noexcept = default;
    StringPool& operator=(StringPool&&) noexcept = default;
    ~StringPool() = default;

    [[nodiscard]] StringId intern(std::string_view text);
    /// Id of an interned string, or 0 (which is also the id of the empty string).
    [[nodiscard]] StringId find(std::string_view text) const;
    [[nodiscard]] std::string_view text(StringId id) const { return texts_[id]; }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

private:
    std::deque<std::string> texts_; // a deque never moves its elements, so the keys of the map can be views of them
    std::unordered_map<std::string_view, StringId> ids_;
};

} // namespace bubblescope
