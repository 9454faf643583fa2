#include "core/formats/perfetto/track_event.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

namespace bubblescope::perfetto {
namespace {

template <class T>
std::uint32_t endOf(const std::vector<T>& list) {
    return static_cast<std::uint32_t>(list.size());
}

} // namespace

void EventLists::clear() {
    names.clear();
    category_iids.clear();
    categories.clear();
    annotations.clear();
    flows.clear();
}

void decodeTrackEvent(std::string_view message, EventLists& lists, TrackEvent& out) {
    FieldReader reader(message);
    out.names.begin = endOf(lists.names);
    out.category_iids.begin = endOf(lists.category_iids);
    out.categories.begin = endOf(lists.categories);
    out.annotations.begin = endOf(lists.annotations);
    out.flows.begin = endOf(lists.flows);
    while (reader.next()) {
        switch (reader.tag()) {
        case fields::event::kType: out.type = reader.int32(); break;
        case fields::event::kTrackUuid:
            out.track = reader.uint64();
            out.has_track = true;
            break;
        case fields::event::kNameIid:
            out.name_iid = reader.uint64();
            out.has_name_iid = true;
            break;
        case fields::event::kName:
            lists.names.push_back(reader.bytes());
            out.has_name_iid = false;
            break;
        case fields::event::kCategoryIids:
            reader.eachUint64([&lists](std::uint64_t iid) { lists.category_iids.push_back(iid); });
            break;
        case fields::event::kCategories: lists.categories.push_back(reader.bytes()); break;
        case fields::event::kDebugAnnotations: lists.annotations.push_back(reader.bytes()); break;
        case fields::event::kOldFlowIds:
        case fields::event::kOldTerminatingFlowIds:
            reader.eachUint64([&lists](std::uint64_t id) { lists.flows.push_back(id); });
            break;
        case fields::event::kFlowIds:
        case fields::event::kTerminatingFlowIds:
            reader.eachFixed64([&lists](std::uint64_t id) { lists.flows.push_back(id); });
            break;
        case fields::event::kCounterValue:
            out.counter = static_cast<double>(reader.int64());
            out.has_counter = true;
            break;
        case fields::event::kDoubleCounterValue:
            out.counter = reader.real();
            out.has_counter = true;
            break;
        default: reader.skip();
        }
    }
    out.names.end = endOf(lists.names);
    out.category_iids.end = endOf(lists.category_iids);
    out.categories.end = endOf(lists.categories);
    out.annotations.end = endOf(lists.annotations);
    out.flows.end = endOf(lists.flows);
}

} // namespace bubblescope::perfetto
