#include "core/formats/perfetto/encoder.h"

#include "core/formats/perfetto/fields.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bubblescope::perfetto {

/// Writes protobuf fields one after another, nested messages in place. The caller provides room: kMaxOfField bytes for
/// a number or the start of a message, plus the length of a text.
///
/// Recorders write millions of slices with this, so nothing allocates or copies, except close() for a long message.
class FieldWriter {
public:
    static constexpr std::size_t kMaxOfField = 16;

    explicit FieldWriter(char* at) : at_(at) {}

    [[nodiscard]] char* at() const { return at_; }

    void number(std::uint32_t field, std::uint64_t value) {
        tag(field, kVarint);
        varint(value);
    }
    /// Negative integers take ten bytes, as protobuf requires.
    void integer(std::uint32_t field, std::int64_t value) { number(field, static_cast<std::uint64_t>(value)); }
    void fixed(std::uint32_t field, std::uint64_t value) {
        tag(field, kFixed64);
        for (unsigned byte = 0; byte < sizeof value; ++byte)
            *at_++ = static_cast<char>(value >> 8 * byte);
    }
    void real(std::uint32_t field, double value) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        fixed(field, bits);
    }
    void text(std::uint32_t field, std::string_view text) {
        tag(field, kBytes);
        varint(text.size());
        if (!text.empty()) std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }

    /// Begins a message; everything until close() is its content.
    [[nodiscard]] char* open(std::uint32_t field) {
        tag(field, kBytes);
        return at_++; // most messages are short and store their length in one byte
    }
    void close(char* begin) {
        const auto size = static_cast<std::size_t>(at_ - begin) - 1;
        if (size < kMore) {
            *begin = static_cast<char>(size);
            return;
        }
        std::size_t longer = 0;
        for (std::size_t rest = size; rest >= kMore; rest >>= 7U)
            ++longer;
        std::memmove(begin + 1 + longer, begin + 1, size);
        FieldWriter length(begin);
        length.varint(size);
        at_ += longer;
    }

private:
    static constexpr std::uint32_t kVarint = 0;
    static constexpr std::uint32_t kFixed64 = 1;
    static constexpr std::uint32_t kBytes = 2;
    static constexpr std::uint64_t kMore = 0x80;

    void tag(std::uint32_t field, std::uint32_t kind) { varint(field << 3U | kind); }
    void varint(std::uint64_t value) {
        for (; value >= kMore; value >>= 7U)
            *at_++ = static_cast<char>(value | kMore);
        *at_++ = static_cast<char>(value);
    }

    char* at_;
};

namespace {

constexpr std::size_t kFewestSlots = 64;
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15; // 2^64 over the golden ratio: multiplying by it spreads bits

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    return hash ^ hash >> 32U;
}

template <class Word>
std::uint64_t wordAt(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

} // namespace

std::uint64_t InternTable::hashOf(std::string_view text) {
    const std::size_t size = text.size();
    const char* const begin = text.data();
    const char* const end = begin + size;
    std::uint64_t hash = size;
    if (size >= sizeof(std::uint64_t)) { // the last word overlaps the previous one, which saves a loop over bytes
        for (const char* at = begin; at + sizeof(std::uint64_t) < end; at += sizeof(std::uint64_t))
            hash = mixed(hash, wordAt<std::uint64_t>(at));
        return mixed(hash, wordAt<std::uint64_t>(end - sizeof(std::uint64_t)));
    }
    if (size >= sizeof(std::uint32_t))
        return mixed(hash, wordAt<std::uint32_t>(begin) << 32U | wordAt<std::uint32_t>(end - sizeof(std::uint32_t)));
    for (const char letter : text)
        hash = hash << 8U | static_cast<unsigned char>(letter);
    return mixed(hash, 0);
}

