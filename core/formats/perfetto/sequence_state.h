#pragma once

#include "core/trace/trace_builder.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bubblescope::perfetto {

/// The state of one packet sequence: interned texts by number and defaults. Throws protozero::exception on malformed
/// input.
class SequenceState {
public:
    /// Texts by number. Writers count from 1, so most are in a plain list.
    class Table {
    public:
        void set(std::uint64_t iid, StringId text) {
            if (iid > 2 * list_.size() + kRoom) { // a hostile file could make a list up to there fill the memory
                others_[iid] = text;
                return;
            }
            if (iid >= list_.size()) list_.resize(iid + 1, 0);
            list_[iid] = text;
        }
        [[nodiscard]] StringId find(std::uint64_t iid) const {
            if (iid < list_.size() && list_[iid] != 0) return list_[iid];
            const auto known = others_.find(iid);
            return known == others_.end() ? 0 : known->second;
        }

    private:
        static constexpr std::uint64_t kRoom = 64;

        std::vector<StringId> list_;
        std::unordered_map<std::uint64_t, StringId> others_;
    };

    void clear();
    /// Nothing was lost since the last clear, so numbers may be looked up.
    [[nodiscard]] bool usable() const { return usable_; }
    void markLost() { usable_ = false; }

    void addInterned(std::string_view message, TraceBuilder& builder);
    void setDefaults(std::string_view message);

    /// 0 for an unknown number.
    [[nodiscard]] StringId name(std::uint64_t iid) const { return names_.find(iid); }
    [[nodiscard]] StringId category(std::uint64_t iid) const { return categories_.find(iid); }
    [[nodiscard]] StringId argName(std::uint64_t iid) const { return arg_names_.find(iid); }
    [[nodiscard]] StringId argText(std::uint64_t iid) const { return arg_texts_.find(iid); }

    [[nodiscard]] std::uint64_t defaultTrack() const { return default_track_; }
    [[nodiscard]] std::optional<std::uint32_t> defaultClock() const { return default_clock_; }

private:
    bool usable_ = false;
    Table names_;
    Table categories_;
    Table arg_names_;
    Table arg_texts_;
    std::uint64_t default_track_ = 0;
    std::optional<std::uint32_t> default_clock_;
};

/// A DebugAnnotation as an arg. Lists and dictionaries become their JSON text, like nested args of JSON files. `lost`
/// is set if it refers to a text that the file does not hold. Throws protozero::exception on malformed input.
[[nodiscard]] StoredArg parseAnnotation(std::string_view message, const SequenceState& state, TraceBuilder& builder,
                                        bool& lost);

} // namespace bubblescope::perfetto
