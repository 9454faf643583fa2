#pragma once

#include "core/base/time.h"
#include "core/trace/trace_builder.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope::chrome {

/// A pid or tid: a number (also one written as text) or a text.
struct RowId {
    bool is_text = false;
    std::int64_t number = 0;
    StringId text = 0;

    friend bool operator==(const RowId&, const RowId&) = default;
    friend auto operator<=>(const RowId&, const RowId&) = default;
};

/// One entry of traceEvents. Fields that are absent keep these values.
struct Event {
    char phase = 0;
    StringId name = 0;
    StringId category = 0;
    RowId pid;
    RowId tid;
    bool has_time = false; ///< there is a `ts`, even if it is no time
    std::optional<TimeNs> time;
    std::optional<TimeNs> duration;
    std::uint64_t id = 0; ///< of flows and counters: the number, or a hash of the text
    std::vector<Arg> args;
};

/// Parses single events with simdjson. The text must be followed by kReadPadding readable bytes.
class EventParser {
public:
    explicit EventParser(TraceBuilder& builder);
    ~EventParser();
    EventParser(const EventParser&) = delete;
    EventParser& operator=(const EventParser&) = delete;

    /// False for text that is no JSON object. The event is reused by the next call.
    [[nodiscard]] bool parse(std::string_view text);
    [[nodiscard]] const Event& event() const { return event_; }

    /// The integer a top-level value holds: a number or a text with one.
    [[nodiscard]] static std::optional<std::int64_t> integer(std::string_view text);
    /// Of a JSON object, the integer of its field `key`.
    [[nodiscard]] std::optional<std::int64_t> integerField(std::string_view object, std::string_view key);

private:
    struct Simdjson;

    TraceBuilder& builder_;
    Event event_;
    std::unique_ptr<Simdjson> simdjson_; // keeps the large header out of this one
};

} // namespace bubblescope::chrome
