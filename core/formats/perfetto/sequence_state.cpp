#include "core/formats/perfetto/sequence_state.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/packet.h"

#include <memory>
#include <string_view>

namespace bubblescope::perfetto {
void SequenceState::clear() {
    *this = SequenceState{};
    usable_ = true;
}

void SequenceState::addInterned(std::string_view message, TraceBuilder& builder) {
    eachInterned(message, [&](std::uint32_t kind, std::uint64_t number, std::string_view text) {
        switch (kind) {
        case fields::interned::kCategories: categories_.set(number, builder.intern(text)); break;
        case fields::interned::kNames: names_.set(number, builder.intern(text)); break;
        case fields::interned::kArgNames: textsFor(arg_texts_->name(number), text).setName(number, text); break;
        default: textsFor(arg_texts_->text(number), text).setText(number, text);
        }
    });
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

void SequenceState::setDefaults(std::string_view message) {
    FieldReader defaults(message);
    while (defaults.next()) {
        switch (defaults.tag()) {
        case fields::defaults::kTimestampClockId: default_clock_ = defaults.uint32(); break;
        case fields::defaults::kTrackEventDefaults: {
            FieldReader event(defaults.bytes());
            while (event.next()) {
                if (event.tag() == fields::defaults::kTrackUuid)
                    default_track_ = event.uint64();
                else
                    event.skip();
            }
            break;
        }
        default: defaults.skip();
        }
    }
}

} // namespace bubblescope::perfetto
