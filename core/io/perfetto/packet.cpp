#include "core/io/perfetto/packet.h"

#include "core/io/perfetto/field_reader.h"
#include "core/io/perfetto/fields.h"

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace bubblescope::perfetto {
namespace {

/// Takes the next packet's bytes and moves `next` behind them, or says why there is none.
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
        return PacketBatch::End::Cut; // in the length itself
    } catch (const protozero::exception&) {
        return PacketBatch::End::BadLength;
    }
}

} // namespace

Packet parsePacket(std::string_view body) {
    FieldReader reader(body);
    Packet out;
    while (reader.next()) {
        switch (reader.tag()) {
        case fields::packet::kTimestamp: out.timestamp = reader.int64(); break;
        case fields::packet::kTimestampClockId: out.clock = reader.uint32(); break;
        case fields::packet::kSequenceId: out.sequence = reader.uint32(); break;
        case fields::packet::kSequenceFlags: out.flags = reader.uint32(); break;
        case fields::packet::kStateCleared:
            if (reader.boolean()) out.flags |= fields::packet::kFlagStateCleared;
            break;
        case fields::packet::kPreviousPacketDropped: out.dropped_before = reader.boolean(); break;
        case fields::packet::kTrackEvent: out.event = reader.bytes(); break;
        case fields::packet::kInternedData: out.interned = reader.bytes(); break;
        case fields::packet::kDefaults: out.defaults = reader.bytes(); break;
        case fields::packet::kTrackDescriptor: out.descriptor = reader.bytes(); break;
        case fields::packet::kClockSnapshot: out.clocks = reader.bytes(); break;
        case fields::packet::kRenderStage: out.render_stage = reader.bytes(); break;
        case fields::packet::kCompressedPackets: out.packed = reader.bytes(); break;
        case fields::packet::kFirstPacketOnSequence: reader.skip(); break;
        default:
            // Bytes fields hold the data of packet kinds that are not read here; the rest is bookkeeping.
            if (reader.isBytes()) out.other_data = true;
            reader.skip();
        }
    }
    return out;
}

void decodePackets(std::string_view bytes, BatchQueue<PacketBatch>& out) {
    constexpr std::size_t kBatch = 512; // stays in a core's cache
    PacketBatch batch;
    std::size_t next = 0;
    for (bool wanted = true; wanted;) {
        batch.packets.clear();
        batch.end.reset();
        while (!batch.end && batch.packets.size() < kBatch) {
            const std::size_t offset = next;
            std::string_view body;
            batch.end = takeFrame(bytes, next, body);
            if (batch.end) break;
            batch.packets.push_back({offset, std::nullopt});
            try {
                batch.packets.back().packet = parsePacket(body);
            } catch (const protozero::exception&) {
                // told by being nothing
            }
        }
        batch.next = next;
        const bool last = batch.end.has_value();
        wanted = out.put(batch) && !last;
    }
}

} // namespace bubblescope::perfetto
