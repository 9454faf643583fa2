#include "core/formats/perfetto/event_stream.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <protozero/exception.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace bubblescope::perfetto {
namespace {

// Streams are not trusted, so these constants limit the data that is kept. Bubblescope's own files stay far below the
// limits.
constexpr std::size_t kLargestPacket = std::size_t{16} << 20;
constexpr std::size_t kMaxTexts = std::size_t{1} << 18;
constexpr std::size_t kLongestText = std::size_t{1} << 14;
constexpr std::size_t kMaxTracks = std::size_t{1} << 16;
constexpr std::size_t kMaxSequences = 1024;
constexpr std::size_t kNode = 96; ///< bytes per entry of a table, besides its text
/// Bytes per list of numbered texts, besides its entries.
constexpr std::size_t kList = 2 * NumberTable<std::string_view>::kRoom * sizeof(std::string_view);
constexpr std::size_t kDeepest = 256;
constexpr std::size_t kMaxArgs = 256;
constexpr int kMaxParents = 64;

constexpr std::size_t kReused = std::size_t{1} << 12; ///< buffers up to this size are kept when no data is waiting

// While searching for the next packet, a length is a guess; a larger one would delay the following packets.
constexpr std::size_t kLargestGuess = std::size_t{1} << 16;

/// Frees its memory, unlike clear() and the assignment of an empty list.
template <class List>
void release(List& list) {
    List().swap(list);
}

std::size_t heldBy(const NumberTable<std::string_view>& texts) {
    return texts.size() == 0 ? 0 : kList + kNode * texts.size();
}

} // namespace

EventStream::EventStream(OnEvent on_event, OnClocks on_clocks, StreamMemory& memory)
    : on_event_(std::move(on_event)), on_clocks_(std::move(on_clocks)), memory_(memory) {
    batch_.lists.examine_annotations = false;
}

void EventStream::OpenSlice::clearArgs() {
    constexpr std::size_t kReusedArgs = 16; // whose memory is reused by the next slice
    constexpr std::size_t kReusedLetters = 256;
    if (args.size() > kReusedArgs)
        release(args);
    else
        args.clear();
    if (letters.capacity() > kReusedLetters)
        release(letters);
    else
        letters.clear();
}

void EventStream::OpenSlice::releaseArgs() {
    release(args);
    release(letters);
}

std::size_t EventStream::Sequence::held() const {
    return heldBy(names) + heldBy(categories) + heldBy(arg_names) + heldBy(arg_texts);
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

/// Keeps the bytes after `next`, which may belong to pending_ itself; skips them if there is no room.
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
        std::string(bytes.substr(next)).swap(pending_); // without spare capacity
}

std::size_t EventStream::dropPending() {
    const std::size_t bytes = pending_.size();
    counts_.bytes -= static_cast<std::int64_t>(bytes);
    memory_.give(std::exchange(pending_held_, 0));
    release(pending_);
    torn_ = false;
    return bytes;
}

/// The memory of a packet with very many numbers is not kept, because no stream would count it.
void EventStream::clearBatch() {
    batch_.clear();
    const EventLists& lists = batch_.lists;
    if (lists.names.capacity() + lists.categories.capacity() + lists.category_iids.capacity() +
            lists.flows.capacity() <=
        kReused)
        return;
    batch_.lists = EventLists{};
    batch_.lists.examine_annotations = false;
}

void EventStream::takePackets(std::string_view bytes, std::size_t& next) {
    constexpr std::size_t kBatch = 32; // few, so that their decoded form stays in the nearest cache
    clearBatch();
    while (true) {
        std::string_view body;
        const std::size_t offset = next;
        const auto end = torn_ ? std::nullopt : takeFrame(bytes, next, body);
        if (torn_ || (end && *end != PacketBatch::End::Whole)) {
            const bool waits = !torn_ && *end == PacketBatch::End::Cut && bytes.size() - next < kLargestPacket;
            use(batch_);
            clearBatch();
            if (waits || !resynchronize(bytes, next)) return;
            continue;
        }
        if (end) break;
        batch_.add(offset, body);
        if (batch_.packets.size() < kBatch) continue;
        use(batch_);
        clearBatch();
    }
    use(batch_);
    clearBatch();
}

/// Moves to the next place where a packet may begin; false if more bytes are needed to decide.
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

/// Null if there is no room for another one.
EventStream::Sequence* EventStream::sequenceOf(std::uint32_t number) {
    if (latest_.second != nullptr && latest_.first == number) return latest_.second;
    auto known = sequences_.find(number);
    if (known == sequences_.end()) {
        if (sequences_.size() >= kMaxSequences || !memory_.take(sizeof(Sequence) + kNode)) return nullptr;
        known = sequences_.try_emplace(number).first;
    }
    latest_ = {number, &known->second};
    return latest_.second;
}