void InternTable::grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max(kFewestSlots, 2 * slots_.size())));
    for (const Slot& slot : old) {
        if (slot.number == 0) continue;
        std::size_t at = slot.hash & (slots_.size() - 1);
        while (slots_[at].number != 0)
            at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

namespace {

constexpr std::size_t kField = FieldWriter::kMaxOfField;
constexpr std::size_t kAroundPacket = 8 * kField; ///< fields of every packet: length, time, clock, sequence, flags

std::uint64_t nanoseconds(TimeNs time) {
    return static_cast<std::uint64_t>(time.count());
}

/// A packet that has a time begins with it.
char* openPacket(FieldWriter& writer, std::optional<TimeNs> time = {}) {
    char* const packet = writer.open(fields::trace::kPacket);
    if (!time) return packet;
    writer.number(fields::packet::kTimestamp, nanoseconds(*time));
    // Otherwise Perfetto assumes BOOTTIME, which also counts the time during which the machine was suspended.
    writer.number(fields::packet::kTimestampClockId, fields::clock::kMonotonic);
    return packet;
}

void writeClock(FieldWriter& writer, std::uint32_t id, TimeNs time) {
    char* const clock = writer.open(fields::clock::kClocks);
    writer.number(fields::clock::kId, id);
    writer.number(fields::clock::kTimestamp, nanoseconds(time));
    writer.close(clock);
}

std::size_t roomFor(std::span<const Arg> args) {
    constexpr std::size_t kFieldsOfArg = 4;
    std::size_t bytes = 0;
    for (const Arg& arg : args) {
        const auto* const text = std::get_if<std::string_view>(&arg.value);
        bytes += kFieldsOfArg * kField + (text == nullptr ? 0 : text->size());
    }
    return bytes;
}

void writeArg(FieldWriter& writer, const Arg& arg, std::uint64_t name) {
    char* const annotation = writer.open(fields::event::kDebugAnnotations);
    writer.number(fields::annotation::kNameIid, name);
    std::visit(
        [&writer](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::int64_t>)
                writer.integer(fields::annotation::kInt, value);
            else if constexpr (std::is_same_v<Value, double>)
                writer.real(fields::annotation::kDouble, value);
            else if constexpr (std::is_same_v<Value, bool>)
                writer.number(fields::annotation::kBool, value ? 1 : 0);
            else
                writer.text(fields::annotation::kString, value);
        },
        arg.value);
    writer.close(annotation);
}

} // namespace

Encoder::Encoder(std::uint32_t sequence_id) : sequence_id_(sequence_id) {}

/// A writer at the end of the encoded bytes, with room for `bytes` more.
FieldWriter Encoder::room(std::size_t bytes) {
    if (out_.size() - used_ < bytes) out_.resize(std::max(2 * out_.size(), used_ + bytes));
    return FieldWriter(out_.data() + used_);
}

void Encoder::finishPacket(FieldWriter writer, char* packet, bool needs_state) {
    std::uint32_t flags = needs_state ? fields::packet::kFlagNeedsState : 0;
    if (first_) flags |= fields::packet::kFlagStateCleared;
    writer.number(fields::packet::kSequenceId, sequence_id_);
    if (flags != 0) writer.number(fields::packet::kSequenceFlags, flags);
    if (first_) writer.number(fields::packet::kFirstPacketOnSequence, 1);
    first_ = false;
    writer.close(packet);
    used_ = static_cast<std::size_t>(writer.at() - out_.data());
}

void Encoder::process(std::uint64_t uuid, std::int32_t pid, std::string_view name, std::int32_t order,
                      std::string_view label) {
    FieldWriter writer = room(kAroundPacket + 9 * kField + name.size() + label.size());
    char* const packet = openPacket(writer);
    char* const descriptor = writer.open(fields::packet::kTrackDescriptor);
    writer.number(fields::track::kUuid, uuid);
    char* const identity = writer.open(fields::track::kProcess);
    writer.integer(fields::process::kPid, pid);
    writer.integer(fields::process::kLegacySortIndex, order);
    writer.text(fields::process::kName, name);
    if (!label.empty()) writer.text(fields::process::kLabels, label);
    writer.close(identity);
    writer.integer(fields::track::kChildOrdering, fields::track::kOrderingExplicit);
    writer.integer(fields::track::kSiblingOrderRank, order);
    writer.close(descriptor);
    finishPacket(writer, packet, false);
}

void Encoder::track(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t order) {
    FieldWriter writer = room(kAroundPacket + 7 * kField + name.size());
    char* const packet = openPacket(writer);
    char* const descriptor = writer.open(fields::packet::kTrackDescriptor);
    writer.number(fields::track::kUuid, uuid);
    writer.text(fields::track::kName, name);
    writer.number(fields::track::kParentUuid, parent);
    writer.integer(fields::track::kChildOrdering, fields::track::kOrderingExplicit);
    writer.integer(fields::track::kSiblingOrderRank, order);
    writer.integer(fields::track::kSiblingMergeBehavior, fields::track::kMergeNone);
    writer.close(descriptor);
    finishPacket(writer, packet, false);
}

void Encoder::thread(std::uint64_t uuid, std::int32_t pid, std::int32_t tid, std::string_view name,
                     std::int32_t order) {
    FieldWriter writer = room(kAroundPacket + 8 * kField + name.size());
    char* const packet = openPacket(writer);
    char* const descriptor = writer.open(fields::packet::kTrackDescriptor);
    writer.number(fields::track::kUuid, uuid);
    char* const identity = writer.open(fields::track::kThread);
    writer.integer(fields::thread::kPid, pid);
    writer.integer(fields::thread::kTid, tid);
    if (!name.empty()) writer.text(fields::thread::kName, name);
    writer.close(identity);
    writer.integer(fields::track::kChildOrdering, fields::track::kOrderingExplicit);
    writer.integer(fields::track::kSiblingOrderRank, order);
    writer.close(descriptor);
    finishPacket(writer, packet, false);
}

