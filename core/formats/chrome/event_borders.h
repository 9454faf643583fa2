#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Finds places where an entry of the array of events probably begins, without reading the text before them: "} ,"
/// followed by an object that has a phase ("ph") among its own keys, whatever its first key and however the file is
/// spaced. Objects in args have no phase; if one does, or if a text contains something similar, the place found is
/// wrong.
///
/// All searches together take time in proportion to the text.
class EventBorders {
public:
    explicit EventBorders(std::string_view text, bool complete = true) { extend(text, complete); }

    /// Call this when the text has grown; it must begin at the same address. Until it is `complete`, places near its
    /// end are not found.
    void extend(std::string_view text, bool complete);
    /// The offset at which searches end.
    [[nodiscard]] std::size_t known() const { return known_; }

    /// The first such place after `offset`, within `within` bytes. An object that is damaged, or too long to be read up
    /// to its phase, counts if its first key is a key of events.
    [[nodiscard]] std::optional<std::size_t> after(std::size_t offset, std::size_t within);

    /// Like after(), but following damage, where brackets and commas may be missing: an object that is not preceded by
    /// a colon, or that begins with its phase.
    [[nodiscard]] std::optional<std::size_t> afterDamage(std::size_t offset, std::size_t within);

    /// True if the object at the beginning of a text is an event: it has a phase, or it is damaged and begins like one.
    [[nodiscard]] static bool beginsEvent(std::string_view text);

    /// Total bytes that searches have read in objects to find their phase.
    [[nodiscard]] std::size_t bytesLookedAt() const { return looked_at_; }

private:
    /// True if an event probably begins at the brace. Otherwise moves `at` to the place where the next one may begin.
    [[nodiscard]] bool isEvent(std::size_t brace, std::size_t& at);

    std::string_view text_;
    std::size_t known_ = 0; ///< objects that begin before this can be read up to their phase, or as far as necessary
    std::size_t looked_at_ = 0;
};

} // namespace bubblescope::chrome
