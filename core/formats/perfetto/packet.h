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

/// What TrackEvents may have any number of, and names, which few events spell out: those of many events one behind the
/// other; texts lie in the file's bytes.
struct EventLists {
    std::vector<std::string_view> names;
    std::vector<std::uint64_t> category_iids;
    std::vector<std::string_view> categories;
    std::vector<std::string_view> annotations; ///< messages
    std::vector<std::uint64_t> flows;

    void clear();
};

/// The fields of a TrackEvent that matter here, as far as they can be told without what its sequence agreed on before.
/// There are millions, so that it is kept small, and flat: GCC copies optionals slowly.
struct TrackEvent {
    std::int32_t type = 0;
    bool has_track = false;
    bool has_name_iid = false;
    bool has_counter = false;
    std::uint64_t track = 0;
    std::uint64_t name_iid = 0;
    double counter = 0;
    ListPart names; ///< the last holds, where there is no number
    ListPart category_iids;
    ListPart categories;
    ListPart annotations;
    ListPart flows;
};

/// Throws protozero::exception where the bytes are none.
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

/// The fields of a TracePacket that matter here, see TrackEvent.
struct Packet {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::size_t offset = 0;
    std::int64_t timestamp = 0; ///< as its clock counts
    std::uint32_t clock = 0;
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
    std::uint32_t event = kNone;  ///< among its batch's
    std::uint32_t extras = kNone; ///< likewise
    bool has_timestamp = false;
    bool has_clock = false;
    bool damaged = false;       ///< nothing of it can be decoded
    bool damaged_event = false; ///< nothing of its event can be decoded
};

/// Packets that lie one behind the other.
struct PacketBatch {
    enum class End : std::uint8_t {
        Whole,
        NoPacket,  ///< what follows is none
        BadLength, ///< the next one's cannot be read
        Cut,       ///< the file ends inside the next one
    };

    std::vector<Packet> packets;
    std::vector<TrackEvent> events;
    std::vector<PacketExtras> extras;
    EventLists lists;       ///< of the events
    std::size_t next = 0;   ///< where what follows begins
    std::optional<End> end; ///< of the last batch

    void clear();
    /// Decodes a packet's bytes, whatever they are.
    void add(std::size_t offset, std::string_view body);
};

/// Takes the bytes of the packet at `next` and moves `next` behind it, or says why there is none; `next` then stays.
[[nodiscard]] std::optional<PacketBatch::End> takeFrame(std::string_view bytes, std::size_t& next,
                                                        std::string_view& body);

/// Decodes the packets of a trace file, batch by batch, until the file ends or its frame breaks; all packets before
/// that place are good, and the last batch holds the place.
class PacketDecoder {
public:
    /// `bytes` must outlive what is decoded.
    explicit PacketDecoder(std::string_view bytes) : bytes_(bytes) {}

    /// Replaces the content of `batch`. False if there are no more.
    [[nodiscard]] bool next(PacketBatch& batch);

private:
    std::string_view bytes_;
    std::size_t next_ = 0;
    bool ended_ = false;
};

} // namespace bubblescope::perfetto
