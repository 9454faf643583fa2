#pragma once

#include "core/trace/trace_builder.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace bubblescope::perfetto {

/// What the packets of one sequence agreed on so far: texts by number and defaults. Throws
/// protozero::exception on malformed input.
class SequenceState {
public:
    using Table = std::unordered_map<std::uint64_t, StringId>;

    void clear();
    /// Since the last clear nothing was lost, so numbers may be looked up.
    [[nodiscard]] bool usable() const { return usable_; }
    void markLost() { usable_ = false; }

    void addInterned(std::string_view message, TraceBuilder& builder);
    void setDefaults(std::string_view message);

    /// 0 for a number that was never given a text.
    [[nodiscard]] StringId name(std::uint64_t iid) const { return find(names_, iid); }
    [[nodiscard]] StringId category(std::uint64_t iid) const { return find(categories_, iid); }
    [[nodiscard]] StringId argName(std::uint64_t iid) const { return find(arg_names_, iid); }
    [[nodiscard]] StringId argText(std::uint64_t iid) const { return find(arg_texts_, iid); }

    [[nodiscard]] std::uint64_t defaultTrack() const { return default_track_; }
    [[nodiscard]] std::optional<std::uint32_t> defaultClock() const { return default_clock_; }

private:
    static StringId find(const Table& table, std::uint64_t iid);

    bool usable_ = false;
    Table names_;
    Table categories_;
    Table arg_names_;
    Table arg_texts_;
    std::uint64_t default_track_ = 0;
    std::optional<std::uint32_t> default_clock_;
};

} // namespace bubblescope::perfetto
