#include "core/formats/perfetto/event_stream.h"

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
        if (end || behind - next > kLargestGuess || !canBePacket(body)) continue;
        torn_ = false;
        return true;
    }
    return false;
}

void EventStream::use(const PacketBatch& batch) {
    counts_.packets += static_cast<std::int64_t>(batch.packets.size());
    for (const Packet& packet : batch.packets)
        decoder_.use(packet, batch);
}

EventStream::Sequence* EventStream::addSequence(Decoder::Sequences& all, std::uint32_t number) {
    const bool fits = all.size() < kMaxSequences && memory_.take(sizeof(Sequence) + kNode);
    return fits ? &all[number] : nullptr;
}

void EventStream::clear(Sequence& sequence, std::uint32_t) {
    memory_.give(sequence.held());
    sequence = Sequence{};
}

/// Counts a text that does not fit.
void EventStream::setText(std::uint32_t kind, std::uint64_t number, std::string_view text, Sequence& sequence) {
    NumberTable<std::string_view>& texts = kind == fields::interned::kCategories ? sequence.categories
                                           : kind == fields::interned::kNames    ? sequence.names
                                           : kind == fields::interned::kArgNames ? sequence.arg_names
                                                                                 : sequence.arg_texts;
    const std::string_view kept = keep(text);
    const bool is_new = !texts.isKnown(texts.find(number));
    if (is_new && (texts.size() >= kMaxTexts || !memory_.take(texts.size() == 0 ? kList + kNode : kNode)))
        return onLoss(PacketLoss::Text);
    texts.set(number, kept);
}

void EventStream::onExtras(const PacketExtras& extras, std::uint32_t, const Sequence&) {
    if (!extras.descriptor) return;
    TrackDescriptor stated;
    stated.read(*extras.descriptor);
    const Track track{stated.parent, stated.process_name.empty() ? "" : keep(stated.process_name)};
    const auto known = tracks_.find(stated.uuid);
    if (known != tracks_.end())
        known->second = track;
    else if (tracks_.size() < kMaxTracks && memory_.take(kNode))
        tracks_.emplace(stated.uuid, track);
    else
        ++counts_.damaged;
}

void EventStream::onEvent(const Event& event, const Sequence& sequence) {
    switch (event.raw.type) {
    case fields::event::kTypeBegin: begin(event, sequence); break;
    case fields::event::kTypeEnd: end(event.track, event.time); break;
    case fields::event::kTypeInstant:
        fill(event, sequence);
        ++counts_.instants;
        hand(event_, true, event.track, event.time);
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

void EventStream::begin(const Event& event, const Sequence& sequence) {
    OpenSlices* const on_track = openOn(event.track);
    if (on_track == nullptr) return void(++counts_.damaged);
    OpenSlices& open = *on_track;
    if (open.depth >= kDeepest) return void(++counts_.unmatched);
    if (open.depth == open.slices.size()) {
        if (!memory_.take(sizeof(OpenSlice))) return void(++counts_.damaged);
        open.slices.emplace_back();
    }
    fill(event, sequence);
    if (!memory_.take(event_.bytes())) {
        event_.clearArgs();
        return void(++counts_.damaged);
    }
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

/// Fills event_.
void EventStream::fill(const Event& event, const Sequence& sequence) {
    event_.start = event.time;
    event_.name = event.name;
    event_.category = event.category;
    event_.clearArgs();
    if (!event.raw.has_args) return;
    // Its texts are parts of the message, so they never move.
    if (event_.letters.capacity() < event.raw.message.size()) event_.letters.reserve(event.raw.message.size());
    event.raw.eachAnnotation([&](std::string_view annotation) {
        if (event_.args.size() >= kMaxArgs) return;
        addArg(annotation, sequence);
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

/// A text for which NumberTable::isKnown() is true; an empty one if it does not fit.
std::string_view EventStream::keep(std::string_view text) {
    text = text.substr(0, kLongestText);
    if (const auto known = texts_.find(text); known != texts_.end()) return *known;
    if (texts_.size() < kMaxTexts && memory_.take(kNode + text.size())) return *texts_.emplace(text).first;
    ++counts_.damaged;
    return "";
}

std::string_view EventStream::find(const NumberTable<std::string_view>& texts, std::uint64_t number) {
    const std::string_view known = texts.find(number);
    if (!texts.isKnown(known)) ++counts_.damaged;
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
