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
constexpr std::size_t kNode = 96; ///< bytes of an entry of a table, beside its text
constexpr std::size_t kDeepest = 256;
constexpr std::size_t kMaxArgs = 256;
constexpr int kMaxParents = 64;

constexpr std::size_t kReused = std::size_t{1} << 12; ///< bytes of a buffer that is kept where nothing waits

// When searching for the next packet a length is a guess; a larger one would delay what follows.
constexpr std::size_t kLargestGuess = std::size_t{1} << 16;

/// Gives back its memory, which neither clear() nor the assignment of an empty one does.
void release(std::string& text) {
    std::string().swap(text);
}

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

EventStream::EventStream(OnEvent on_event, OnClocks on_clocks, StreamMemory& memory)
    : on_event_(std::move(on_event)), on_clocks_(std::move(on_clocks)), memory_(memory) {}

std::size_t EventStream::OpenSlice::bytes() const {
    std::size_t sum = 0;
    for (const HeldArg& arg : args) {
        const auto* const text = std::get_if<std::string>(&arg.value);
        sum += sizeof arg + (text != nullptr ? text->size() : 0);
    }
    return sum;
}

void EventStream::feed(std::string_view bytes) {
    counts_.bytes += static_cast<std::int64_t>(bytes.size());
    std::size_t next = 0;
    if (pending_.empty()) {
        takePackets(bytes, next);
        return keepPending(bytes, next);
    }
    pending_.append(bytes);
    takePackets(pending_, next);
    keepPending(pending_, next);
}

/// Keeps what follows `next`, which may be of pending_ itself; skips it if there is no room.
void EventStream::keepPending(std::string_view bytes, std::size_t next) {
    const std::size_t size = bytes.size() - next;
    memory_.give(std::exchange(pending_held_, 0));
    if (size == 0) return pending_.capacity() > kReused ? release(pending_) : pending_.clear();
    if (!memory_.take(size)) {
        ++counts_.torn;
        counts_.skipped += static_cast<std::int64_t>(size);
        torn_ = true;
        return release(pending_);
    }
    pending_held_ = size;
    if (bytes.data() == pending_.data() && pending_.capacity() <= 2 * size + kReused)
        pending_.erase(0, next);
    else
        std::string(bytes.substr(next)).swap(pending_); // no larger than it must be
}

std::size_t EventStream::dropPending() {
    const std::size_t bytes = pending_.size();
    counts_.bytes -= static_cast<std::int64_t>(bytes);
    memory_.give(std::exchange(pending_held_, 0));
    release(pending_);
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
        const bool is_new = !sequences_.contains(packet.sequence);
        if (is_new && !memory_.take(sizeof(Sequence) + kNode)) return void(++counts_.damaged);
        Sequence& sequence = sequences_[packet.sequence];
        if ((packet.flags & fields::packet::kFlagStateCleared) != 0) {
            memory_.give(kNode * sequence.entries());
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
    const auto known = texts.find(iid);
    if (known != texts.end())
        known->second = keep(text);
    else if (texts.size() < kMaxTexts && memory_.take(kNode))
        texts.emplace(iid, keep(text));
    else
        ++counts_.damaged;
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
    const auto known = tracks_.find(uuid);
    if (known != tracks_.end())
        known->second = track;
    else if (tracks_.size() < kMaxTracks && memory_.take(kNode))
        tracks_.emplace(uuid, track);
    else
        ++counts_.damaged;
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
    case fields::event::kTypeBegin: begin(raw, time, lists, sequence); break;
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

void EventStream::begin(const TrackEvent& raw, TimeNs time, const EventLists& lists, const Sequence& sequence) {
    auto on_track = open_.find(raw.track);
    if (on_track == open_.end()) {
        if (open_.size() >= kMaxTracks || !memory_.take(kNode)) return void(++counts_.damaged);
        on_track = open_.try_emplace(raw.track).first;
    }
    OpenSlices& open = on_track->second;
    if (open.depth >= kDeepest) return void(++counts_.unmatched);
    if (open.depth == open.slices.size()) {
        if (!memory_.take(sizeof(OpenSlice))) return void(++counts_.damaged);
        open.slices.emplace_back();
    }
    resolve(raw, lists, sequence);
    if (!memory_.take(event_.bytes())) return void(++counts_.damaged);
    event_.start = time;
    std::swap(open.slices[open.depth++], event_);
}

void EventStream::end(std::uint64_t track, TimeNs time) {
    const auto open = open_.find(track);
    if (open == open_.end() || open->second.depth == 0) {
        ++counts_.unmatched;
        return;
    }
    OpenSlice& slice = open->second.slices[--open->second.depth];
    ++counts_.slices;
    hand(slice, false, track, std::max(time, slice.start));
    memory_.give(slice.bytes());
    constexpr std::size_t kReused = 16; // args, of which the memory serves the next slice
    if (slice.args.size() > kReused)
        slice.args = {};
    else
        slice.args.clear();
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
    if (texts_.size() < kMaxTexts && memory_.take(kNode + text.size())) return *texts_.emplace(text).first;
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
