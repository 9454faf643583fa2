#include "core/formats/perfetto/sequence_state.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <string_view>

namespace bubblescope::perfetto {
namespace {

void addEntry(SequenceState::Table& table, std::string_view message, TraceBuilder& builder) {
    FieldReader entry(message);
    std::uint64_t iid = 0;
    std::string_view text;
    while (entry.next()) {
        switch (entry.tag()) {
        case fields::interned::kIid: iid = entry.uint64(); break;
        case fields::interned::kText: text = entry.bytes(); break;
        default: entry.skip();
        }
    }
    table.set(iid, builder.intern(text));
}

} // namespace

void SequenceState::clear() {
    *this = SequenceState{};
    usable_ = true;
}

void SequenceState::addInterned(std::string_view message, TraceBuilder& builder) {
    FieldReader data(message);
    while (data.next()) {
        switch (data.tag()) {
        case fields::interned::kCategories: addEntry(categories_, data.bytes(), builder); break;
        case fields::interned::kNames: addEntry(names_, data.bytes(), builder); break;
        case fields::interned::kArgNames: addEntry(arg_names_, data.bytes(), builder); break;
        case fields::interned::kArgStrings: addEntry(arg_texts_, data.bytes(), builder); break;
        default: data.skip();
        }
    }
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
