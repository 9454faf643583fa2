#include "core/formats/perfetto/event_stream.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <protozero/exception.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace bubblescope::perfetto {
namespace {

// Streams are not trusted: these bound what is kept. Our own files stay far below.
constexpr std::size_t kLargestPacket = std::size_t{16} << 20;
constexpr std::size_t kMaxTexts = std::size_t{1} << 18;
constexpr std::size_t kLongestText = std::size_t{1} << 14;
constexpr std::size_t kMaxTracks = std::size_t{1} << 16;
constexpr std::size_t kMaxSequences = 1024;
constexpr std::size_t kDeepest = 256;
constexpr std::size_t kMaxArgs = 256;
constexpr int kMaxParents = 64;

// When searching for the next packet a length is a guess; a larger one would delay what follows.
constexpr std::size_t kLargestGuess = std::size_t{1} << 16;

const Arg* argNamed(std::span<const Arg> args, std::string_view name) {
    const auto found = std::ranges::find(args, name, &Arg::name);
    return found == args.end() ? nullptr : &*found;
}

} // namespace

std::optional<std::int64_t> StreamEvent::integer(std::string_view arg) const {
    const Arg* const found = argNamed(args, arg);
    if (found == nullptr) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(&found->value)) return *number;
    if (const auto* flag = std::get_if<bool>(&found->value)) return *flag ? 1 : 0;
    return std::nullopt;
}

std::optional<std::string_view> StreamEvent::text(std::string_view arg) const {
    const Arg* const found = argNamed(args, arg);
    const auto* text = found != nullptr ? std::get_if<std::string_view>(&found->value) : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
}

EventStream::EventStream(OnEvent on_event, OnClocks on_clocks)
    : on_event_(std::move(on_event)), on_clocks_(std::move(on_clocks)) {}

void EventStream::feed(std::string_view bytes) {
    counts_.bytes += static_cast<std::int64_t>(bytes.size());
    std::size_t next = 0;
    if (pending_.empty()) {
        takePackets(bytes, next);
        pending_.assign(bytes.substr(next));
        return;
    }
    pending_.append(bytes);
    takePackets(pending_, next);
    pending_.erase(0, next);
}

std::size_t EventStream::dropPending() {
    const std::size_t bytes = pending_.size();
    counts_.bytes -= static_cast<std::int64_t>(bytes);
    pending_.clear();
    torn_ = false;
    return bytes;
}

void EventStream::takePackets(std::string_view bytes, std::size_t& next) {
    constexpr std::size_t kBatch = 256;
    batch_.clear();
    while (true) {
        std::string_view body;
        const std::size_t offset = next;
        const auto end = torn_ ? std::nullopt : takeFrame(bytes, next, body);
        if (torn_ || (end && *end != PacketBatch::End::Whole)) {
            const bool waits = !torn_ && *end == PacketBatch::End::Cut && bytes.size() - next < kLargestPacket;
            use(batch_);
            batch_.clear();
            if (waits || !resynchronize(bytes, next)) return;
            continue;
        }
        if (end) break;
        batch_.add(offset, body);
        if (batch_.packets.size() < kBatch) continue;
        use(batch_);
        batch_.clear();
    }
    use(batch_);
    batch_.clear();
}

/// Moves to the next place where a packet can begin; false if more bytes are needed to decide.
bool EventStream::resynchronize(std::string_view bytes, std::size_t& next) {
    if (!torn_) {
        ++counts_.torn;
        ++counts_.skipped;
        ++next; // not a packet
        torn_ = true;
    }
    for (; next < bytes.size(); ++next, ++counts_.skipped) {
        std::size_t behind = next;
        std::string_view body;
        const auto end = takeFrame(bytes, behind, body);
        if (end == PacketBatch::End::Cut) {
            if (bytes.size() - next < kLargestGuess) return false; // the guess may be right
            continue;
        }
        if (end || body.empty() || behind - next > kLargestGuess) continue;
        PacketBatch guess;
        guess.add(next, body);
        const Packet& packet = guess.packets.front();
        const bool says_something = packet.event != Packet::kNone || packet.extras != Packet::kNone;
        if (packet.damaged || packet.damaged_event || !says_something) continue;
        torn_ = false;
        return true;
    }
    return false;
}

void EventStream::use(const PacketBatch& batch) {
    for (const Packet& packet : batch.packets)
        use(packet, batch);
}

