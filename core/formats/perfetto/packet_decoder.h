#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/clock_table.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/legacy_event.h"
#include "core/formats/perfetto/number_table.h"
#include "core/formats/perfetto/packet.h"
#include "core/trace/trace_builder.h"

#include <protozero/exception.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bubblescope::perfetto {

/// The state of one packet sequence: numbered strings and defaults. `TextOf` is the sink's string type; a value is
/// empty if the packet has no string.
template <class TextOf>
struct NumberedTexts {
    using Text = TextOf;

    bool usable = false; ///< true if nothing has been lost since the state was cleared, so that numbers can be resolved
    NumberTable<Text> names;
    NumberTable<Text> categories;
    std::uint64_t default_track = 0;
    std::optional<std::uint32_t> default_clock;
};

/// The reason why a packet or a part of it is unusable.
enum class PacketLoss : std::uint8_t {
    Damaged,       ///< the packet cannot be decoded
    Time,          ///< the event has no usable time
    Clock,         ///< no snapshot relates the event's clock to the trace clock
    Names,         ///< the names of the event were in lost packets
    Text,          ///< the event refers to an unknown number; its other fields are used
    ManyCategories ///< the event has too many categories; its other fields are used
};

/// An event with its names resolved.
template <class Text>
struct NamedEvent {
    const TrackEvent& raw;
    const EventLists& lists;
    std::uint64_t track = 0;
    TimeNs time{0};
    Text name{};
    Text category{};
};

/// Interprets packets one after another, from a complete file or a growing stream. `Sink` processes their events. It
/// has these members:
///
///   Sequence* addSequence(map, number)   null if the memory limit is reached
///   void clear(sequence, number)         discard the state of the sequence
///   Text keep(text)                      store a name or category
///   string_view textOf(kept)
///   void setText(kind, number, text, sequence)   an entry of the sequence's tables
///   void onPacked(bytes)                 compressed packets, before the other fields of their packet
///   void onClocks(reading)               two clocks of a host, read at the same moment
///   void onExtras(extras, number, sequence)      fields that only some sinks need
///   void onRenderStage(bytes, number, time, sequence)
///   void onEvent(event, sequence)
///   void onLoss(loss)
///
/// onExtras(), onRenderStage() and onEvent() may throw protozero::exception, which counts as a corrupt packet.
template <class Sink, class Sequence>
class PacketDecoder {
public:
    using Sequences = std::unordered_map<std::uint32_t, Sequence>;
    using Text = typename Sequence::Text;

    explicit PacketDecoder(Sink& sink) : sink_(sink) {}

    void use(const Packet& packet, const PacketBatch& batch) {
        if (packet.damaged) return sink_.onLoss(PacketLoss::Damaged);
        try {
            decode(packet, batch);
        } catch (const protozero::exception&) {
            sink_.onLoss(PacketLoss::Damaged);
        }
    }

    /// Number of packets that could be decoded.
    [[nodiscard]] std::int64_t packets() const { return packets_; }

private:
    void decode(const Packet& packet, const PacketBatch& batch) {
        static const PacketExtras kNone;
        const PacketExtras& extras = packet.extras != Packet::kNone ? batch.extras[packet.extras] : kNone;
        const bool has_event = packet.event != Packet::kNone;
        if (extras.packed) sink_.onPacked(*extras.packed);
        Sequence* const known = sequenceOf(packet.sequence);
        if (known == nullptr) return sink_.onLoss(PacketLoss::Damaged);
        Sequence& sequence = *known;
        if ((packet.flags & fields::packet::kFlagStateCleared) != 0) {
            sink_.clear(sequence, packet.sequence);
            sequence.usable = true;
        } else if (extras.dropped_before) {
            sequence.usable = false;
        }
        if (packet.extras != Packet::kNone) addExtras(extras, packet.sequence, sequence);
        if (packet.damaged_event) return sink_.onLoss(PacketLoss::Damaged);
        TimeNs time{0};
        const bool timed = putOnClock(packet, sequence, has_event || extras.render_stage, time);
        ++packets_;
        if (!timed) return;
        if (extras.render_stage) sink_.onRenderStage(*extras.render_stage, packet.sequence, time, sequence);
        if (!has_event) return;
        if ((packet.flags & fields::packet::kFlagNeedsState) != 0 && !sequence.usable)
            return sink_.onLoss(PacketLoss::Names);
        const TrackEvent& raw = batch.events[packet.event];
        sink_.onEvent(NamedEvent<Text>{raw, batch.lists, raw.has_track ? raw.track : sequence.default_track, time,
                                       nameOf(raw, batch.lists, sequence), categoryOf(raw, batch.lists, sequence)},
                      sequence);
    }

