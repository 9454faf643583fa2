#pragma once

#include "core/formats/perfetto/event_args.h"
#include "core/formats/perfetto/number_table.h"
#include "core/formats/source/packed_args.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace bubblescope::perfetto {

/// The state of one packet sequence: interned texts by number, and defaults. Throws protozero::exception on malformed
/// input.
class SequenceState {
public:
    void clear();
    /// Nothing was lost since the last clear, so numbers can be resolved.
    [[nodiscard]] bool usable() const { return usable_; }
    void markLost() { usable_ = false; }

    void addInterned(std::string_view message, TraceBuilder& builder);
    void setDefaults(std::string_view message);

    /// 0 for an unknown number.
    [[nodiscard]] StringId name(std::uint64_t iid) const { return names_.find(iid); }
    [[nodiscard]] StringId category(std::uint64_t iid) const { return categories_.find(iid); }
    [[nodiscard]] const ArgTexts& argTexts() const { return *arg_texts_; }

    /// The source for events that have the args of this sequence's current state; adds it to `args` if necessary.
    /// Nothing if args must be stored, because numbers change their meaning or the file has too many sources. With a
    /// packer, the events are there and not in the file.
    [[nodiscard]] std::optional<std::uint32_t> sourceIn(ArgStore& args, const ArgSource& file, const ArgPacker* packer);

    [[nodiscard]] std::uint64_t defaultTrack() const { return default_track_; }
    void setDefaultTrack(std::uint64_t uuid) { default_track_ = uuid; }
    [[nodiscard]] std::optional<std::uint32_t> defaultClock() const { return default_clock_; }

private:
    static constexpr std::uint32_t kMaxSources = 1024; ///< per file

    [[nodiscard]] ArgTexts& textsFor(std::string_view before, std::string_view after);

    bool usable_ = false;
    bool args_stay_ = true; ///< in the file
    NumberTable<StringId> names_;
    NumberTable<StringId> categories_;
    std::shared_ptr<ArgTexts> arg_texts_ = std::make_shared<ArgTexts>();
    std::optional<std::uint32_t> source_;
    std::uint64_t default_track_ = 0;
    std::optional<std::uint32_t> default_clock_;
};

} // namespace bubblescope::perfetto