void EventStream::use(const Packet& packet, const PacketBatch& batch) {
    ++counts_.packets;
    try {
        if (packet.damaged || (!sequences_.contains(packet.sequence) && sequences_.size() >= kMaxSequences)) {
            ++counts_.damaged;
            return;
        }
        Sequence& sequence = sequences_[packet.sequence];
        if ((packet.flags & fields::packet::kFlagStateCleared) != 0) {
            sequence = Sequence{};
            sequence.usable = true;
        }
        if (packet.extras != Packet::kNone) addExtras(packet, batch.extras[packet.extras], sequence);
        if (packet.damaged_event) ++counts_.damaged;
        if (packet.event == Packet::kNone || packet.damaged_event) return;
        TimeNs time{0};
        const std::uint32_t clock = packet.has_clock ? packet.clock : fields::clock::kBoottime;
        const bool timed = packet.has_timestamp && clocks_.traceTime(packet.sequence, clock, packet.timestamp, time);
        const bool named = sequence.usable || (packet.flags & fields::packet::kFlagNeedsState) == 0;
        if (timed && named)
            event(batch.events[packet.event], time, batch.lists, sequence);
        else
            ++counts_.damaged;
    } catch (const protozero::exception&) {
        ++counts_.damaged;
    }
}

void EventStream::addExtras(const Packet& packet, const PacketExtras& extras, Sequence& sequence) {
    if (extras.dropped_before) sequence.usable = false;
    if (extras.interned) addInterned(*extras.interned, sequence);
    if (extras.descriptor) addTrack(*extras.descriptor);
    if (!extras.clocks) return;
    clocks_.addSnapshot(*extras.clocks, packet.sequence);
    addClocks(*extras.clocks);
}

void EventStream::addInterned(std::string_view message, Sequence& sequence) {
    FieldReader data(message);
    while (data.next()) {
        switch (data.tag()) {
        case fields::interned::kCategories: addEntry(data.bytes(), sequence.categories); break;
        case fields::interned::kNames: addEntry(data.bytes(), sequence.names); break;
        case fields::interned::kArgNames: addEntry(data.bytes(), sequence.arg_names); break;
        case fields::interned::kArgStrings: addEntry(data.bytes(), sequence.arg_texts); break;
        default: data.skip();
        }
    }
}

void EventStream::addEntry(std::string_view message, Texts& texts) {
    FieldReader entry(message);
    std::uint64_t iid = 0;
    std::string_view text;
    while (entry.next()) {
        switch (entry.tag()) {
        case fields::interned::kIid: iid = entry.uint64(); break;
        case fields::interned::kText: text = entry.bytes(); break;
        default: entry.skip();
        }
    }
    if (texts.size() < kMaxTexts || texts.contains(iid)) texts[iid] = keep(text);
}

void EventStream::addTrack(std::string_view message) {
    FieldReader descriptor(message);
    std::uint64_t uuid = 0;
    Track track;
    while (descriptor.next()) {
        switch (descriptor.tag()) {
        case fields::track::kUuid: uuid = descriptor.uint64(); break;
        case fields::track::kParentUuid: track.parent = descriptor.uint64(); break;
        case fields::track::kProcess: {
            FieldReader process(descriptor.bytes());
            while (process.next()) {
                if (process.tag() == fields::process::kName)
                    track.process = keep(process.bytes());
                else
                    process.skip();
            }
            break;
        }
        default: descriptor.skip();
        }
    }
    if (tracks_.size() < kMaxTracks || tracks_.contains(uuid)) tracks_[uuid] = track;
}

void EventStream::addClocks(std::string_view message) {
    std::optional<TimeNs> monotonic;
    std::optional<TimeNs> realtime;
    FieldReader snapshot(message);
    while (snapshot.next()) {
        if (snapshot.tag() != fields::clock::kClocks) {
            snapshot.skip();
            continue;
        }
        FieldReader clock(snapshot.bytes());
        std::uint32_t id = 0;
        TimeNs time{0};
        while (clock.next()) {
            switch (clock.tag()) {
            case fields::clock::kId: id = clock.uint32(); break;
            case fields::clock::kTimestamp: time = TimeNs{clock.int64()}; break;
            default: clock.skip();
            }
        }
        if (id == fields::clock::kMonotonic) monotonic = time;
        if (id == fields::clock::kRealtime) realtime = time;
    }
    if (on_clocks_ && monotonic && realtime) on_clocks_({*monotonic, *realtime});
}

