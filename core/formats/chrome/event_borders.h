#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Finds places in a file where an entry of the array of events probably begins, without reading what lies before them:
/// after "} ," stands an object that has a phase ("ph") among its own keys, whatever its first key is and however the
/// file is spaced. Objects in args have none; where they do, or where a text holds the like, a place found is wrong.
///
/// All searches together take time in proportion to the text.
class EventBorders {
public:
    explicit EventBorders(std::string_view text, bool complete = true) { extend(text, complete); }

    /// More of the text came, at the same place. Until it is `complete`, places near its end are not found yet.
    void extend(std::string_view text, bool complete);
    /// Where searches end.
    [[nodiscard]] std::size_t known() const { return known_; }

    /// The first such place after `offset`, searched for over `within` bytes. An object that is damaged, or too long to
    /// be read to its phase, counts if its first key is one that events have.
    [[nodiscard]] std::optional<std::size_t> after(std::size_t offset, std::size_t within);

    /// The same behind damage, where brackets and commas may be missing: an object that no colon
    /// precedes, or that begins with its phase.
    [[nodiscard]] std::optional<std::size_t> afterDamage(std::size_t offset, std::size_t within);

    /// Whether the object at the beginning of a text is an event: it has a phase, or is damaged and begins like one.
    [[nodiscard]] static bool beginsEvent(std::string_view text);

    /// Bytes of objects that all searches read to find their phase.
    [[nodiscard]] std::size_t bytesLookedAt() const { return looked_at_; }

private:
    /// Whether an event probably begins at the brace; if not, `at` is moved to where the next may.
    [[nodiscard]] bool isEvent(std::size_t brace, std::size_t& at);

    std::string_view text_;
    std::size_t known_ = 0; ///< what begins before it can be read to its phase, or as far as that goes
    std::size_t looked_at_ = 0;
};

} // namespace bubblescope::chrome
