#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/number_table.h"
#include "core/formats/perfetto/packet_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// A finished slice or, if `instant` is true, an event at `start`. Strings and args are valid only during the callback.
struct StreamEvent {
    bool instant = false;
    std::uint64_t track = 0;
    TimeNs start{0};
    TimeNs end{0};
    std::string_view category;
    std::string_view name;
    std::span<const Arg> args; ///< args with distinct names

    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view arg) const; ///< the value of an integer arg;
                                                                                   ///< flags are 0 and 1
    [[nodiscard]] std::optional<std::string_view> text(std::string_view arg) const;
    /// Null if there is no arg with that name.
    [[nodiscard]] const Arg* find(std::string_view arg) const;

    /// Index of the arg that find() checks first: the one after the last result, because args are usually read in
    /// order. The index is only a hint; any value is valid.
    mutable std::size_t find_hint = 0;
};

/// Statistics of a stream's contents so far.
struct StreamCounts {
    std::int64_t bytes = 0; ///< bytes fed
    std::int64_t packets = 0;
    std::int64_t slices = 0;
    std::int64_t instants = 0;
    std::int64_t torn = 0;      ///< number of positions at which the bytes did not continue with a packet
    std::int64_t skipped = 0;   ///< number of bytes skipped at these positions
    std::int64_t damaged = 0;   ///< number of packets and events that cannot be decoded or refer to lost strings
    std::int64_t unmatched = 0; ///< ends without a begin
};

/// A memory limit for streams that are decoded together, and their estimated current use, in bytes. Use the object from
/// one thread at a time.
struct StreamMemory {
    std::size_t most = std::size_t{2} << 30;
    std::size_t most_of_one = std::size_t{64} << 20;
    std::size_t held = 0;
};

/// One stream's part of a StreamMemory.
class HeldMemory {
public:
    /// `all` must outlive this object.
    explicit HeldMemory(StreamMemory& all) : all_(all) {}
    HeldMemory(const HeldMemory&) = delete;
    HeldMemory& operator=(const HeldMemory&) = delete;
    ~HeldMemory() { give(held_); }

    /// Returns false, without reserving memory, if the limit would be exceeded.
    [[nodiscard]] bool take(std::size_t bytes) {
        if (bytes > all_.most_of_one - held_ || bytes > all_.most - std::min(all_.held, all_.most)) return false;
        held_ += bytes;
        all_.held += bytes;
        return true;
    }
    void give(std::size_t bytes) {
        held_ -= bytes;
        all_.held -= bytes;
    }

private:
    StreamMemory& all_;
    std::size_t held_ = 0;
};

/// Decodes the track events of a native file while it grows. Bytes arrive in pieces of any size, and an event is
/// reported when its last byte has arrived. An incomplete packet is stored until the remaining bytes arrive. After
/// bytes that are not a packet, reading continues at the next packet. Packets are decoded like those of complete files,
/// except for features that only other writers use: packed packets (counted as corrupt), counters, events in Chrome's
/// JSON format, and lists as args.
///
/// Uses memory for interned strings, tracks, open slices and one packet, up to what is left of `memory`. Data that does
/// not fit is counted as corrupt. Not thread-safe.
class EventStream {
public:
    using OnEvent = std::function<void(const StreamEvent&)>;
    using OnClocks = std::function<void(const ClockReading&)>;

    /// `on_clocks` may be empty. feed() calls both functions. `memory` must outlive the stream.
    EventStream(OnEvent on_event, OnClocks on_clocks, StreamMemory& memory);

    void feed(std::string_view bytes);
    /// Discards an incomplete packet whose remaining bytes will not arrive. Returns the packet's size in bytes.
    std::size_t dropPending();
    /// Number of bytes of the incomplete packet.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }

    [[nodiscard]] const StreamCounts& counts() const { return counts_; }
    /// Name of the process that owns a track; empty if (still) unknown.
    [[nodiscard]] std::string_view processOf(std::uint64_t track) const;

private:
    /// keep() owns the strings.
    struct Sequence : NumberedTexts<std::string_view> {
        NumberTable<std::string_view> arg_names;
        NumberTable<std::string_view> arg_texts;

        [[nodiscard]] std::size_t held() const; ///< number of bytes of memory_ that setText() has taken
    };
    using Decoder = PacketDecoder<EventStream, Sequence>;
    using Event = NamedEvent<std::string_view>;
    friend Decoder;
    struct Track {
        std::uint64_t parent = 0;
        std::string_view process;
    };
    struct OpenSlice {
        TimeNs start{0};
        std::string_view category;
        std::string_view name;
        std::vector<Arg> args;     ///< the strings belong to texts_ or are in `letters`
        std::vector<char> letters; ///< a vector, because a short string's content would move when slices are swapped

        /// Capacity of the buffers in bytes.
        [[nodiscard]] std::size_t bytes() const { return args.capacity() * sizeof(Arg) + letters.capacity(); }
        /// Small buffers are kept for the next slice.
        void clearArgs();
        void releaseArgs();
    };
    struct OpenSlices {
        /// Open slices, starting with the outermost. Entries from `depth` on have ended; the outermost ones keep small
        /// buffers. All buffers count towards the limit.
        std::vector<OpenSlice> slices;
        std::size_t depth = 0;
    };

    void takePackets(std::string_view bytes, std::size_t& next);
    void clearBatch();
    bool resynchronize(std::string_view bytes, std::size_t& next);
    void use(const PacketBatch& batch);
    void keepPending(std::string_view bytes, std::size_t next);

    // Callbacks of the decoder:
    Sequence* addSequence(Decoder::Sequences& all, std::uint32_t number);
    void clear(Sequence& sequence, std::uint32_t number);
    std::string_view keep(std::string_view text);
    static std::string_view textOf(std::string_view text) { return text; }
    void setText(std::uint32_t kind, std::uint64_t number, std::string_view text, Sequence& sequence);
    void onPacked(std::string_view) { onLoss(PacketLoss::Damaged); }
    void onClocks(const ClockReading& reading) const {
        if (on_clocks_) on_clocks_(reading);
    }
    void onExtras(const PacketExtras& extras, std::uint32_t number, const Sequence& sequence);
    void onRenderStage(std::string_view, std::uint32_t, TimeNs, const Sequence&) {}
    void onEvent(const Event& event, const Sequence& sequence);
    void onLoss(PacketLoss) { ++counts_.damaged; }

    void begin(const Event& event, const Sequence& sequence);
    void end(std::uint64_t track, TimeNs time);
    void fill(const Event& event, const Sequence& sequence);
    void addArg(std::string_view message, const Sequence& sequence);
    std::string_view keepLetters(std::string_view text);
    std::string_view find(const NumberTable<std::string_view>& texts, std::uint64_t number);
    OpenSlices* openOn(std::uint64_t track);
    void hand(const OpenSlice& slice, bool instant, std::uint64_t track, TimeNs end);

    OnEvent on_event_;
    OnClocks on_clocks_;
    HeldMemory memory_;
    std::size_t pending_held_ = 0; ///< number of bytes of memory_ that pending_ has taken
    std::string pending_;
    bool torn_ = false; ///< true while searching for the next packet
    PacketBatch batch_;
    Decoder decoder_{*this};
    std::set<std::string, std::less<>> texts_; ///< all strings in use
    std::unordered_map<std::uint64_t, Track> tracks_;
    std::unordered_map<std::uint64_t, OpenSlices> open_;
    RecentOf<OpenSlices> recent_; ///< recently used entries of `open_`
    OpenSlice event_;             ///< the current event
    StreamCounts counts_;
};

} // namespace bubblescope::perfetto