void EventStream::event(const TrackEvent& raw, TimeNs time, const EventLists& lists, const Sequence& sequence) {
    switch (raw.type) {
    case fields::event::kTypeBegin: {
        if (open_.size() >= kMaxTracks && !open_.contains(raw.track)) break;
        OpenSlices& open = open_[raw.track];
        if (open.depth >= kDeepest) {
            ++counts_.unmatched;
            break;
        }
        if (open.depth == open.slices.size()) open.slices.emplace_back();
        resolve(raw, lists, sequence);
        event_.start = time;
        std::swap(open.slices[open.depth++], event_);
        break;
    }
    case fields::event::kTypeEnd: end(raw.track, time); break;
    case fields::event::kTypeInstant:
        resolve(raw, lists, sequence);
        event_.start = time;
        ++counts_.instants;
        hand(event_, true, raw.track, time);
        break;
    default: break; // counters, and unknown kinds
    }
}

void EventStream::end(std::uint64_t track, TimeNs time) {
    const auto open = open_.find(track);
    if (open == open_.end() || open->second.depth == 0) {
        ++counts_.unmatched;
        return;
    }
    const OpenSlice& slice = open->second.slices[--open->second.depth];
    ++counts_.slices;
    hand(slice, false, track, std::max(time, slice.start));
}

void EventStream::hand(const OpenSlice& slice, bool instant, std::uint64_t track, TimeNs end) {
    args_.clear();
    for (const HeldArg& held : slice.args) {
        Arg& arg = args_.emplace_back(Arg{held.name, std::int64_t{0}});
        std::visit(
            [&arg](const auto& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
                    arg.value = std::string_view(value);
                else
                    arg.value = value;
            },
            held.value);
    }
    on_event_({instant, track, slice.start, end, slice.category, slice.name, args_});
}

/// Fills event_ with the event's texts and args.
void EventStream::resolve(const TrackEvent& raw, const EventLists& lists, const Sequence& sequence) {
    event_.name = event_.category = {};
    event_.args.clear();
    if (raw.has_name_iid)
        event_.name = find(sequence.names, raw.name_iid);
    else if (const auto names = raw.names.of(lists.names); !names.empty())
        event_.name = keep(names.back());
    if (const auto iids = raw.category_iids.of(lists.category_iids); !iids.empty())
        event_.category = find(sequence.categories, iids.front());
    else if (const auto categories = raw.categories.of(lists.categories); !categories.empty())
        event_.category = keep(categories.front());
    raw.eachAnnotation([&](std::string_view annotation) {
        if (event_.args.size() < kMaxArgs) event_.args.push_back(argOf(annotation, sequence));
    });
}

EventStream::HeldArg EventStream::argOf(std::string_view message, const Sequence& sequence) {
    namespace annotation = fields::annotation;
    FieldReader reader(message);
    HeldArg arg{{}, std::int64_t{0}};
    while (reader.next()) {
        switch (reader.tag()) {
        case annotation::kNameIid: arg.name = find(sequence.arg_names, reader.uint64()); break;
        case annotation::kName: arg.name = keep(reader.bytes()); break;
        case annotation::kBool: arg.value = reader.boolean(); break;
        case annotation::kInt:
        case annotation::kUint: arg.value = reader.int64(); break;
        case annotation::kDouble: arg.value = reader.real(); break;
        case annotation::kString: arg.value = std::string(reader.bytes().substr(0, kLongestText)); break;
        case annotation::kStringIid: arg.value = std::string(find(sequence.arg_texts, reader.uint64())); break;
        default: reader.skip();
        }
    }
    return arg;
}

std::string_view EventStream::keep(std::string_view text) {
    text = text.substr(0, kLongestText);
    if (const auto known = texts_.find(text); known != texts_.end()) return *known;
    if (texts_.size() < kMaxTexts) return *texts_.emplace(text).first;
    ++counts_.damaged;
    return {};
}

std::string_view EventStream::find(const Texts& texts, std::uint64_t number) {
    const auto known = texts.find(number);
    if (known != texts.end()) return known->second;
    ++counts_.damaged;
    return {};
}

std::string_view EventStream::processOf(std::uint64_t track) const {
    for (int climbed = 0; climbed < kMaxParents; ++climbed) {
        const auto found = tracks_.find(track);
        if (found == tracks_.end()) return {};
        if (!found->second.process.empty() || found->second.parent == 0) return found->second.process;
        track = found->second.parent;
    }
    return {};
}

} // namespace bubblescope::perfetto
