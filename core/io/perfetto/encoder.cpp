#include "core/io/perfetto/encoder.h"

#include "core/io/perfetto/fields.h"

#include <protozero/pbf_writer.hpp>

#include <type_traits>
#include <utility>

namespace bubblescope::perfetto {
namespace {

using protozero::pbf_writer;

std::uint64_t nanoseconds(TimeNs time) {
    return static_cast<std::uint64_t>(time.count());
}

void addText(pbf_writer& writer, std::uint32_t field, std::string_view text) {
    writer.add_string(field, text.data(), text.size());
}

std::string clockMessage(std::uint32_t id, TimeNs time) {
    std::string message;
    pbf_writer writer{message};
    writer.add_uint32(fields::clock::kId, id);
    writer.add_uint64(fields::clock::kTimestamp, nanoseconds(time));
    return message;
}

} // namespace

Encoder::Encoder(std::uint32_t sequence_id) : sequence_id_(sequence_id) {}

void Encoder::process(std::uint64_t uuid, std::int32_t pid, std::string_view name, std::int32_t order) {
    std::string identity;
    pbf_writer identity_writer{identity};
    identity_writer.add_int32(fields::process::kPid, pid);
    identity_writer.add_int32(fields::process::kLegacySortIndex, order);
    addText(identity_writer, fields::process::kName, name);

    std::string descriptor;
    pbf_writer writer{descriptor};
    writer.add_uint64(fields::track::kUuid, uuid);
    writer.add_message(fields::track::kProcess, identity);
    writer.add_enum(fields::track::kChildOrdering, fields::track::kOrderingExplicit);
    writer.add_int32(fields::track::kSiblingOrderRank, order);

    std::string body;
    pbf_writer{body}.add_message(fields::packet::kTrackDescriptor, descriptor);
    packet(body, false);
}

void Encoder::track(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t order) {
    std::string descriptor;
    pbf_writer writer{descriptor};
    writer.add_uint64(fields::track::kUuid, uuid);
    addText(writer, fields::track::kName, name);
    writer.add_uint64(fields::track::kParentUuid, parent);
    writer.add_enum(fields::track::kChildOrdering, fields::track::kOrderingExplicit);
    writer.add_int32(fields::track::kSiblingOrderRank, order);
    writer.add_enum(fields::track::kSiblingMergeBehavior, fields::track::kMergeNone);

    std::string body;
    pbf_writer{body}.add_message(fields::packet::kTrackDescriptor, descriptor);
    packet(body, false);
}

void Encoder::counterTrack(std::uint64_t uuid, std::uint64_t parent, std::string_view name) {
    std::string descriptor;
    pbf_writer writer{descriptor};
    writer.add_uint64(fields::track::kUuid, uuid);
    writer.add_uint64(fields::track::kParentUuid, parent);
    addText(writer, fields::track::kName, name);
    writer.add_message(fields::track::kCounter, std::string{});

    std::string body;
    pbf_writer{body}.add_message(fields::packet::kTrackDescriptor, descriptor);
    packet(body, false);
}

void Encoder::counter(std::uint64_t track, TimeNs time, double value) {
    std::string message;
    pbf_writer writer{message};
    writer.add_enum(fields::event::kType, fields::event::kTypeCounter);
    writer.add_uint64(fields::event::kTrackUuid, track);
    writer.add_double(fields::event::kDoubleCounterValue, value);
    trackEvent(time, message, {}, false);
}

void Encoder::beginSlice(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                         std::span<const Arg> args, std::span<const std::uint64_t> flow_ids) {
    event(fields::event::kTypeBegin, track, time, category, name, args, flow_ids);
}

void Encoder::endSlice(std::uint64_t track, TimeNs time) {
    std::string message;
    pbf_writer writer{message};
    writer.add_enum(fields::event::kType, fields::event::kTypeEnd);
    writer.add_uint64(fields::event::kTrackUuid, track);
    trackEvent(time, message, {}, false);
}

void Encoder::instant(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                      std::span<const Arg> args) {
    event(fields::event::kTypeInstant, track, time, category, name, args, {});
}

void Encoder::clockSnapshot(TimeNs monotonic, std::optional<TimeNs> realtime) {
    std::string snapshot;
    pbf_writer writer{snapshot};
    writer.add_message(fields::clock::kClocks, clockMessage(fields::clock::kMonotonic, monotonic));
    if (realtime) writer.add_message(fields::clock::kClocks, clockMessage(fields::clock::kRealtime, *realtime));
    writer.add_uint32(fields::clock::kPrimaryClock, fields::clock::kMonotonic);

    std::string body;
    pbf_writer{body}.add_message(fields::packet::kClockSnapshot, snapshot);
    packet(body, false);
}

std::string Encoder::take() {
    return std::exchange(out_, {});
}

std::uint64_t Encoder::intern(InternTable& table, std::uint32_t field, std::string_view text, std::string& interned) {
    if (const auto known = table.find(text); known != table.end()) return known->second;
    const std::uint64_t iid = table.size() + 1;
    table.emplace(text, iid);

    std::string entry;
    pbf_writer writer{entry};
    writer.add_uint64(fields::interned::kIid, iid);
    addText(writer, fields::interned::kText, text);
    pbf_writer{interned}.add_message(field, entry);
    return iid;
}

std::string Encoder::argMessage(const Arg& arg, std::string& interned) {
    std::string message;
    pbf_writer writer{message};
    writer.add_uint64(fields::annotation::kNameIid,
                      intern(arg_names_, fields::interned::kArgNames, arg.name, interned));
    std::visit(
        [&writer](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::int64_t>)
                writer.add_int64(fields::annotation::kInt, value);
            else if constexpr (std::is_same_v<Value, double>)
                writer.add_double(fields::annotation::kDouble, value);
            else if constexpr (std::is_same_v<Value, bool>)
                writer.add_bool(fields::annotation::kBool, value);
            else
                addText(writer, fields::annotation::kString, value);
        },
        arg.value);
    return message;
}

