#pragma once

#include "core/formats/perfetto/event_args.h"
#include "core/formats/perfetto/packet_decoder.h"
#include "core/formats/source/packed_args.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace bubblescope::perfetto {

/// The state of one packet sequence of a trace. The args of its events may be left in the file.
class SequenceState : public NumberedTexts<StringId> {
public:
    /// 0 for an unknown number.
    [[nodiscard]] StringId name(std::uint64_t iid) const { return names.find(iid); }
    [[nodiscard]] const ArgTexts& argTexts() const { return *arg_texts_; }
    void setArgName(std::uint64_t iid, std::string_view text);
    void setArgText(std::uint64_t iid, std::string_view text);

    /// The source for events that use this sequence's current state for their args; adds the source to `args` if
    /// necessary. None if args must be stored, because the meaning of numbers changes or the file has too many sources.
    /// With a packer, events are read from the packer instead of the file.
    [[nodiscard]] std::optional<std::uint32_t> sourceIn(ArgStore& args, const ArgSource& file, const ArgPacker* packer);

private:
    static constexpr std::uint32_t kMaxSources = 1024; ///< per file

    [[nodiscard]] ArgTexts& textsFor(std::string_view before, std::string_view after);

    bool args_stay_ = true; ///< true if args are left in the file
    std::shared_ptr<ArgTexts> arg_texts_ = std::make_shared<ArgTexts>();
    std::optional<std::uint32_t> source_;
};

} // namespace bubblescope::perfetto
