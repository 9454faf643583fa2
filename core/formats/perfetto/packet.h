#pragma once

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope::perfetto {

/// A range in one of the lists below.
struct ListPart {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    template <class T>
    [[nodiscard]] std::span<const T> of(const std::vector<T>& list) const {
        return std::span(list).subspan(begin, end - begin);
    }
};

/// The repeated fields of TrackEvents, and their names if stored as text, which is rare. The lists contain the fields
/// of many events, event by event. Strings are views of the file's bytes.
struct EventLists {
    std::vector<std::string_view> names;
    std::vector<std::uint64_t> category_iids;
    std::vector<std::string_view> categories;
    std::vector<std::uint64_t> flows;
    bool examine_annotations = true; ///< see TrackEvent::plain_args

    void clear();
};

/// The relevant fields of a TrackEvent, as far as they can be decoded without the state of its sequence. The struct is
/// small, because there are millions of events, and flat, because GCC copies optionals slowly.
struct TrackEvent {
    std::int32_t type = 0;
    bool has_track = false;
    bool has_name_iid = false;
    bool has_counter = false;
    std::uint64_t track = 0;
    std::uint64_t name_iid = 0;
    double counter = 0;
    ListPart names; ///< if there is no number, the last of these is used
    ListPart category_iids;
    ListPart categories;
    ListPart flows;
    std::string_view legacy; ///< event in Chrome's JSON format, if any
    bool has_args = false;
    bool plain_args = true;      ///< false if an examined annotation is not a PlainAnnotation
    std::uint64_t arg_names = 0; ///< bit mask of the numbers of plain annotations' names
    std::string_view message;

    /// Calls `use` with each annotation. Throws protozero::exception on malformed input.
    template <class Use>
    void eachAnnotation(const Use& use) const {
        if (!has_args) return;
        for (FieldReader reader(message); reader.next();) {
            if (reader.tag() == fields::event::kDebugAnnotations)
                use(reader.bytes());
            else
                reader.skip();
        }
    }
};

/// Throws protozero::exception if the bytes are not a TrackEvent.
void decodeTrackEvent(std::string_view message, EventLists& lists, TrackEvent& out);

/// Calls `use` with the kind, number and string of each entry in a sequence's table (fields::interned). Throws
/// protozero::exception on malformed input.
template <class Use>
void eachInterned(std::string_view message, const Use& use) {
    namespace interned = fields::interned;
    for (FieldReader data(message); data.next();) {
        const std::uint32_t kind = data.tag();
        if (kind > interned::kArgNames && kind != interned::kArgStrings) {
            data.skip();
            continue;
        }
        std::uint64_t number = 0;
        std::string_view text;
        for (FieldReader entry(data.bytes()); entry.next();) {
            switch (entry.tag()) {
            case interned::kIid: number = entry.uint64(); break;
            case interned::kText: text = entry.bytes(); break;
            default: entry.skip();
            }
        }
        use(kind, number, text);
    }
}

/// Reads TracePacketDefaults. Throws protozero::exception on malformed input.
void readDefaults(std::string_view message, std::uint64_t& track, std::optional<std::uint32_t>& clock);

/// A TrackDescriptor, or the description of a sequence's process or thread. Strings are views of the message. A string
/// is empty if the message does not contain it.
struct TrackDescriptor {
    std::uint64_t uuid = 0;
    std::uint64_t parent = 0;
    std::string_view name;
    std::optional<std::int64_t> pid;
    std::optional<std::int64_t> tid;
    std::string_view process_name;
    std::string_view thread_name;
    std::int64_t multiplier = 1; ///< factor to apply to a counter's values
    bool adds_up = false;        ///< true if each value of a counter is the change since the previous one

    /// Throw protozero::exception on malformed input.
    void read(std::string_view message);
    void readProcess(std::string_view message);
    void readThread(std::string_view message);

private:
    void readCounter(std::string_view message);
};

/// A DebugAnnotation with one value and a name with a number below 64, like nearly all annotations. There are millions
/// of these, so they are decoded without a general reader.
struct PlainAnnotation {
    unsigned name = 0;
    std::uint32_t field = 0; ///< field of the value, see fields::annotation
    std::uint64_t bits = 0;  ///< an integer, a flag, or a real number
    std::string_view text;

    static constexpr unsigned kNames = 64;

    /// Returns false for any other annotation, and for a malformed one.
    [[nodiscard]] bool read(std::string_view message);
};

/// Reads a DebugAnnotation with a single value into `arg`. Returns false for a list or a dictionary, whose content is
/// skipped. `texts` has name() and text(), each overloaded for a number in the sequence's tables and for a string in
/// the message. Throws protozero::exception on malformed input.
template <class Texts, class Arg>
bool readAnnotation(std::string_view message, Texts&& texts, Arg& arg) {
    namespace annotation = fields::annotation;
    if (PlainAnnotation plain; plain.read(message)) {
        arg.name = texts.name(std::uint64_t{plain.name});
        switch (plain.field) {
        case annotation::kBool: arg.value = plain.bits != 0; break;
        case annotation::kDouble: arg.value = std::bit_cast<double>(plain.bits); break;
        case annotation::kString: arg.value = texts.text(plain.text); break;
        default: arg.value = static_cast<std::int64_t>(plain.bits);
        }
        return true;
    }
    bool single = true;
    for (FieldReader reader(message); reader.next();) {
        switch (reader.tag()) {
        case annotation::kNameIid: arg.name = texts.name(reader.uint64()); break;
        case annotation::kName: arg.name = texts.name(reader.bytes()); break;
        case annotation::kBool: arg.value = reader.boolean(); break;
        case annotation::kInt:
        case annotation::kUint:
        case annotation::kPointer: arg.value = reader.int64(); break;
        case annotation::kDouble: arg.value = reader.real(); break;
        case annotation::kString:
        case annotation::kLegacyJson: arg.value = texts.text(reader.bytes()); break;
        case annotation::kStringIid: arg.value = texts.text(reader.uint64()); break;
        case annotation::kDictEntries:
        case annotation::kArrayValues: single = false; [[fallthrough]];
        default: reader.skip();
        }
    }
    return single;
}

inline bool PlainAnnotation::read(std::string_view message) {
    namespace annotation = fields::annotation;
    constexpr char kNameIidTag = annotation::kNameIid << 3U;
    constexpr std::size_t kValueAt = 3;
    constexpr unsigned kMore = 0x80U; // more bytes of the number follow
    if (message.size() <= kValueAt || message[0] != kNameIidTag) return false;
    const auto byteAt = [message](std::size_t at) { return static_cast<unsigned char>(message[at]); };
    name = byteAt(1);
    field = byteAt(2) >> 3U;
    if (name >= kNames || byteAt(2) >= kMore) return false;
    const std::size_t size = message.size() - kValueAt;
    switch (message[2]) {
    case annotation::kBool << 3U:
    case annotation::kUint << 3U:
    case annotation::kInt << 3U: {
        constexpr std::size_t kLongest = 10;
        if (size > kLongest) return false;
        bits = 0;
        std::size_t at = 0;
        for (; at + 1 < size && byteAt(kValueAt + at) >= kMore; ++at)
            bits |= std::uint64_t{byteAt(kValueAt + at) & (kMore - 1)} << (7 * at);
        bits |= std::uint64_t{byteAt(kValueAt + at)} << (7 * at);
        return at + 1 == size && byteAt(kValueAt + at) < kMore;
    }
    case annotation::kDouble << 3U | 1U:
        if (size != sizeof bits) return false;
        std::memcpy(&bits, message.data() + kValueAt, sizeof bits);
        return true;
    case annotation::kString << 3U | 2U:
        text = message.substr(kValueAt + 1);
        return byteAt(kValueAt) < kMore && text.size() == byteAt(kValueAt);
    default: return false;
    }
}

/// Fields of a TracePacket that only a few packets have. Strings are views of the file's bytes.
struct PacketExtras {
    bool dropped_before = false;
    bool other_data = false;
    std::optional<std::string_view> interned;
    std::optional<std::string_view> defaults;
    std::optional<std::string_view> descriptor;
    std::optional<std::string_view> process; ///< process of the packet's sequence
    std::optional<std::string_view> thread;  ///< thread of the packet's sequence
    std::optional<std::string_view> clocks;
    std::optional<std::string_view> render_stage;
    std::optional<std::string_view> packed;
    std::optional<std::string_view> extract;
    std::optional<std::string_view> source_files;
};

/// The relevant fields of a TracePacket, see TrackEvent.
struct Packet {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::size_t offset = 0;
    std::int64_t timestamp = 0; ///< timestamp in units of the packet's clock
    std::uint32_t clock = 0;
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
    std::uint32_t event = kNone;  ///< index in the batch
    std::uint32_t extras = kNone; ///< index in the batch
    bool has_timestamp = false;
    bool has_clock = false;
    bool damaged = false;       ///< true if the packet cannot be decoded at all
    bool damaged_event = false; ///< true if the event cannot be decoded at all
};

/// Consecutive packets.
struct PacketBatch {
    enum class End : std::uint8_t {
        Whole,
        NoPacket,  ///< the next bytes are not a packet
        BadLength, ///< the length of the next packet cannot be read
        Cut,       ///< the file ends inside the next packet
    };

    std::vector<Packet> packets;
    std::vector<TrackEvent> events;
    std::vector<PacketExtras> extras;
    EventLists lists;       ///< lists of all events
    std::size_t next = 0;   ///< offset after the batch
    std::optional<End> end; ///< only set in the last batch

    void clear();
    /// Decodes the bytes of a packet; accepts arbitrary bytes.
    void add(std::size_t offset, std::string_view body);
};

/// Returns the bytes of the packet at `next` and moves `next` to its end. If there is no packet, returns the reason and
/// does not change `next`.
[[nodiscard]] std::optional<PacketBatch::End> takeFrame(std::string_view bytes, std::size_t& next,
                                                        std::string_view& body);

/// After corrupt bytes: true if these bytes are probably a packet. Unlike messages inside packets, the bytes must be
/// decodable, have content, and contain a sequence.
[[nodiscard]] bool canBePacket(std::string_view body);

/// After corrupt bytes: the first position from `from` on at which several complete packets with content follow each
/// other.
[[nodiscard]] std::optional<std::size_t> findPackets(std::string_view bytes, std::size_t from);

/// True if a file that starts with these bytes is an extract.
[[nodiscard]] bool beginsExtract(std::string_view bytes);

/// Divides the packets of a trace file into runs, which any thread may decode. All packets before the end of the file
/// or before broken framing are valid. The last run records where the valid packets end.
class PacketRuns {
public:
    /// Starts with the packet at `begin`. If not `complete`, more bytes will follow; the last run then ends before an
    /// incomplete packet and has no End. `bytes` must outlive the decoded packets.
    explicit PacketRuns(std::string_view bytes, std::size_t begin = 0, bool complete = true)
        : bytes_(bytes), complete_(complete), begins_{begin} {}

    /// Replaces the content of `batch`. Returns false if the file has fewer runs.
    [[nodiscard]] bool decode(std::size_t run, PacketBatch& batch);

private:
    [[nodiscard]] std::optional<std::size_t> beginOf(std::size_t run);

    std::string_view bytes_;
    bool complete_;
    std::mutex mutex_;
    std::vector<std::size_t> begins_; ///< offsets of the runs found so far
    bool all_found_ = false;
};

} // namespace bubblescope::perfetto
