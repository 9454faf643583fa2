#include "core/io/perfetto/sequence_state.h"

#include "core/io/perfetto/fields.h"

#include <string_view>

namespace bubblescope::perfetto {
namespace {

using protozero::pbf_reader;

void addEntry(SequenceState::Table& table, pbf_reader entry, TraceBuilder& builder) {
    std::uint64_t iid = 0;
    std::string_view text;
    while (entry.next()) {
        switch (entry.tag()) {
        case fields::interned::kIid: iid = entry.get_uint64(); break;
        case fields::interned::kText: {
            const auto view = entry.get_view();
            text = {view.data(), view.size()};
            break;
        }
        default: entry.skip();
        }
    }
    table[iid] = builder.intern(text);
}

} // namespace

void SequenceState::clear() {
    *this = SequenceState{};
    usable_ = true;
}

void SequenceState::addInterned(pbf_reader data, TraceBuilder& builder) {
    while (data.next()) {
        switch (data.tag()) {
        case fields::interned::kCategories: addEntry(categories_, data.get_message(), builder); break;
        case fields::interned::kNames: addEntry(names_, data.get_message(), builder); break;
        case fields::interned::kArgNames: addEntry(arg_names_, data.get_message(), builder); break;
        case fields::interned::kArgStrings: addEntry(arg_texts_, data.get_message(), builder); break;
        default: data.skip();
        }
    }
}

void SequenceState::setDefaults(pbf_reader defaults) {
    while (defaults.next()) {
        switch (defaults.tag()) {
        case fields::defaults::kTimestampClockId: default_clock_ = defaults.get_uint32(); break;
        case fields::defaults::kTrackEventDefaults: {
            pbf_reader event = defaults.get_message();
            while (event.next()) {
                if (event.tag() == fields::defaults::kTrackUuid)
                    default_track_ = event.get_uint64();
                else
                    event.skip();
            }
            break;
        }
        default: defaults.skip();
        }
    }
}

StringId SequenceState::find(const Table& table, std::uint64_t iid) {
    const auto known = table.find(iid);
    return known == table.end() ? 0 : known->second;
}

} // namespace bubblescope::perfetto
