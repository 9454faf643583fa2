#include "core/formats/perfetto/sequence_state.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <memory>
#include <string_view>

namespace bubblescope::perfetto {
namespace {

struct Entry {
    std::uint64_t iid = 0;
    std::string_view text;
};

Entry entryOf(std::string_view message) {
    FieldReader reader(message);
    Entry entry;
    while (reader.next()) {
        switch (reader.tag()) {
        case fields::interned::kIid: entry.iid = reader.uint64(); break;
        case fields::interned::kText: entry.text = reader.bytes(); break;
        default: reader.skip();
        }
    }
    return entry;
}

} // namespace

void SequenceState::clear() {
    *this = SequenceState{};
    usable_ = true;
}

void SequenceState::addInterned(std::string_view message, TraceBuilder& builder) {
    FieldReader data(message);
    const auto intern = [&](NumberTable<StringId>& table) {
        const Entry entry = entryOf(data.bytes());
        table.set(entry.iid, builder.intern(entry.text));
    };
    while (data.next()) {
        switch (data.tag()) {
        case fields::interned::kCategories: intern(categories_); break;
        case fields::interned::kNames: intern(names_); break;
        case fields::interned::kArgNames: {
            const Entry entry = entryOf(data.bytes());
            textsFor(arg_texts_->name(entry.iid), entry.text).setName(entry.iid, entry.text);
            break;
        }
        case fields::interned::kArgStrings: {
            const Entry entry = entryOf(data.bytes());
            textsFor(arg_texts_->text(entry.iid), entry.text).setText(entry.iid, entry.text);
            break;
        }
        default: data.skip();
        }
    }
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
