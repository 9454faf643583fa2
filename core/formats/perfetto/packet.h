#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope::perfetto {

/// A range of one of the lists below.
struct ListPart {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    template <class T>
    [[nodiscard]] std::span<const T> of(const std::vector<T>& list) const {
        return std::span(list).subspan(begin, end - begin);
    }
};

/// What TrackEvents may have any number of, and names, which few events spell out: those of many events one after
/// another; texts lie in the file's bytes.
struct EventLists {
    std::vector<std::string_view> names;
    std::vector<std::uint64_t> category_iids;
    std::vector<std::string_view> categories;
    std::vector<std::string_view> annotations; ///< messages
    std::vector<std::uint64_t> flows;

    void clear();
};

/// The relevant fields of a TrackEvent, as far as they can be decoded without the state of its sequence. There are
/// millions, so it is small and flat: GCC copies optionals slowly.
struct TrackEvent {
    std::int32_t type = 0;
    bool has_track = false;
    bool has_name_iid = false;
    bool has_counter = false;
    std::uint64_t track = 0;
    std::uint64_t name_iid = 0;
    double counter = 0;
    ListPart names; ///< the last one counts, if there is no number
    ListPart category_iids;
    ListPart categories;
    ListPart annotations;
    ListPart flows;
};

/// Throws protozero::exception if the bytes are not a TrackEvent.
void decodeTrackEvent(std::string_view message, EventLists& lists, TrackEvent& out);

/// The fields of a TracePacket that few packets have; texts lie in the file's bytes.
struct PacketExtras {
    bool dropped_before = false;
    bool other_data = false;
    std::optional<std::string_view> interned;
    std::optional<std::string_view> defaults;
    std::optional<std::string_view> descriptor;
    std::optional<std::string_view> clocks;
    std::optional<std::string_view> render_stage;
    std::optional<std::string_view> packed;
};

/// The relevant fields of a TracePacket, see TrackEvent.
struct Packet {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::size_t offset = 0;
    std::int64_t timestamp = 0; ///< in the units of its clock
    std::uint32_t clock = 0;
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
    std::uint32_t event = kNone;  ///< index in its batch
    std::uint32_t extras = kNone; ///< likewise
    bool has_timestamp = false;
    bool has_clock = false;
    bool damaged = false;       ///< cannot be decoded at all
    bool damaged_event = false; ///< its event cannot be decoded at all
};

/// Consecutive packets.
struct PacketBatch {
    enum class End : std::uint8_t {
        Whole,
        NoPacket,  ///< what follows is not a packet
        BadLength, ///< the length of the next one cannot be read
        Cut,       ///< the file ends inside the next one
    };

    std::vector<Packet> packets;
    std::vector<TrackEvent> events;
    std::vector<PacketExtras> extras;
    EventLists lists;       ///< of the events
    std::size_t next = 0;   ///< offset of what follows
    std::optional<End> end; ///< of the last batch

    void clear();
    /// Decodes a packet's bytes, whatever they are.
    void add(std::size_t offset, std::string_view body);
};

/// Returns the bytes of the packet at `next` and moves `next` past it, or returns why there is none and leaves `next`
/// unchanged.
[[nodiscard]] std::optional<PacketBatch::End> takeFrame(std::string_view bytes, std::size_t& next,
                                                        std::string_view& body);

/// Decodes the packets of a trace file, batch by batch, until the file ends or its framing breaks; all packets before
/// that place are valid, and the last batch holds the place.
class PacketDecoder {
public:
    /// `bytes` must outlive the decoded packets.
    explicit PacketDecoder(std::string_view bytes) : bytes_(bytes) {}

    /// Replaces the content of `batch`. False at the end.
    [[nodiscard]] bool next(PacketBatch& batch);

private:
    std::string_view bytes_;
    std::size_t next_ = 0;
    bool ended_ = false;
};

} // namespace bubblescope::perfetto
