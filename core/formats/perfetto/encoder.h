#pragma once

#include "core/base/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bubblescope::perfetto {

/// Numbers strings from 1 in the order of their first use. Recording a slice looks up about six strings, so known ones
/// are found with few memory accesses, in a table that is at most half full.
class InternTable {
public:
    struct Number {
        std::uint64_t number = 0;
        bool is_new = false;
    };

    [[nodiscard]] Number numberOf(std::string_view text) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        const std::uint64_t hash = hashOf(text);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.number == 0) {
                slot = {hash, letters_.size(), text.size(), ++count_};
                letters_ += text;
                return {slot.number, true};
            }
            if (slot.hash == hash && std::string_view(letters_).substr(slot.begin, slot.size) == text)
                return {slot.number, false};
        }
    }

    /// Total size of all strings in bytes.
    [[nodiscard]] std::size_t letters() const { return letters_.size(); }

private:
    struct Slot {
        std::uint64_t hash = 0;
        std::size_t begin = 0; ///< offset in letters_
        std::size_t size = 0;
        std::uint64_t number = 0; ///< 0: free
    };

    static std::uint64_t hashOf(std::string_view text);
    void grow();

    std::vector<Slot> slots_; ///< the number of slots is a power of two
    std::string letters_;
    std::uint64_t count_ = 0;
};

class FieldWriter;

/// A named value on a slice (a DebugAnnotation in the file).
struct Arg {
    std::string_view name;
    std::variant<std::int64_t, double, bool, std::string_view> value;
};

/// Encodes tracks, slices and instants as Perfetto TracePackets of one packet sequence. The output is a plain
/// concatenation of packets, so files can be appended to and cut at any packet boundary. Field numbers are those of
/// Perfetto's protos (TracePacket, TrackDescriptor, TrackEvent, InternedData).
///
/// Not thread-safe: use one encoder per writing thread, with a sequence id that is unique within the set of files.
class Encoder {
public:
    explicit Encoder(std::uint32_t sequence_id);

    /// A process track. Viewers sort processes by `order` and show the label next to the name.
    void process(std::uint64_t uuid, std::int32_t pid, std::string_view name, std::int32_t order,
                 std::string_view label = {});
    /// A track below `parent`; siblings are sorted by `order` and never merged by name.
    void track(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t order);

    /// The track of a process's thread. Viewers display this track as a thread, and queries find it by its number.
    void thread(std::uint64_t uuid, std::int32_t pid, std::int32_t tid, std::string_view name, std::int32_t order);

    /// A counter track below `parent`, and its values.
    void counterTrack(std::uint64_t uuid, std::uint64_t parent, std::string_view name);
    void counter(std::uint64_t track, TimeNs time, double value);

    /// BEGIN and END on one track must nest. Arrows connect slices with equal flow ids, from the earlier to the later
    /// start; for equal starts, the direction is unspecified.
    void beginSlice(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                    std::span<const Arg> args = {}, std::span<const std::uint64_t> flow_ids = {});
    void endSlice(std::uint64_t track, TimeNs time);
    void instant(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                 std::span<const Arg> args = {});

    /// Makes CLOCK_MONOTONIC the trace clock. Must come before the first event, because viewers drop packets whose
    /// clock they cannot relate to the trace clock. Perfetto also requires a relation to CLOCK_BOOTTIME, which is given
    /// the same time. With `realtime`, also relates the clock to CLOCK_REALTIME, so that files from several hosts can
    /// be aligned.
    void clockSnapshot(TimeNs monotonic, std::optional<TimeNs> realtime = {});

    /// Returns everything encoded since the last call, in complete packets. The interning state is kept.
    [[nodiscard]] std::string take();
    /// Like take(), but in two steps, so that the memory is reused. bytes() is a view of the encoded packets, valid
    /// until any other call; discard() drops them.
    [[nodiscard]] std::string_view bytes() const { return {out_.data(), used_}; }
    void clear() { used_ = 0; }

    /// Total size of the interned strings in bytes; 0 in a new encoder.
    [[nodiscard]] std::size_t internedBytes() const {
        return names_.letters() + categories_.letters() + arg_names_.letters();
    }

private:
    [[nodiscard]] FieldWriter room(std::size_t bytes);
    [[nodiscard]] std::uint64_t intern(InternTable& table, std::uint32_t field, std::string_view text);
    void event(std::int32_t type, std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
               std::span<const Arg> args, std::span<const std::uint64_t> flow_ids);
    void finishPacket(FieldWriter writer, char* packet, bool needs_state);

    std::uint32_t sequence_id_;
    bool first_ = true;
    std::string out_; ///< the first `used_` bytes are the encoded packets
    std::size_t used_ = 0;
    std::string interned_;                   ///< encoded strings that the current event uses for the first time
    std::vector<std::uint64_t> arg_numbers_; ///< numbers of the names of the event's args
    InternTable names_;
    InternTable categories_;
    InternTable arg_names_;
};

} // namespace bubblescope::perfetto
