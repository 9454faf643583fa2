#pragma once

#include "core/formats/chrome/event.h"

#include <memory>
#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Parses events with simdjson. One thread at a time.
class EventParser {
public:
    EventParser();
    ~EventParser();
    EventParser(const EventParser&) = delete;
    EventParser& operator=(const EventParser&) = delete;

    /// Appends the events of a text that holds one or more of them with commas between. False if the text is anything
    /// else; the batch is then not to be used, except that a text with no more than one entry adds nothing to it.
    /// `offset` is where the text begins in the file.
    [[nodiscard]] bool parse(std::string_view text, std::uint64_t offset, EventBatch& batch);

    /// The integer a top-level value holds: a number or a text with one.
    [[nodiscard]] static std::optional<std::int64_t> integer(std::string_view text);

private:
    struct Simdjson;
    std::unique_ptr<Simdjson> simdjson_; // keeps the large header out of this one
};

} // namespace bubblescope::chrome
