#include "core/formats/perfetto/packet.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <protozero/buffer_string.hpp>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace bubblescope::perfetto {
namespace {

template <class T>
std::uint32_t endOf(const std::vector<T>& list) {
    return static_cast<std::uint32_t>(list.size());
}

/// True, with the bit of its name set, if an annotation needs no further check.
bool addPlainName(std::string_view annotation, std::uint64_t& names) {
    PlainAnnotation plain;
    if (!plain.read(annotation)) return false;
    names |= std::uint64_t{1} << plain.name;
    return true;
}

} // namespace

void EventLists::clear() {
    names.clear();
    category_iids.clear();
    categories.clear();
    flows.clear();
}

void decodeTrackEvent(std::string_view message, EventLists& lists, TrackEvent& out) {
    FieldReader reader(message);
    out.message = message;
    out.names.begin = endOf(lists.names);
    out.category_iids.begin = endOf(lists.category_iids);
    out.categories.begin = endOf(lists.categories);
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
        case fields::event::kDebugAnnotations:
            out.has_args = true;
            if (lists.examine_annotations)
                out.plain_args = addPlainName(reader.bytes(), out.arg_names) && out.plain_args;
            else
                reader.skip();
            break;
        case fields::event::kLegacyEvent: out.legacy = reader.bytes(); break;
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
    out.flows.end = endOf(lists.flows);
}

void readDefaults(std::string_view message, std::uint64_t& track, std::optional<std::uint32_t>& clock) {
    FieldReader defaults(message);
    while (defaults.next()) {
        switch (defaults.tag()) {
        case fields::defaults::kTimestampClockId: clock = defaults.uint32(); break;
        case fields::defaults::kTrackEventDefaults: {
            FieldReader event(defaults.bytes());
            while (event.next()) {
                if (event.tag() == fields::defaults::kTrackUuid)
                    track = event.uint64();
                else
                    event.skip();
            }
            break;
        }
        default: defaults.skip();
        }
    }
}

void TrackDescriptor::read(std::string_view message) {
    FieldReader descriptor(message);
    while (descriptor.next()) {
        switch (descriptor.tag()) {
        case fields::track::kUuid: uuid = descriptor.uint64(); break;
        case fields::track::kName:
        case fields::track::kStaticName: name = descriptor.bytes(); break;
        case fields::track::kParentUuid: parent = descriptor.uint64(); break;
        case fields::track::kProcess: readProcess(descriptor.bytes()); break;
        case fields::track::kThread: readThread(descriptor.bytes()); break;
        case fields::track::kCounter: readCounter(descriptor.bytes()); break;
        default: descriptor.skip();
        }
    }
}

void TrackDescriptor::readProcess(std::string_view message) {
    FieldReader process(message);
    while (process.next()) {
        switch (process.tag()) {
        case fields::process::kPid: pid = process.int32(); break;
        case fields::process::kName: process_name = process.bytes(); break;
        default: process.skip();
        }
    }
}

void TrackDescriptor::readThread(std::string_view message) {
    FieldReader thread(message);
    while (thread.next()) {
        switch (thread.tag()) {
        case fields::thread::kPid: pid = thread.int32(); break;
        case fields::thread::kTid: tid = thread.int64(); break;
        case fields::thread::kName: thread_name = thread.bytes(); break;
        default: thread.skip();
        }
    }
}

void TrackDescriptor::readCounter(std::string_view message) {
    FieldReader counter(message);
    while (counter.next()) {
        switch (counter.tag()) {
        case fields::counter::kUnitMultiplier: multiplier = counter.int64(); break;
        case fields::counter::kIsIncremental: adds_up = counter.boolean(); break;
        default: counter.skip();
        }
    }
}

namespace {

/// Throws protozero::exception if the bytes are not a packet.
void decode(std::string_view body, Packet& out, PacketBatch& batch) {
    const auto extras = [&]() -> PacketExtras& {
        if (out.extras == Packet::kNone) {
            out.extras = static_cast<std::uint32_t>(batch.extras.size());
            batch.extras.emplace_back();
        }
        return batch.extras[out.extras];
    };
    bool has_event = false;
    std::string_view event;
    FieldReader reader(body);
    while (reader.next()) {
        switch (reader.tag()) {
        case fields::packet::kTimestamp:
            out.timestamp = reader.int64();
            out.has_timestamp = true;
            break;
        case fields::packet::kTimestampClockId:
            out.clock = reader.uint32();
            out.has_clock = true;
            break;
        case fields::packet::kSequenceId: out.sequence = reader.uint32(); break;
        case fields::packet::kSequenceFlags: out.flags = reader.uint32(); break;
        case fields::packet::kStateCleared:
            if (reader.boolean()) out.flags |= fields::packet::kFlagStateCleared;
            break;
        case fields::packet::kPreviousPacketDropped: extras().dropped_before = reader.boolean(); break;
        case fields::packet::kTrackEvent:
            event = reader.bytes();
            has_event = true;
            break;
        case fields::packet::kInternedData: extras().interned = reader.bytes(); break;
        case fields::packet::kDefaults: extras().defaults = reader.bytes(); break;
        case fields::packet::kTrackDescriptor: extras().descriptor = reader.bytes(); break;
        case fields::packet::kProcessDescriptor: extras().process = reader.bytes(); break;
        case fields::packet::kThreadDescriptor: extras().thread = reader.bytes(); break;
        case fields::packet::kClockSnapshot: extras().clocks = reader.bytes(); break;
        case fields::packet::kRenderStage: extras().render_stage = reader.bytes(); break;
        case fields::packet::kCompressedPackets: extras().packed = reader.bytes(); break;
        case fields::packet::kExtract: extras().extract = reader.bytes(); break;
        case fields::packet::kSourceFiles: extras().source_files = reader.bytes(); break;
        case fields::packet::kFirstPacketOnSequence: reader.skip(); break;
        default:
            // Bytes fields have the data of packet kinds that are not read here; the other fields are bookkeeping.
            if (reader.isBytes()) extras().other_data = true;
            reader.skip();
        }
    }
    if (!has_event) return;
    out.event = static_cast<std::uint32_t>(batch.events.size());
    try {
        decodeTrackEvent(event, batch.lists, batch.events.emplace_back());
    } catch (const protozero::exception&) {
        out.damaged_event = true;
    }
}

} // namespace