void Encoder::event(std::int32_t type, std::uint64_t track, TimeNs time, std::string_view category,
                    std::string_view name, std::span<const Arg> args, std::span<const std::uint64_t> flow_ids) {
    std::string interned;
    std::string message;
    pbf_writer writer{message};
    writer.add_enum(fields::event::kType, type);
    writer.add_uint64(fields::event::kTrackUuid, track);
    if (!category.empty()) {
        writer.add_uint64(fields::event::kCategoryIids,
                          intern(categories_, fields::interned::kCategories, category, interned));
    }
    if (!name.empty())
        writer.add_uint64(fields::event::kNameIid, intern(names_, fields::interned::kNames, name, interned));
    for (const Arg& arg : args)
        writer.add_message(fields::event::kDebugAnnotations, argMessage(arg, interned));
    for (const std::uint64_t flow : flow_ids)
        writer.add_fixed64(fields::event::kFlowIds, flow);
    trackEvent(time, message, interned, true);
}

void Encoder::trackEvent(TimeNs time, const std::string& message, const std::string& interned, bool needs_state) {
    std::string body;
    pbf_writer writer{body};
    writer.add_uint64(fields::packet::kTimestamp, nanoseconds(time));
    // Without this Perfetto takes times for BOOTTIME, which differs by the time a laptop was asleep.
    writer.add_uint32(fields::packet::kTimestampClockId, fields::clock::kMonotonic);
    if (!interned.empty()) writer.add_message(fields::packet::kInternedData, interned);
    writer.add_message(fields::packet::kTrackEvent, message);
    packet(body, needs_state);
}

void Encoder::packet(std::string& body, bool needs_state) {
    std::uint32_t flags = needs_state ? fields::packet::kFlagNeedsState : 0;
    if (first_) flags |= fields::packet::kFlagStateCleared;
    pbf_writer writer{body};
    writer.add_uint32(fields::packet::kSequenceId, sequence_id_);
    if (flags != 0) writer.add_uint32(fields::packet::kSequenceFlags, flags);
    if (first_) writer.add_bool(fields::packet::kFirstPacketOnSequence, true);
    first_ = false;
    pbf_writer{out_}.add_message(fields::trace::kPacket, body);
}

} // namespace bubblescope::perfetto
