#include "core/formats/perfetto/sequence_state.h"

#include <memory>
#include <string_view>

namespace bubblescope::perfetto {

void SequenceState::setArgName(std::uint64_t iid, std::string_view text) {
    textsFor(arg_texts_->name(iid), text).setName(iid, text);
}

void SequenceState::setArgText(std::uint64_t iid, std::string_view text) {
    textsFor(arg_texts_->text(iid), text).setText(iid, text);
}

/// Returns the texts so that one of them can be changed from `before` to `after`. Args that stay in the file keep
/// referring to the earlier texts.
ArgTexts& SequenceState::textsFor(std::string_view before, std::string_view after) {
    if (args_stay_ && !before.empty() && before != after) {
        if (source_) arg_texts_ = std::make_shared<ArgTexts>(*arg_texts_);
        args_stay_ = false;
    }
    return *arg_texts_;
}

std::optional<std::uint32_t> SequenceState::sourceIn(ArgStore& args, const ArgSource& file, const ArgPacker* packer) {
    if (!args_stay_) return std::nullopt;
    if (source_) return source_;
    if (args.sourceCount() == kMaxSources) {
        args_stay_ = false;
        return std::nullopt;
    }
    std::shared_ptr<const ArgReader> reader = std::make_shared<EventArgs>(arg_texts_);
    source_ = args.addSource(packer != nullptr ? ArgSource{nullptr, {}, packer->readerWith(std::move(reader))}
                                               : ArgSource{file.owner, file.text, std::move(reader)});
    return source_;
}

} // namespace bubblescope::perfetto