std::optional<PacketBatch::End> takeFrame(std::string_view bytes, std::size_t& next, std::string_view& body) {
    if (next >= bytes.size()) return PacketBatch::End::Whole;
    constexpr char kPacketTag = (fields::trace::kPacket << 3) | 2;
    if (bytes[next] != kPacketTag) return PacketBatch::End::NoPacket;
    const char* cursor = bytes.data() + next + 1;
    const char* const end = bytes.data() + bytes.size();
    try {
        const std::uint64_t length = protozero::decode_varint(&cursor, end);
        if (length > static_cast<std::uint64_t>(end - cursor)) return PacketBatch::End::Cut;
        body = {cursor, static_cast<std::size_t>(length)};
        next = static_cast<std::size_t>(cursor - bytes.data()) + body.size();
        return std::nullopt;
    } catch (const protozero::end_of_buffer_exception&) {
        return PacketBatch::End::Cut; // inside the length
    } catch (const protozero::exception&) {
        return PacketBatch::End::BadLength;
    }
}

bool canBePacket(std::string_view body) {
    if (body.empty()) return false;
    PacketBatch guess;
    guess.add(0, body);
    const Packet& packet = guess.packets.front();
    const bool says_something = packet.event != Packet::kNone || packet.extras != Packet::kNone;
    return !packet.damaged && !packet.damaged_event && says_something && packet.sequence != 0;
}

std::optional<std::size_t> findPackets(std::string_view bytes, std::size_t from) {
    constexpr int kEnough = 3;
    constexpr std::size_t kLargest = std::size_t{1} << 20; // packets larger than this are not guessed
    constexpr char kPacketTag = (fields::trace::kPacket << 3) | 2;
    const auto arePackets = [&](std::size_t at) {
        for (int packets = 0; packets < kEnough; ++packets) {
            std::string_view body;
            if (const auto end = takeFrame(bytes, at, body)) return packets > 1 && end == PacketBatch::End::Whole;
            if (body.size() > kLargest || !canBePacket(body)) return false;
        }
        return true;
    };
    for (std::size_t at = bytes.find(kPacketTag, from); at != std::string_view::npos;
         at = bytes.find(kPacketTag, at + 1)) {
        if (arePackets(at)) return at;
    }
    return std::nullopt;
}

bool beginsExtract(std::string_view bytes) {
    constexpr std::size_t kMostVarint = 10;
    for (std::size_t at = 1; bytes.starts_with('\n') && at < std::min(bytes.size(), kMostVarint); ++at) {
        if ((static_cast<unsigned char>(bytes[at]) & 0x80U) != 0) continue; // still part of the packet's length
        std::string field;
        protozero::add_varint_to_buffer(&field, fields::packet::kExtract << 3U | 2U);
        return bytes.substr(at + 1).starts_with(field);
    }
    return false;
}

void PacketBatch::clear() {
    packets.clear();
    events.clear();
    extras.clear();
    lists.clear();
    end.reset();
}

void PacketBatch::add(std::size_t offset, std::string_view body) {
    Packet& packet = packets.emplace_back();
    packet.offset = offset;
    try {
        decode(body, packet, *this);
    } catch (const protozero::exception&) {
        packet.damaged = true;
    }
}

namespace {

constexpr std::size_t kRunPackets = 512; // so that their decoded form stays in a core's cache

} // namespace

/// Nothing if the file has fewer runs.
std::optional<std::size_t> PacketRuns::beginOf(std::size_t run) {
    const std::scoped_lock lock(mutex_);
    while (run >= begins_.size() && !all_found_) {
        std::size_t next = begins_.back();
        std::string_view body;
        for (std::size_t packet = 0; packet < kRunPackets && !all_found_; ++packet)
            all_found_ = takeFrame(bytes_, next, body).has_value();
        if (!all_found_) begins_.push_back(next);
    }
    return run < begins_.size() ? std::optional(begins_[run]) : std::nullopt;
}

bool PacketRuns::decode(std::size_t run, PacketBatch& batch) {
    const std::optional<std::size_t> begin = beginOf(run);
    if (!begin) return false;
    batch.clear();
    std::size_t next = *begin;
    while (batch.packets.size() < kRunPackets) {
        const std::size_t offset = next;
        std::string_view body;
        batch.end = takeFrame(bytes_, next, body);
        if (batch.end) break;
        batch.add(offset, body);
    }
    const bool may_go_on = batch.end == PacketBatch::End::Whole || batch.end == PacketBatch::End::Cut;
    if (may_go_on && !complete_) batch.end.reset();
    batch.next = next;
    return true;
}

} // namespace bubblescope::perfetto
