#include "profiler/nccl/comm_event.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace bubblescope::profiler::nccl {
namespace {

/// The fields of an event that are stored as bytes.
struct Packed {
    std::uint64_t comm;
    std::uint64_t sequence;
    std::uint64_t count;
    std::int32_t rank;
    std::int32_t peer;
    std::int32_t root;
    std::int32_t channels;
    std::int32_t steps;
    std::uint8_t is_send;
    std::uint8_t graph_captured;
    std::uint8_t unused[2];
};
static_assert(sizeof(Packed) <= sizeof(CommRoom::bytes));

/// Returns the text before the next zero, and removes the text and the zero from `text`.
std::string_view takePart(std::string_view& text) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

} // namespace

HostRecord recordOf(const CommEvent& event, CommRoom& room) noexcept {
    std::size_t at = 0;
    for (const std::string_view part : {event.function, event.datatype, event.algorithm, event.protocol}) {
        constexpr std::size_t kMaxOfPart = sizeof(CommRoom::letters) / 4 - 1;
        const std::size_t size = std::min(part.size(), kMaxOfPart);
        if (size != 0) std::memcpy(room.letters + at, part.data(), size);
        at += size;
        room.letters[at++] = '\0';
    }
    const Packed packed{event.comm,
                        event.sequence,
                        event.count,
                        event.rank,
                        event.peer,
                        event.root,
                        event.channels,
                        event.steps,
                        static_cast<std::uint8_t>(event.is_send),
                        static_cast<std::uint8_t>(event.graph_captured),
                        {}};
    std::memcpy(room.bytes, &packed, sizeof packed);
    HostRecord record;
    record.type = HostRecord::Type::CommBegin;
    record.category = event.type;
    record.text = {room.letters, at};
    record.bytes = {room.bytes, sizeof packed};
    return record;
}

std::optional<CommEvent> commEventOf(const HostRecord& record) {
    if (record.type != HostRecord::Type::CommBegin || record.bytes.size() != sizeof(Packed)) return std::nullopt;
    Packed packed;
    std::memcpy(&packed, record.bytes.data(), sizeof packed);
    CommEvent event;
    event.type = record.category;
    event.comm = packed.comm;
    event.sequence = packed.sequence;
    event.count = packed.count;
    event.rank = packed.rank;
    event.peer = packed.peer;
    event.root = packed.root;
    event.channels = packed.channels;
    event.steps = packed.steps;
    event.is_send = packed.is_send != 0;
    event.graph_captured = packed.graph_captured != 0;
    std::string_view text = record.text;
    event.function = takePart(text);
    event.datatype = takePart(text);
    event.algorithm = takePart(text);
    event.protocol = takePart(text);
    return event;
}

std::int64_t elementBytes(std::string_view datatype) {
    struct Size {
        std::string_view type;
        std::int64_t bytes;
    };
    static constexpr std::array<Size, 14> kSizes{{{"ncclInt8", 1},
                                                  {"ncclChar", 1},
                                                  {"ncclUint8", 1},
                                                  {"ncclFloat8e4m3", 1},
                                                  {"ncclFloat8e5m2", 1},
                                                  {"ncclFloat16", 2},
                                                  {"ncclBfloat16", 2},
                                                  {"ncclInt32", 4},
                                                  {"ncclUint32", 4},
                                                  {"ncclFloat32", 4},
                                                  {"ncclInt64", 8},
                                                  {"ncclUint64", 8},
                                                  {"ncclFloat64", 8},
                                                  {"ncclDouble", 8}}};
    const auto known = std::ranges::find(kSizes, datatype, &Size::type);
    return known == kSizes.end() ? 0 : known->bytes;
}

void Communicators::add(std::uint64_t comm, Communicator communicator) {
    const std::lock_guard lock(mutex_);
    known_[comm] = std::move(communicator);
}

std::optional<Communicator> Communicators::find(std::uint64_t comm) const {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(comm);
    return known == known_.end() ? std::nullopt : std::optional(known->second);
}

} // namespace bubblescope::profiler::nccl
