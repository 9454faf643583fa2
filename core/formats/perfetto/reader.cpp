#include "core/formats/perfetto/reader.h"

#include "core/base/core_count.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/perfetto/clock_table.h"
#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/legacy_event.h"
#include "core/formats/perfetto/packed_packets.h"
#include "core/formats/perfetto/packet.h"
#include "core/formats/perfetto/render_stages.h"
#include "core/formats/perfetto/sequence_state.h"
#include "core/formats/perfetto/track_table.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/source/file_extract.h"
#include "core/formats/source/packing.h"
#include "core/formats/source/slice_pairing.h"
#include "core/formats/source/source_files.h"

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::perfetto {
namespace {

/// A TrackEvent with its texts resolved.
struct Event {
    StringId name = 0;
    StringId category = 0;
    ArgSetId args = 0;
};

StoredArg stored(const ArgView& arg, TraceBuilder& builder) {
    StoredArg out;
    out.name = builder.intern(arg.name);
    if (const auto* const whole = std::get_if<std::int64_t>(&arg.value)) out.setInt(*whole);
    if (const auto* const real = std::get_if<double>(&arg.value)) out.setReal(*real);
    if (const auto* const flag = std::get_if<bool>(&arg.value)) out.setBool(*flag);
    if (const auto* const text = std::get_if<std::string_view>(&arg.value)) out.setText(builder.intern(*text));
    return out;
}

class Reader {
public:
    Reader(const FileBytes& file, const std::string& where, TraceBuilder& builder, DiagnosticLog& log)
        : file_(file), args_in_file_{file.owner(), file.text()}, where_(where), builder_(builder), log_(log),
          tracks_(builder), render_stages_(builder), pairing_(builder) {
        if (file.isLargeInMemory()) packer_.emplace();
    }

    Status read(LoadProgress& progress);

private:
    static constexpr std::size_t kProbedFraction = 32;
    static constexpr std::size_t kReleased = std::size_t{16} << 20;

    [[nodiscard]] Sentence here() const { return say("{}, byte {}", where_, offset_); }
    [[nodiscard]] bool readRuns(LoadProgress& progress);
    [[nodiscard]] bool take(const PacketBatch& batch, LoadProgress& progress);
    void addBadPacket();
    void reportEnd(PacketBatch::End end);
    [[nodiscard]] bool resume();
    void packet(const Packet& packet, const PacketBatch& batch);
    void packed(std::string_view bytes);
    /// Converts a packet's time to the trace clock. If it cannot, returns false and counts what is lost.
    [[nodiscard]] bool putOnClock(const Packet& packet, const SequenceState& state, bool counts, TimeNs& time);
    SequenceState& stateOf(std::uint32_t sequence);
    void applyExtras(const Packet& packet, const PacketExtras& extras, SequenceState& state);
    void event(const TrackEvent& event, TimeNs time, const EventLists& lists, SequenceState& state);
    [[nodiscard]] bool legacyEvent(const TrackEvent& raw, const Event& event, std::uint64_t uuid, TimeNs time);
    void nameLegacyRows();
    const Event& resolved(const TrackEvent& event, const EventLists& lists, SequenceState& state);
    [[nodiscard]] ArgSetId argsOf(const TrackEvent& event, SequenceState& state);
    [[nodiscard]] std::uint64_t keptOffset(const TrackEvent& raw);
    const std::vector<StoredArg>& storedArgs(const TrackEvent& event, const SequenceState& state);
    void expectAll();
    StringId known(StringId text);
    void addCategory(StringId category);
    void addCounters();
    void putOnWallClock(const std::vector<StoredArg>& args);
    void takeStatedRank(const std::vector<StoredArg>& args);
    void takeSourceFiles(std::string_view json);
    void takeExtract(std::string_view bytes);
    [[nodiscard]] Status assignExtracts(std::uint32_t first);

    struct CounterPoint {
        std::uint64_t track;
        TimeNs time;
        double value;
    };

    const FileBytes& file_;
    ArgSource args_in_file_;          ///< for the sources of all sequences, if their args stay there
    std::optional<ArgPacker> packer_; ///< for events that would otherwise be kept in memory for their args
    std::array<std::string, 3> kept_; ///< one packet, while it is written
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    TrackTable tracks_;
    ClockTable clocks_;
    RenderStages render_stages_;
    bool inside_packed_ = false;
    std::size_t unpacked_bytes_ = 0; ///< bytes of all compressed packets, unpacked
    SlicePairing pairing_;
    std::map<std::tuple<TrackId, StringId, StringId>, TrackId> legacy_rows_; ///< by thread, category and name
    std::unordered_map<std::uint32_t, SequenceState> sequences_;
    std::pair<std::uint32_t, SequenceState*> last_sequence_{0, nullptr}; ///< successive packets often share a sequence
    Event event_;                                                        ///< the current event
    std::vector<StoredArg> args_; ///< the current event's args, if they do not stay in the file
    std::string categories_;      ///< categories of the current event, if there are several
    bool joined_ = false;
    std::vector<CounterPoint> counters_;
    std::optional<SourceFiles> sources_;                       ///< present for a converted file
    std::size_t offset_ = 0;                                   ///< offset of the current packet
    std::size_t released_ = 0;                                 ///< bytes read, and returned to the system
    std::vector<std::shared_ptr<const FileExtract>> extracts_; ///< one per file, in order
    Status extracts_are_sound_;
    bool expected_ = false;                          ///< room for all slices was reserved
    bool ended_ = false;                             ///< there are no more packets
    std::size_t searched_ = 0;                       ///< no packets begin between the damage and this offset
    PacketBatch::End end_ = PacketBatch::End::Whole; ///< why there are no more packets
    std::int64_t packets_ = 0;
};

/// Takes the packets of one batch; false if the job is stopped.
bool Reader::take(const PacketBatch& batch, LoadProgress& progress) {
    for (const Packet& next : batch.packets) {
        offset_ = next.offset;
        if (!progress.reached(offset_, file_.expectedSize())) return false;
        packet(next, batch);
    }
    offset_ = batch.next;
    if (batch.end) {
        ended_ = true;
        end_ = *batch.end;
    }
    if (!expected_ && offset_ > file_.expectedSize() / kProbedFraction) expectAll();
    if (offset_ - released_ > kReleased) {
        file_.release(released_, offset_);
        released_ = offset_;
    }
    return true;
}

/// Reserves room for the slices and arrows of the whole file, extrapolated from its beginning: columns that grow by
/// copying would need half as much memory again, while unused room costs nothing.
void Reader::expectAll() {
    constexpr std::size_t kMore = 8; // an eighth
    expected_ = true;
    const auto rest = [](std::size_t count) { return count * (kProbedFraction - 1) + count * kProbedFraction / kMore; };
    builder_.expectSlices(rest(builder_.sliceCount()));
    builder_.expectFlows(rest(builder_.flowCount()));
}

void Reader::addBadPacket() {
    log_.add("bad-packet", here(), say("skipped packets that cannot be decoded"));
}

void Reader::reportEnd(PacketBatch::End end) {
    switch (end) {
    case PacketBatch::End::Whole: break;
    case PacketBatch::End::NoPacket:
        log_.add("corrupt", here(), say("expected a packet but found other data; skipped the rest"));
        break;
    case PacketBatch::End::BadLength:
        log_.add("corrupt", here(), say("unreadable length of a packet; the rest was skipped"));
        break;
    case PacketBatch::End::Cut:
        log_.add("truncated", here(),
                 say("the file ends inside a packet, as after a crash; everything before was read"));
    }
}

/// Continues after damage where packets begin again; false if none do so far.
bool Reader::resume() {
    constexpr std::size_t kSeenAgain = std::size_t{256} << 10; // searched again once more of the file is available
    const std::size_t size = file_.text().size();
    if (end_ == PacketBatch::End::Whole) return false;
    const auto next = findPackets(file_.text(), std::min(std::max(offset_ + 1, searched_), size));
    searched_ = size - std::min(size, kSeenAgain);
    if (!next) return false;
    log_.add("corrupt", here(), say("skipped damaged bytes between packets"));
    offset_ = *next;
    ended_ = false;
    return true;
}

/// Reads the packets available so far; false if the job is stopped.
bool Reader::readRuns(LoadProgress& progress) {
    constexpr std::size_t kMinThreadedBytes = std::size_t{1} << 20;
    bool stopped = false;
    const std::string_view bytes = file_.text();
    PacketRuns runs(bytes, offset_, file_.complete());
    const auto use = [&](const PacketBatch& batch) {
        stopped = !take(batch, progress);
        return !stopped;
    };
    const std::size_t threads = bytes.size() - offset_ > kMinThreadedBytes ? std::max<std::size_t>(2, coreCount()) : 1;
    if (threads == 1) {
        PacketBatch batch;
        for (std::size_t run = 0; runs.decode(run, batch) && use(batch); ++run) {
        }
    } else {
        std::vector<BatchMaker<PacketBatch>> makers;
        for (std::size_t first = 0; first < threads; ++first)
            makers.push_back([&runs, run = first, threads](PacketBatch& batch) mutable {
                return runs.decode(std::exchange(run, run + threads), batch);
            });
        prefetched<PacketBatch>(makers, use);
    }
    return !stopped;
}

/// A compressed file is read as it is unpacked, and read parts are released, so that only a few megabytes are in
/// memory.
Status Reader::read(LoadProgress& progress) {
    while (true) {
        const bool whole = file_.complete();
        if (!ended_ && !readRuns(progress)) return cancelledError();
        if (ended_ && resume()) continue;
        if (whole) break;
        file_.discard(ended_ ? std::max(offset_, searched_) : offset_);
        BUBBLESCOPE_TRY(file_.extend(file_.text().size() + 1));
    }
    reportEnd(end_);
    if (packets_ == 0) {
        return inputError(fmt::format("{}, byte {}", where_, offset_), "no complete Perfetto packet in the file",
                          "the file is damaged or was truncated before its first flush");
    }
    BUBBLESCOPE_TRY(extracts_are_sound_);
    tracks_.finish();
    nameLegacyRows();
    DiagnosticLog known; // an extract contains the problems of the original
    if (!pairing_.finish(extracts_.empty() ? log_ : known, where_, progress)) return cancelledError();
    addCounters();
    const std::uint32_t first = builder_.currentFile();
    if (sources_) {
        tracks_.restoreRows(*sources_);
        assignSourceFiles(*sources_, builder_);
    }
    BUBBLESCOPE_TRY(assignExtracts(first));
    if (packer_) packer_->finish();
    return {};
}

/// Reads packets that were compressed into one; these cannot contain compressed packets themselves.
void Reader::packed(std::string_view bytes) {
    const auto unpacked = inside_packed_ ? std::nullopt : inflatePackets(bytes);
    if (!unpacked) return addBadPacket();
    unpacked_bytes_ += unpacked->size();
    if (unpacked_bytes_ > unpackedLimit(file_.expectedSize())) {
        return log_.add("bad-packet", here(), say("skipped packets that are too large when decompressed"));
    }
    PacketBatch inner;
    try {
        for (FieldReader trace(*unpacked); trace.next();) {
            if (trace.tag() == fields::trace::kPacket)
                inner.add(offset_, trace.bytes());
            else
                trace.skip();
        }
    } catch (const protozero::exception&) {
        addBadPacket();
    }
    inside_packed_ = true;
    for (const Packet& next : inner.packets)
        packet(next, inner);
    inside_packed_ = false;
}

bool Reader::putOnClock(const Packet& packet, const SequenceState& state, bool counts, TimeNs& time) {
    if (!packet.has_timestamp) return true;
    std::uint32_t clock = fields::clock::kBoottime;
    if (packet.has_clock)
        clock = packet.clock;
    else if (const auto usual = state.defaultClock())
        clock = *usual;
    const bool known = clocks_.traceTime(packet.sequence, clock, packet.timestamp, time);
    if (known && !isWithinReach(time) && counts) {
        log_.add("bad-time", here(), say("skipped events without a usable time"));
        return false;
    }
    if (!known && counts) {
        log_.add("unrelated-clock", here(), say("skipped events on a clock without a snapshot to the trace's clock"));
    }
    return known;
}

SequenceState& Reader::stateOf(std::uint32_t sequence) {
    if (last_sequence_.second == nullptr || last_sequence_.first != sequence)
        last_sequence_ = {sequence, &sequences_[sequence]};
    return *last_sequence_.second;
}

void Reader::packet(const Packet& packet, const PacketBatch& batch) {
    if (packet.damaged) return addBadPacket();
    static const PacketExtras kNone;
    const PacketExtras& extras = packet.extras != Packet::kNone ? batch.extras[packet.extras] : kNone;
    const bool has_event = packet.event != Packet::kNone;
    try {
        if (extras.packed) packed(*extras.packed);
        SequenceState& state = stateOf(packet.sequence);
        if ((packet.flags & fields::packet::kFlagStateCleared) != 0) {
            state.clear();
            render_stages_.clear(packet.sequence);
        } else if (extras.dropped_before) {
            state.markLost();
        }
        if (packet.extras != Packet::kNone) applyExtras(packet, extras, state);
        if (packet.damaged_event) return addBadPacket();
        TimeNs time{0};
        const bool timed = putOnClock(packet, state, has_event || extras.render_stage, time);
        ++packets_;
        if (!timed) return;
        if (extras.render_stage) render_stages_.addEvent(*extras.render_stage, packet.sequence, time, state);
        if (!has_event) return;
        if ((packet.flags & fields::packet::kFlagNeedsState) != 0 && !state.usable()) {
            return log_.add("lost-names", here(), say("skipped events whose names were in lost packets"));
        }
        event(batch.events[packet.event], time, batch.lists, state);
    } catch (const protozero::exception&) {
        addBadPacket();
    }
}

void Reader::applyExtras(const Packet& packet, const PacketExtras& extras, SequenceState& state) {
    if (extras.interned) state.addInterned(*extras.interned, builder_);
    if (extras.defaults) state.setDefaults(*extras.defaults);
    if (extras.descriptor) tracks_.addDescriptor(*extras.descriptor);
    constexpr std::uint64_t kOfSequence = 0x7365710000000000; // uuids for tracks that have none
    if (extras.process) tracks_.addProcess(kOfSequence | packet.sequence, *extras.process);
    if (extras.thread) {
        tracks_.addThread(kOfSequence | packet.sequence, *extras.thread);
        if (state.defaultTrack() == 0) state.setDefaultTrack(kOfSequence | packet.sequence);
    }
    if (extras.other_data) log_.add("unknown-packet", here(), say("skipped packets of unsupported kinds"));
    if (extras.interned) render_stages_.addInterned(*extras.interned, packet.sequence);
    if (extras.clocks) clocks_.addSnapshot(*extras.clocks, packet.sequence);
    if (extras.extract) takeExtract(*extras.extract);
    if (extras.source_files) takeSourceFiles(*extras.source_files);
}

void Reader::event(const TrackEvent& raw, TimeNs time, const EventLists& lists, SequenceState& state) {
    const Event& event = resolved(raw, lists, state);
    const std::uint64_t uuid = raw.has_track ? raw.track : state.defaultTrack();
    switch (raw.type) {
    case fields::event::kTypeBegin:
    case fields::event::kTypeEnd: {
        const bool is_end = raw.type == fields::event::kTypeEnd;
        pairing_.add({tracks_.trackFor(uuid), is_end, time, event.name, event.category, event.args});
        if (is_end) break;
        for (const std::uint64_t flow : raw.flows.of(lists.flows))
            pairing_.addFlowToLast(flow);
        break;
    }
    case fields::event::kTypeInstant:
        // In an extract or a conversion, they were applied when it was written.
        if (builder_.text(event.category) == kCaptureCategory && extracts_.empty() && !sources_) {
            if (builder_.text(event.name) == kCaptureBegins) putOnWallClock(storedArgs(raw, state));
            if (builder_.text(event.name) == kCaptureStates) takeStatedRank(storedArgs(raw, state));
        }
        builder_.addInstant({tracks_.trackFor(uuid), time, event.name, event.category, event.args});
        break;
    case fields::event::kTypeCounter:
        if (raw.has_counter) counters_.push_back({uuid, time, raw.counter});
        break;
    default:
        if (raw.legacy.empty() || !legacyEvent(raw, event, uuid, time))
            log_.add("unknown-event", here(), say("skipped track events of unknown type"));
    }
}

/// An event in Chrome's JSON form; false if its kind is not shown.
bool Reader::legacyEvent(const TrackEvent& raw, const Event& event, std::uint64_t uuid, TimeNs time) {
    const LegacyEvent legacy = LegacyEvent::decoded(raw.legacy);
    const TrackId track = tracks_.trackFor(uuid);
    switch (legacy.phase) {
    case 'X':
        if (!isWithinReach(legacy.duration) || legacy.duration < TimeNs{0})
            log_.add("bad-duration", here(), say("events with an invalid duration; shown with duration 0"));
        (void)builder_.addSlice({track, time, isWithinReach(legacy.duration) ? legacy.duration : TimeNs{0}, event.name,
                                 event.category, event.args});
        return true;
    case 'B':
    case 'E': pairing_.add({track, legacy.phase == 'E', time, event.name, event.category, event.args}); return true;
    case 'i':
    case 'I':
    case 'R': builder_.addInstant({track, time, event.name, event.category, event.args}); return true;
    case 'b':
    case 'e':
    case 'S':
    case 'F': {
        const auto [row, is_new] = legacy_rows_.try_emplace({track, event.category, event.name}, kNoId);
        if (is_new) {
            row->second = builder_.addTrack(0, 0);
            builder_.track(row->second).may_overlap = true;
            builder_.track(row->second).thread_name = event.name;
        }
        const bool is_end = legacy.phase == 'e' || legacy.phase == 'F';
        pairing_.addAsync({row->second, is_end, time, event.name, event.category, event.args}, legacy.id);
        return true;
    }
    default: return false;
    }
}

/// Rows of asynchronous slices belong to the process of their thread.
void Reader::nameLegacyRows() {
    for (const auto& [key, row] : legacy_rows_) {
        const Track& thread = builder_.track(std::get<0>(key));
        builder_.track(row).pid = thread.pid;
        builder_.track(row).process_name = thread.process_name;
    }
}

StringId Reader::known(StringId text) {
    if (text == 0) log_.add("unknown-name", here(), say("events refer to strings missing from the file"));
    return text;
}

/// Joins the names of several categories into one, with a limit: an event may name thousands of long ones.
void Reader::addCategory(StringId category) {
    constexpr std::size_t kLongest = 256;
    if (category == 0) return;
    if (event_.category == 0) {
        event_.category = category;
        return;
    }
    if (!joined_) categories_ = builder_.text(event_.category);
    const std::string_view name = builder_.text(category);
    if (categories_.size() + name.size() >= kLongest)
        return log_.add("many-categories", here(), say("there are too many event categories; some are not shown"));
    categories_ += ',';
    categories_ += name;
    joined_ = true;
}

const Event& Reader::resolved(const TrackEvent& raw, const EventLists& lists, SequenceState& state) {
    Event& out = event_;
    out.name = out.category = 0;
    const std::uint64_t legacy_name =
        raw.legacy.empty() || raw.has_name_iid ? 0 : LegacyEvent::decoded(raw.legacy).name_iid;
    if (legacy_name != 0)
        out.name = known(state.name(legacy_name));
    else if (raw.has_name_iid)
        out.name = known(state.name(raw.name_iid));
    else if (const auto names = raw.names.of(lists.names); !names.empty())
        out.name = builder_.intern(names.back());
    for (const std::uint64_t iid : raw.category_iids.of(lists.category_iids))
        addCategory(known(state.category(iid)));
    for (const std::string_view category : raw.categories.of(lists.categories))
        addCategory(builder_.intern(category));
    if (std::exchange(joined_, false)) out.category = builder_.intern(categories_);
    out.args = argsOf(raw, state);
    return out;
}

/// Args stay in the file if possible and are validated now: an event with unreadable args is rejected.
ArgSetId Reader::argsOf(const TrackEvent& raw, SequenceState& state) {
    if (!raw.has_args) return 0;
    const bool all_known = raw.plain_args && (raw.arg_names & ~state.argTexts().knownNames()) == 0;
    if (!all_known) {
        AnnotationReader reader(state.argTexts());
        raw.eachAnnotation([&](std::string_view annotation) {
            (void)reader.read(annotation);
            if (reader.lost()) (void)known(0);
        });
    }
    const auto source =
        inside_packed_ ? std::nullopt : state.sourceIn(builder_.args(), args_in_file_, packer_ ? &*packer_ : nullptr);
    return source ? ArgStore::inSource(*source, keptOffset(raw)) : builder_.args().add(storedArgs(raw, state));
}

/// The offset at which the event's args will be found: in the file, or in a separate packet.
std::uint64_t Reader::keptOffset(const TrackEvent& raw) {
    if (!packer_) return offset_;
    const auto field = [](std::uint32_t tag, std::string_view bytes, std::string& out) {
        protozero::pbf_writer(out).add_bytes(tag, bytes.data(), bytes.size());
    };
    std::string& event = kept_[0];
    std::string& packet = kept_[1];
    std::string& frame = kept_[2];
    for (std::string& level : kept_)
        level.clear();
    raw.eachAnnotation(
        [&](std::string_view annotation) { field(fields::event::kDebugAnnotations, annotation, event); });
    field(fields::packet::kTrackEvent, event, packet);
    field(fields::trace::kPacket, packet, frame);
    return packer_->add(frame);
}

const std::vector<StoredArg>& Reader::storedArgs(const TrackEvent& raw, const SequenceState& state) {
    args_.clear();
    AnnotationReader reader(state.argTexts());
    raw.eachAnnotation(
        [&](std::string_view annotation) { args_.push_back(stored(reader.read(annotation), builder_)); });
    return args_;
}

/// Recorded jobs have one file per process, and hosts only share the wall clock.
void Reader::putOnWallClock(const std::vector<StoredArg>& args) {
    for (const StoredArg& arg : args) {
        if (arg.type == StoredArg::Type::Int && builder_.text(arg.name) == kCaptureOffset)
            builder_.setFileOffset(builder_.currentFile(), TimeNs{arg.number});
    }
}

/// If no launcher gave a recorded process its rank, its framework may report it.
void Reader::takeStatedRank(const std::vector<StoredArg>& args) {
    std::optional<std::int32_t>& rank = builder_.file(builder_.currentFile()).rank;
    for (const StoredArg& arg : args) {
        if (rank || arg.type != StoredArg::Type::Text || builder_.text(arg.name) != "rank") continue;
        const auto stated = parseNumber<std::int32_t>(builder_.text(static_cast<StringId>(arg.number)));
        if (stated && *stated >= 0) rank = stated;
    }
}

/// Bubblescope writes extracts before all other packets; later ones were appended by another program.
void Reader::takeExtract(std::string_view bytes) {
    if (!extracts_are_sound_.ok() || static_cast<std::int64_t>(extracts_.size()) != packets_) return;
    Result<FileExtract> extract = FileExtract::decoded(bytes, where_);
    if (extract.ok())
        extracts_.push_back(std::make_shared<const FileExtract>(std::move(extract).value()));
    else
        extracts_are_sound_ = extract.error();
}

/// Bubblescope writes this packet before all events, like an extract.
void Reader::takeSourceFiles(std::string_view json) {
    if (builder_.trackCount() > 0 || sources_) return;
    sources_ = decodedSourceFiles(json, where_, log_);
}

/// The files from `first` on are the extracted ones.
Status Reader::assignExtracts(std::uint32_t first) {
    if (extracts_.empty()) return {};
    if (first + extracts_.size() != builder_.fileCount()) return damagedExtract(where_);
    for (std::uint32_t i = 0; i < extracts_.size(); ++i) {
        TraceFile& file = builder_.file(first + i);
        TraceFile original = extracts_[i]->file;
        original.path = file.path;
        file = std::move(original);
        file.extract = std::move(extracts_[i]);
    }
    return {};
}

void Reader::addCounters() {
    std::unordered_map<std::uint64_t, double> sums;
    for (const CounterPoint& point : counters_) {
        const TrackTable::CounterUnit unit = tracks_.counterUnitOf(point.track);
        double value = point.value * static_cast<double>(unit.multiplier);
        if (unit.adds_up) value = sums[point.track] += value;
        builder_.addCounter(tracks_.pidOf(point.track), tracks_.nameOf(point.track), point.time, value);
    }
}

} // namespace

Status readPerfetto(const FileBytes& file, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                    LoadProgress& progress) {
    return Reader(file, where, builder, log).read(progress);
}

} // namespace bubblescope::perfetto
