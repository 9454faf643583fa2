#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/encoder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bubblescope::perfetto {

/// A slice that has ended or, if `instant`, an event at `start`. Texts and args are valid during the callback only.
struct StreamEvent {
    bool instant = false;
    std::uint64_t track = 0;
    TimeNs start{0};
    TimeNs end{0};
    std::string_view category;
    std::string_view name;
    std::span<const Arg> args; ///< of different names

    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view arg) const; ///< flags are 0 and 1
    [[nodiscard]] std::optional<std::string_view> text(std::string_view arg) const;
    /// Null if there is none of the name.
    [[nodiscard]] const Arg* find(std::string_view arg) const;

    /// Where find() looks first, behind the arg that it found last: they are mostly read in their order. A hint: any
    /// number is right.
    mutable std::size_t find_hint = 0;
};

} // namespace bubblescope::perfetto
