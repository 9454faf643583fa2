#pragma once

#include "core/base/time.h"
#include "core/formats/chrome/text_flaws.h"
#include "core/trace/string_pool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::chrome {

/// A pid or tid: a number (possibly in a string) or a string.
struct RowId {
    bool is_text = false;
    std::int64_t number = 0;    ///< the number, or the StringId of the string
    std::uint32_t document = 0; ///< index of the document, for files with several; see EventSink::stateRank()

    friend bool operator==(const RowId&, const RowId&) = default;
    friend auto operator<=>(const RowId&, const RowId&) = default;
};

inline constexpr std::uint64_t kNoArgs = std::numeric_limits<std::uint64_t>::max();

/// An entry of traceEvents. Absent fields keep these values; strings are ids in the batch's pool.
struct Event {
    char phase = 0;
    char scope = 't';              ///< scope of an instant: 't'hread, 'p'rocess or 'g'lobal
    bool has_time = false;         ///< true if the event has a `ts`, even if it is not a valid time
    bool has_duration : 1 = false; ///< true if the event has a `dur`, even if it is not a valid duration
    bool has_id : 1 = false;
    bool has_global_id : 1 = false; ///< true if the id is valid in all processes
    bool has_tid : 1 = false;
    bool binds_enclosing = false; ///< true if a flow's end binds to the enclosing slice, not to the next one
    bool flows_in = false;        ///< true if `bind` is an arrow that ends at or passes through this event
    bool flows_out = false;       ///< true if `bind` is an arrow that starts at or passes through this event
    std::uint64_t offset = 0;     ///< offset of the entry in the file
    std::optional<TimeNs> time;
    std::optional<TimeNs> duration;
    StringId name = 0;
    StringId category = 0;
    RowId pid;
    RowId tid;
    std::uint64_t id = 0;         ///< id of flows, counters and asynchronous slices: the number, or the string's hash
    std::uint64_t bind = 0;       ///< id of an arrow that a slice specifies, in the same form as `id`
    std::uint64_t args = kNoArgs; ///< file offset of the JSON object with the args
    std::uint32_t args_size = 0;  ///< length of that JSON object

    /// True for `{}`, which some writers append after the last event.
    [[nodiscard]] bool empty() const { return phase == 0 && !has_time && name == 0 && args == kNoArgs; }
};

/// Recently interned strings of a pool. Finds strings without using the pool's hash table, because most events have the
/// same name as a recent one.
class RecentTexts {
public:
    /// Like StringPool::intern(), which is called on `pool` if necessary. Always pass the same pool. `hash` can be any
    /// hash of the string.
    [[nodiscard]] StringId intern(std::string_view text, std::uint64_t hash, StringPool& pool) {
        if (text.empty()) return 0;
        Entry& entry = entries_[hash % entries_.size()];
        if (entry.text.size() != text.size() || std::memcmp(entry.text.data(), text.data(), text.size()) != 0) {
            entry.id = pool.intern(text);
            entry.text = pool.text(entry.id);
        }
        return entry.id;
    }

private:
    struct Entry {
        std::string_view text;
        StringId id = 0;
    };
    std::array<Entry, 64> entries_;
};

/// Consecutive events of one file with their strings.
struct EventBatch {
    std::vector<Event> events;
    StringPool texts;
    RecentTexts recent; ///< recently used entries of `texts`
    TextFlaws flaws;
    std::string mended; ///< if not empty, the args are in this text, not in the file
};

/// Parses events. The first stage of simdjson finds keys, values and brackets. Not thread-safe.
class EventParser {
public:
    EventParser();
    ~EventParser();
    EventParser(const EventParser&) = delete;
    EventParser& operator=(const EventParser&) = delete;

    /// Appends the events in `text`: one or more, separated by commas. For any other text, returns false and
    /// does not change the batch's events; strings may have been added to the batch. `offset` is the start of the text
    /// in the file.
    [[nodiscard]] bool parse(std::string_view text, std::uint64_t offset, EventBatch& batch);
    /// Like parse(), but without copying the text. The text must end with a brace, be followed by kBehind readable
    /// bytes, and not change during the call.
    [[nodiscard]] bool parseInPlace(std::string_view text, std::uint64_t offset, EventBatch& batch);
    static constexpr std::size_t kBehind = 64;
    /// Like parse(), but for text that may continue after the array of events. Returns the size of the events in
    /// bytes; none if parse() would return false.
    [[nodiscard]] std::optional<std::size_t> parseToEnd(std::string_view text, std::uint64_t offset, EventBatch& batch);

    /// The integer in a top-level value: a number, or a string that contains one.
    [[nodiscard]] static std::optional<std::int64_t> integer(std::string_view text);

    struct Places;

private:
    [[nodiscard]] Places& placesFor(std::string_view text);
    [[nodiscard]] bool find(std::string_view text, std::uint64_t offset, TextFlaws& flaws);
    [[nodiscard]] bool findDespiteFlaws(std::string_view text, std::uint64_t offset, TextFlaws& flaws);
    [[nodiscard]] std::optional<std::size_t> read(std::uint64_t offset, EventBatch& batch, bool whole);

    std::unique_ptr<Places> places_; // created for the first text; a pointer avoids including simdjson's large header
};

} // namespace bubblescope::chrome
