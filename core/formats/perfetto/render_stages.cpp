#include "core/formats/perfetto/render_stages.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::perfetto {
namespace {

namespace stage = fields::render_stage;

template <class Map, class Key>
auto valueOr0(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? typename Map::mapped_type{} : found->second;
}

/// Field 1 of a message as text; 0 if absent.
StringId firstText(std::string_view message, TraceBuilder& builder) {
    FieldReader reader(message);
    StringId text = 0;
    while (reader.next()) {
        if (reader.tag() == 1 && reader.isBytes())
            text = builder.intern(reader.bytes());
        else
            reader.skip();
    }
    return text;
}

StoredArg extraData(std::string_view message, TraceBuilder& builder) {
    FieldReader reader(message);
    StoredArg arg;
    arg.setText(0);
    while (reader.next()) {
        switch (reader.tag()) {
        case 1: arg.name = builder.intern(reader.bytes()); break;
        case 2: arg.setText(builder.intern(reader.bytes())); break;
        default: reader.skip();
        }
    }
    return arg;
}

} // namespace

void RenderStages::clear(std::uint32_t sequence) {
    const auto first = Iid{sequence, 0};
    const auto last = Iid{sequence, UINT64_MAX};
    specifications_.erase(specifications_.lower_bound(first), specifications_.upper_bound(last));
    processes_.erase(processes_.lower_bound(first), processes_.upper_bound(last));
}

void RenderStages::addInterned(std::string_view message, std::uint32_t sequence) {
    FieldReader data(message);
    while (data.next()) {
        const std::uint32_t tag = data.tag();
        if (tag != fields::interned::kGpuSpecifications && tag != fields::interned::kGraphicsContexts) {
            data.skip();
            continue;
        }
        FieldReader entry(data.bytes());
        std::uint64_t iid = 0;
        std::string_view name;
        std::int64_t pid = 0;
        while (entry.next()) {
            if (entry.tag() == fields::interned::kIid)
                iid = entry.uint64();
            else if (entry.tag() == fields::interned::kText && tag == fields::interned::kGpuSpecifications)
                name = entry.bytes();
            else if (entry.tag() == fields::interned::kContextPid && tag == fields::interned::kGraphicsContexts)
                pid = entry.int32();
            else
                entry.skip();
        }
        if (tag == fields::interned::kGpuSpecifications)
            specifications_[{sequence, iid}] = builder_.intern(name);
        else
            processes_[{sequence, iid}] = pid;
    }
}

void RenderStages::addSpecifications(std::string_view message) {
    FieldReader reader(message);
    while (reader.next()) {
        switch (reader.tag()) {
        case stage::kOldQueues: queues_.push_back(firstText(reader.bytes(), builder_)); break;
        case stage::kOldStages: stages_.push_back(firstText(reader.bytes(), builder_)); break;
        default: reader.skip();
        }
    }
}

void RenderStages::addEvent(std::string_view message, std::uint32_t sequence, TimeNs time, const SequenceState& state) {
    const auto atIndex = [](const std::vector<StringId>& names, std::uint64_t index) {
        return index < names.size() ? names[index] : 0;
    };
    FieldReader reader(message);
    bool is_event = false;
    Queue queue;
    std::int64_t duration = 0;
    StringId name = 0;
    StringId stage_name = 0;
    std::vector<StoredArg> args;
    while (reader.next()) {
        switch (reader.tag()) {
        case stage::kEventId: is_event = reader.uint64() != 0 || is_event; break;
        case stage::kDuration:
            duration = reader.int64();
            is_event = true;
            break;
        case stage::kGpu: queue.gpu = reader.int32(); break;
        case stage::kContext: queue.pid = valueOr0(processes_, Iid{sequence, reader.uint64()}); break;
        case stage::kQueueIid: {
            const std::uint64_t iid = reader.uint64();
            queue.number = static_cast<std::int64_t>(iid);
            queue.name = valueOr0(specifications_, Iid{sequence, iid});
            break;
        }
        case stage::kOldQueue: {
            const std::uint64_t index = reader.uint64();
            queue.number = static_cast<std::int64_t>(index);
            queue.name = atIndex(queues_, index);
            break;
        }
        case stage::kStageIid: stage_name = valueOr0(specifications_, Iid{sequence, reader.uint64()}); break;
        case stage::kOldStage: stage_name = atIndex(stages_, reader.uint64()); break;
        case stage::kName: name = builder_.intern(reader.bytes()); break;
        case stage::kNameIid: name = state.name(reader.uint64()); break;
        case stage::kExtraData: args.push_back(extraData(reader.bytes(), builder_)); break;
        case stage::kOldSpecifications: addSpecifications(reader.bytes()); break;
        default: reader.skip();
        }
    }
    if (!is_event) return; // names only
    builder_.addSlice({trackFor(queue), time, TimeNs{std::max<std::int64_t>(0, duration)},
                       name != 0 ? name : stage_name, builder_.intern("gpu_render_stage"), builder_.args().add(args)});
}

TrackId RenderStages::trackFor(const Queue& queue) {
    const auto [known, is_new] = tracks_.try_emplace(queue, kNoId);
    if (is_new) {
        known->second = builder_.addTrack(queue.pid, queue.number);
        Track& track = builder_.track(known->second);
        track.process_name = builder_.intern(fmt::format("GPU {}", queue.gpu));
        track.thread_name = queue.name != 0 ? queue.name : builder_.intern(fmt::format("queue {}", queue.number));
    }
    return known->second;
}

} // namespace bubblescope::perfetto