    /// Successive packets often share a sequence.
    Sequence* sequenceOf(std::uint32_t number) {
        if (latest_.second != nullptr && latest_.first == number) return latest_.second;
        const auto known = sequences_.find(number);
        Sequence* const sequence = known != sequences_.end() ? &known->second : sink_.addSequence(sequences_, number);
        latest_ = {number, sequence};
        return sequence;
    }

    void addExtras(const PacketExtras& extras, std::uint32_t number, Sequence& sequence) {
        if (extras.interned) {
            eachInterned(*extras.interned, [&](std::uint32_t kind, std::uint64_t of, std::string_view text) {
                sink_.setText(kind, of, text, sequence);
            });
        }
        if (extras.defaults) readDefaults(*extras.defaults, sequence.default_track, sequence.default_clock);
        sink_.onExtras(extras, number, sequence);
        if (!extras.clocks) return;
        if (const auto reading = clocks_.addSnapshot(*extras.clocks, number)) sink_.onClocks(*reading);
    }

    /// Converts a packet's time to the trace clock. On failure, returns false, and reports the loss if the packet
    /// `needs` a time.
    bool putOnClock(const Packet& packet, const Sequence& sequence, bool needs, TimeNs& time) {
        if (!packet.has_timestamp) {
            if (needs) sink_.onLoss(PacketLoss::Time);
            return !needs;
        }
        const std::uint32_t clock =
            packet.has_clock ? packet.clock : sequence.default_clock.value_or(fields::clock::kBoottime);
        const bool known = clocks_.traceTime(packet.sequence, clock, packet.timestamp, time);
        const bool usable = known && (isWithinReach(time) || !needs);
        if (!usable && needs) sink_.onLoss(known ? PacketLoss::Time : PacketLoss::Clock);
        return usable;
    }

    Text numbered(const NumberTable<Text>& texts, std::uint64_t number) {
        const Text text = texts.find(number);
        if (!NumberTable<Text>::isKnown(text)) sink_.onLoss(PacketLoss::Text);
        return text;
    }

    Text nameOf(const TrackEvent& raw, const EventLists& lists, const Sequence& sequence) {
        if (raw.has_name_iid) return numbered(sequence.names, raw.name_iid);
        const std::uint64_t legacy = raw.legacy.empty() ? 0 : LegacyEvent::decoded(raw.legacy).name_iid;
        if (legacy != 0) return numbered(sequence.names, legacy);
        const auto names = raw.names.of(lists.names);
        return names.empty() ? Text{} : sink_.keep(names.back());
    }

    Text categoryOf(const TrackEvent& raw, const EventLists& lists, const Sequence& sequence) {
        Text all{};
        joined_.clear();
        for (const std::uint64_t iid : raw.category_iids.of(lists.category_iids))
            addCategory(numbered(sequence.categories, iid), all);
        for (const std::string_view category : raw.categories.of(lists.categories))
            addCategory(sink_.keep(category), all);
        return joined_.empty() ? all : sink_.keep(joined_);
    }

    /// Joins the names of several categories, up to a limit, because an event may contain thousands of long names.
    void addCategory(Text category, Text& all) {
        constexpr std::size_t kLongest = 256;
        if (!NumberTable<Text>::isKnown(category)) return;
        if (!NumberTable<Text>::isKnown(all)) {
            all = category;
            return;
        }
        const std::string_view name = sink_.textOf(category);
        if (joined_.empty()) joined_ = sink_.textOf(all);
        if (joined_.size() + name.size() >= kLongest) return sink_.onLoss(PacketLoss::ManyCategories);
        joined_ += ',';
        joined_ += name;
    }

    Sink& sink_;
    ClockTable clocks_;
    Sequences sequences_;
    std::pair<std::uint32_t, Sequence*> latest_{0, nullptr}; ///< the sequence of the latest packet
    std::string joined_;                                     ///< categories of the current event, if there are several
    std::int64_t packets_ = 0;
};

} // namespace bubblescope::perfetto