void EventStream::use(const Packet& packet, const PacketBatch& batch) {
    ++counts_.packets;
    try {
        Sequence* const known = packet.damaged ? nullptr : sequenceOf(packet.sequence);
        if (known == nullptr) return void(++counts_.damaged);
        Sequence& sequence = *known;
        if ((packet.flags & fields::packet::kFlagStateCleared) != 0) {
            memory_.give(sequence.held());
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
    eachInterned(message, [&](std::uint32_t kind, std::uint64_t number, std::string_view text) {
        Texts& texts = kind == fields::interned::kCategories ? sequence.categories
                       : kind == fields::interned::kNames    ? sequence.names
                       : kind == fields::interned::kArgNames ? sequence.arg_names
                                                             : sequence.arg_texts;
        if (!setText(number, keep(text), texts)) ++counts_.damaged;
    });
}

/// False, without keeping anything, if there is no room.
bool EventStream::setText(std::uint64_t number, std::string_view text, Texts& texts) {
    const bool is_new = !Texts::isKnown(texts.find(number));
    if (is_new && (texts.size() >= kMaxTexts || !memory_.take(texts.size() == 0 ? kList + kNode : kNode))) return false;
    texts.set(number, text);
    return true;
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
        event_.clearArgs();
        break;
    default: break; // counters, and unknown kinds
    }
}

/// Null if there is no room for another track.
EventStream::OpenSlices* EventStream::openOn(std::uint64_t track) {
    if (OpenSlices* const known = recent_.find(track)) return known;
    auto on_track = open_.find(track);
    if (on_track == open_.end()) {
        if (open_.size() >= kMaxTracks || !memory_.take(kNode)) return nullptr;
        on_track = open_.try_emplace(track).first;
    }
    recent_.set(track, on_track->second);
    return &on_track->second;
}

void EventStream::begin(const TrackEvent& raw, TimeNs time, const EventLists& lists, const Sequence& sequence) {
    OpenSlices* const on_track = openOn(raw.track);
    if (on_track == nullptr) return void(++counts_.damaged);
    OpenSlices& open = *on_track;
    if (open.depth >= kDeepest) return void(++counts_.unmatched);
    if (open.depth == open.slices.size()) {
        if (!memory_.take(sizeof(OpenSlice))) return void(++counts_.damaged);
        open.slices.emplace_back();
    }
    resolve(raw, lists, sequence);
    if (!memory_.take(event_.bytes())) {
        event_.clearArgs();
        return void(++counts_.damaged);
    }
    event_.start = time;
    OpenSlice& slice = open.slices[open.depth++];
    memory_.give(slice.bytes()); // its buffers are reused by the next event
    std::swap(slice, event_);
}

void EventStream::end(std::uint64_t track, TimeNs time) {
    OpenSlices* open = recent_.find(track);
    if (open == nullptr) {
        const auto known = open_.find(track);
        open = known == open_.end() ? nullptr : &known->second;
    }
    if (open == nullptr || open->depth == 0) {
        ++counts_.unmatched;
        return;
    }
    constexpr std::size_t kReusedSlices = 4; // per track; most are not nested deeper
    OpenSlice& slice = open->slices[--open->depth];
    ++counts_.slices;
    hand(slice, false, track, std::max(time, slice.start));
    const std::size_t held = slice.bytes();
    if (open->depth < kReusedSlices)
        slice.clearArgs();
    else
        slice.releaseArgs();
    memory_.give(held - slice.bytes());
}

void EventStream::hand(const OpenSlice& slice, bool instant, std::uint64_t track, TimeNs end) {
    on_event_({instant, track, slice.start, end, slice.category, slice.name, slice.args});
}

/// Fills event_ with the event's texts and args.
void EventStream::resolve(const TrackEvent& raw, const EventLists& lists, const Sequence& sequence) {
    event_.name = event_.category = {};
    event_.clearArgs();
    if (raw.has_name_iid)
        event_.name = find(sequence.names, raw.name_iid);
    else if (const auto names = raw.names.of(lists.names); !names.empty())
        event_.name = keep(names.back());
    if (const auto iids = raw.category_iids.of(lists.category_iids); !iids.empty())
        event_.category = find(sequence.categories, iids.front());
    else if (const auto categories = raw.categories.of(lists.categories); !categories.empty())
        event_.category = keep(categories.front());
    if (!raw.has_args) return;
    // Its texts are parts of the message, so they never move.
    if (event_.letters.capacity() < raw.message.size()) event_.letters.reserve(raw.message.size());
    raw.eachAnnotation([&](std::string_view annotation) {
        if (event_.args.size() >= kMaxArgs) return;
        if (!addPlainArg(annotation, sequence)) addArg(annotation, sequence);
        // If several args have one name, the first counts. Equal names are the same text in texts_.
        const auto same = [&](const Arg& one) { return one.name.data() == event_.args.back().name.data(); };
        if (std::any_of(event_.args.begin(), event_.args.end() - 1, same)) event_.args.pop_back();
    });
}

std::string_view EventStream::keepLetters(std::string_view text) {
    text = text.substr(0, kLongestText);
    const std::size_t begin = event_.letters.size();
    event_.letters.insert(event_.letters.end(), text.begin(), text.end());
    return {event_.letters.data() + begin, text.size()};
}

/// Fast path for one value under a numbered name, which Bubblescope's writers mostly use. False for other annotations.
bool EventStream::addPlainArg(std::string_view message, const Sequence& sequence) {
    namespace annotation = fields::annotation;
    constexpr char kNameIidTag = annotation::kNameIid << 3U;
    constexpr char kIntTag = annotation::kInt << 3U;
    constexpr char kStringTag = annotation::kString << 3U | 2U;
    constexpr std::size_t kValueAt = 3;
    if (message.size() <= kValueAt || message[0] != kNameIidTag) return false;
    const auto byteAt = [message](std::size_t at) { return static_cast<unsigned char>(message[at]); };
    const unsigned name = byteAt(1);
    if (name >= 0x80U) return false; // a number with several bytes
    if (message[2] == kStringTag) {
        if (byteAt(kValueAt) >= 0x80U || message.size() - kValueAt - 1 != byteAt(kValueAt)) return false;
        event_.args.push_back({find(sequence.arg_names, name), keepLetters(message.substr(kValueAt + 1))});
        return true;
    }
    constexpr std::size_t kMostBytes = 9; // for a non-negative number
    if (message[2] != kIntTag || message.size() > kValueAt + kMostBytes) return false;
    std::uint64_t value = 0;
    for (std::size_t at = kValueAt; at < message.size(); ++at) {
        value |= static_cast<std::uint64_t>(byteAt(at) & 0x7fU) << (7 * (at - kValueAt));
        if ((byteAt(at) >= 0x80U) == (at + 1 == message.size()))
            return false; // it ends before the end of the message, or not at all
    }
    event_.args.push_back({find(sequence.arg_names, name), static_cast<std::int64_t>(value)});
    return true;
}

void EventStream::addArg(std::string_view message, const Sequence& sequence) {
    struct KeptTexts {
        EventStream& stream;
        const Sequence& sequence;

        std::string_view name(std::uint64_t number) const { return stream.find(sequence.arg_names, number); }
        std::string_view name(std::string_view text) const { return stream.keep(text); }
        std::string_view text(std::uint64_t number) const { return stream.find(sequence.arg_texts, number); }
        std::string_view text(std::string_view text) const { return stream.keepLetters(text); }
    };
    (void)readAnnotation(message, KeptTexts{*this, sequence}, event_.args.emplace_back(Arg{{}, std::int64_t{0}}));
}

/// A text for which Texts::isKnown() is true; an empty one if there is no room.
std::string_view EventStream::keep(std::string_view text) {
    text = text.substr(0, kLongestText);
    if (const auto known = texts_.find(text); known != texts_.end()) return *known;
    if (texts_.size() < kMaxTexts && memory_.take(kNode + text.size())) return *texts_.emplace(text).first;
    ++counts_.damaged;
    return "";
}

std::string_view EventStream::find(const Texts& texts, std::uint64_t number) {
    const std::string_view known = texts.find(number);
    if (!Texts::isKnown(known)) ++counts_.damaged;
    return known;
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

const Arg* StreamEvent::find(std::string_view arg) const {
    std::size_t at = find_hint;
    for (std::size_t looked = 0; looked < args.size(); ++looked, ++at) {
        if (at >= args.size()) at = 0;
        if (args[at].name != arg) continue;
        find_hint = at + 1;
        return &args[at];
    }
    return nullptr;
}

std::optional<std::int64_t> StreamEvent::integer(std::string_view arg) const {
    const Arg* const found = find(arg);
    if (found == nullptr) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(&found->value)) return *number;
    if (const auto* flag = std::get_if<bool>(&found->value)) return *flag ? 1 : 0;
    return std::nullopt;
}

std::optional<std::string_view> StreamEvent::text(std::string_view arg) const {
    const Arg* const found = find(arg);
    const auto* text = found != nullptr ? std::get_if<std::string_view>(&found->value) : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
}

} // namespace bubblescope::perfetto
