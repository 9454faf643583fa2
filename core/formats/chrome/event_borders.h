#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Finds likely starts of entries in the array of events, without parsing the preceding text. A likely start is "}
/// ," followed by an object with a phase ("ph") among its top-level keys, regardless of its first key and of
/// spacing. Objects in args are assumed to have no phase: if one does, or if a string contains similar text, the result
/// is wrong.
///
/// All searches together take time proportional to the length of the text.
class EventBorders {
public:
    explicit EventBorders(std::string_view text, bool complete = true) { extend(text, complete); }

    /// Call this function when the text has grown. The text must still start at the same address. Until the text is
    /// `complete`, starts near its end are not found.
    void extend(std::string_view text, bool complete);
    /// The offset at which searches end.
    [[nodiscard]] std::size_t known() const { return known_; }

    /// The first likely start after `offset`, within `within` bytes. An object whose phase cannot be read, because it
    /// is corrupt or too long, is accepted if its first key is typical of events.
    [[nodiscard]] std::optional<std::size_t> after(std::size_t offset, std::size_t within);

    /// Like after(), but for corrupt text, in which brackets and commas may be missing. Finds an object that is not
    /// preceded by a colon, or that starts with its phase.
    [[nodiscard]] std::optional<std::size_t> afterDamage(std::size_t offset, std::size_t within);

    /// True if the text starts with an object that has a phase, or with a corrupt one that looks like an event.
    [[nodiscard]] static bool beginsEvent(std::string_view text);

    /// Total number of bytes read to find the phases of objects.
    [[nodiscard]] std::size_t bytesLookedAt() const { return looked_at_; }

private:
    /// True if an event probably starts at the brace. Otherwise moves `at` to the next possible start.
    [[nodiscard]] bool isEvent(std::size_t brace, std::size_t& at);

    std::string_view text_;
    std::size_t known_ = 0; ///< objects that start before this offset can be read up to their phase
    std::size_t looked_at_ = 0;
};

} // namespace bubblescope::chrome