void Encoder::counterTrack(std::uint64_t uuid, std::uint64_t parent, std::string_view name) {
    FieldWriter writer = room(kAroundPacket + 5 * kField + name.size());
    char* const packet = openPacket(writer);
    char* const descriptor = writer.open(fields::packet::kTrackDescriptor);
    writer.number(fields::track::kUuid, uuid);
    writer.number(fields::track::kParentUuid, parent);
    writer.text(fields::track::kName, name);
    writer.text(fields::track::kCounter, {});
    writer.close(descriptor);
    finishPacket(writer, packet, false);
}

void Encoder::counter(std::uint64_t track, TimeNs time, double value) {
    FieldWriter writer = room(kAroundPacket + 4 * kField);
    char* const packet = openPacket(writer, time);
    char* const message = writer.open(fields::packet::kTrackEvent);
    writer.integer(fields::event::kType, fields::event::kTypeCounter);
    writer.number(fields::event::kTrackUuid, track);
    writer.real(fields::event::kDoubleCounterValue, value);
    writer.close(message);
    finishPacket(writer, packet, false);
}

void Encoder::beginSlice(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                         std::span<const Arg> args, std::span<const std::uint64_t> flow_ids) {
    event(fields::event::kTypeBegin, track, time, category, name, args, flow_ids);
}

void Encoder::endSlice(std::uint64_t track, TimeNs time) {
    FieldWriter writer = room(kAroundPacket + 3 * kField);
    char* const packet = openPacket(writer, time);
    char* const message = writer.open(fields::packet::kTrackEvent);
    writer.integer(fields::event::kType, fields::event::kTypeEnd);
    writer.number(fields::event::kTrackUuid, track);
    writer.close(message);
    finishPacket(writer, packet, false);
}

void Encoder::instant(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                      std::span<const Arg> args) {
    event(fields::event::kTypeInstant, track, time, category, name, args, {});
}

void Encoder::clockSnapshot(TimeNs monotonic, std::optional<TimeNs> realtime) {
    FieldWriter writer = room(kAroundPacket + 12 * kField);
    char* const packet = openPacket(writer);
    char* const snapshot = writer.open(fields::packet::kClockSnapshot);
    writeClock(writer, fields::clock::kMonotonic, monotonic);
    writeClock(writer, fields::clock::kBoottime, monotonic);
    if (realtime) writeClock(writer, fields::clock::kRealtime, *realtime);
    writer.number(fields::clock::kPrimaryClock, fields::clock::kMonotonic);
    writer.close(snapshot);
    finishPacket(writer, packet, false);
}

std::string Encoder::take() {
    out_.resize(std::exchange(used_, 0));
    return std::exchange(out_, {});
}

/// Returns the text's number. A new text is added to interned_.
std::uint64_t Encoder::intern(InternTable& table, std::uint32_t field, std::string_view text) {
    const InternTable::Number known = table.numberOf(text);
    if (!known.is_new) return known.number;
    const std::size_t before = interned_.size();
    interned_.resize(before + 3 * kField + text.size());
    FieldWriter writer(interned_.data() + before);
    char* const entry = writer.open(field);
    writer.number(fields::interned::kIid, known.number);
    writer.text(fields::interned::kText, text);
    writer.close(entry);
    interned_.resize(static_cast<std::size_t>(writer.at() - interned_.data()));
    return known.number;
}

void Encoder::event(std::int32_t type, std::uint64_t track, TimeNs time, std::string_view category,
                    std::string_view name, std::span<const Arg> args, std::span<const std::uint64_t> flow_ids) {
    // New texts must precede the event that uses them, so look all of them up first.
    interned_.clear();
    const std::uint64_t category_number =
        category.empty() ? 0 : intern(categories_, fields::interned::kCategories, category);
    const std::uint64_t name_number = name.empty() ? 0 : intern(names_, fields::interned::kNames, name);
    arg_numbers_.clear();
    for (const Arg& arg : args)
        arg_numbers_.push_back(intern(arg_names_, fields::interned::kArgNames, arg.name));

    FieldWriter writer = room(kAroundPacket + 5 * kField + interned_.size() + roomFor(args) + flow_ids.size() * kField);
    char* const packet = openPacket(writer, time);
    if (!interned_.empty()) writer.text(fields::packet::kInternedData, interned_);
    char* const message = writer.open(fields::packet::kTrackEvent);
    writer.integer(fields::event::kType, type);
    writer.number(fields::event::kTrackUuid, track);
    if (category_number != 0) writer.number(fields::event::kCategoryIids, category_number);
    if (name_number != 0) writer.number(fields::event::kNameIid, name_number);
    for (std::size_t i = 0; i < args.size(); ++i)
        writeArg(writer, args[i], arg_numbers_[i]);
    for (const std::uint64_t flow : flow_ids)
        writer.fixed(fields::event::kFlowIds, flow);
    writer.close(message);
    finishPacket(writer, packet, true);
}

} // namespace bubblescope::perfetto
