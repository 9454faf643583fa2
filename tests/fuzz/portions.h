#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace bubblescope::fuzz {

/// Extracts numbers and texts from the start of the bytes; returns zeros and empty texts at the end.
class Portions {
public:
    explicit Portions(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] bool any() const { return !rest_.empty(); }
    std::string_view text(std::size_t size) {
        const std::string_view part = rest_.substr(0, size);
        rest_.remove_prefix(part.size());
        return part;
    }
    template <class Number = std::uint8_t>
    Number number() {
        Number value{};
        const std::string_view part = text(sizeof value);
        if (!part.empty()) std::memcpy(&value, part.data(), part.size());
        return value;
    }

private:
    std::string_view rest_;
};

} // namespace bubblescope::fuzz
