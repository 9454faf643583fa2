#include "core/formats/perfetto/reader.h"

#include "core/base/core_count.h"
#include "core/base/parallel.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/legacy_event.h"
#include "core/formats/perfetto/packed_packets.h"
#include "core/formats/perfetto/packet_decoder.h"
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

/// Puts the events of a whole file into a trace.
class Reader {
public:
    using Decoder = PacketDecoder<Reader, SequenceState>;
    using Event = NamedEvent<StringId>;

    Reader(const FileBytes& file, const std::string& where, TraceBuilder& builder, DiagnosticLog& log)
        : file_(file), args_in_file_{file.owner(), file.text()}, where_(where), builder_(builder), log_(log),
          tracks_(builder), render_stages_(builder), pairing_(builder) {
        if (file.isLargeInMemory()) packer_.emplace();
    }

    Status read(LoadProgress& progress);

    // For the decoder:
    static SequenceState* addSequence(Decoder::Sequences& all, std::uint32_t number) { return &all[number]; }
    void clear(SequenceState& state, std::uint32_t number);
    StringId keep(std::string_view text) { return builder_.intern(text); }
    [[nodiscard]] std::string_view textOf(StringId text) const { return builder_.text(text); }
    void setText(std::uint32_t kind, std::uint64_t number, std::string_view text, SequenceState& state);
    void onPacked(std::string_view bytes);
    static void onClocks(const ClockReading&) {}
    void onExtras(const PacketExtras& extras, std::uint32_t number, SequenceState& state);
    void onRenderStage(std::string_view bytes, std::uint32_t number, TimeNs time, const SequenceState& state) {
        render_stages_.addEvent(bytes, number, time, state);
    }
    void onEvent(const Event& event, SequenceState& state);
    void onLoss(PacketLoss loss);

private:
    static constexpr std::size_t kProbedFraction = 32;
    static constexpr std::size_t kReleased = std::size_t{16} << 20;

    [[nodiscard]] Sentence here() const { return say("{}, byte {}", where_, offset_); }
    [[nodiscard]] bool readRuns(LoadProgress& progress);
    [[nodiscard]] bool take(const PacketBatch& batch, LoadProgress& progress);
    void reportEnd(PacketBatch::End end);
    [[nodiscard]] bool resume();
    [[nodiscard]] bool legacyEvent(const Event& event, TrackId track, ArgSetId args);
    void nameLegacyRows();
    [[nodiscard]] ArgSetId argsOf(const TrackEvent& event, SequenceState& state);
    [[nodiscard]] std::uint64_t keptOffset(const TrackEvent& raw);
    const std::vector<StoredArg>& storedArgs(const TrackEvent& event, const SequenceState& state);
    void expectAll();
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
    Decoder decoder_{*this};
    RenderStages render_stages_;
    bool inside_packed_ = false;
    std::size_t unpacked_bytes_ = 0; ///< bytes of all compressed packets, unpacked
    SlicePairing pairing_;
    std::map<std::tuple<TrackId, StringId, StringId>, TrackId> legacy_rows_; ///< by thread, category and name
    std::vector<StoredArg> args_; ///< the current event's args, if they do not stay in the file
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
};

/// Takes the packets of one batch; false if the job is stopped.
bool Reader::take(const PacketBatch& batch, LoadProgress& progress) {
    for (const Packet& next : batch.packets) {
        offset_ = next.offset;
        if (!progress.reached(offset_, file_.expectedSize())) return false;
        decoder_.use(next, batch);
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
/// copying would need 50 % more memory, while unused capacity costs nothing.
void Reader::expectAll() {
    constexpr std::size_t kMore = 8; // an eighth
    expected_ = true;
    const auto rest = [](std::size_t count) { return count * (kProbedFraction - 1) + count * kProbedFraction / kMore; };
    builder_.expectSlices(rest(builder_.sliceCount()));
    builder_.expectFlows(rest(builder_.flowCount()));
}

void Reader::onLoss(PacketLoss loss) {
    switch (loss) {
    case PacketLoss::Damaged: return log_.add("bad-packet", here(), say("skipped packets that cannot be decoded"));
    case PacketLoss::Time: return log_.add("bad-time", here(), say("skipped events without a usable time"));
    case PacketLoss::Clock:
        return log_.add("unrelated-clock", here(),
                        say("skipped events on a clock that cannot be converted to the trace's clock"));
    case PacketLoss::Names:
        return log_.add("lost-names", here(), say("skipped events whose names were in lost packets"));
    case PacketLoss::Text:
        return log_.add("unknown-name", here(), say("events refer to strings that are missing from the file"));
    case PacketLoss::ManyCategories:
        return log_.add("many-categories", here(), say("there are too many event categories; some are not shown"));
    }
}

void Reader::reportEnd(PacketBatch::End end) {
    switch (end) {
    case PacketBatch::End::Whole: break;
    case PacketBatch::End::NoPacket:
        log_.add("corrupt", here(), say("expected a packet but found other data; skipped the rest"));
        break;
    case PacketBatch::End::BadLength:
        log_.add("corrupt", here(), say("unreadable packet length; skipped the rest"));
        break;
    case PacketBatch::End::Cut:
        log_.add("truncated", here(),
                 say("the file ends inside a packet, as after a crash; everything before that packet was read"));
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
    log_.add("corrupt", here(), say("skipped corrupt bytes between packets"));
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
    if (decoder_.packets() == 0) {
        return inputError(fmt::format("{}, byte {}", where_, offset_), "no complete Perfetto packet in the file",
                          "the file is corrupt or was truncated before its first flush");
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
void Reader::onPacked(std::string_view bytes) {
    const auto unpacked = inside_packed_ ? std::nullopt : inflatePackets(bytes);
    if (!unpacked) return onLoss(PacketLoss::Damaged);
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
        onLoss(PacketLoss::Damaged);
    }
    inside_packed_ = true;
    for (const Packet& next : inner.packets)
        decoder_.use(next, inner);
    inside_packed_ = false;
}

void Reader::clear(SequenceState& state, std::uint32_t number) {
    state = SequenceState{};
    render_stages_.clear(number);
}

void Reader::setText(std::uint32_t kind, std::uint64_t number, std::string_view text, SequenceState& state) {
    switch (kind) {
    case fields::interned::kCategories: return state.categories.set(number, builder_.intern(text));
    case fields::interned::kNames: return state.names.set(number, builder_.intern(text));
    case fields::interned::kArgNames: return state.setArgName(number, text);
    default: return state.setArgText(number, text);
    }
}

void Reader::onExtras(const PacketExtras& extras, std::uint32_t number, SequenceState& state) {
    constexpr std::uint64_t kOfSequence = 0x7365710000000000; // uuids for tracks that have none
    if (extras.descriptor) tracks_.addDescriptor(*extras.descriptor);
    if (extras.process) tracks_.addProcess(kOfSequence | number, *extras.process);
    if (extras.thread) {
        tracks_.addThread(kOfSequence | number, *extras.thread);
        if (state.default_track == 0) state.default_track = kOfSequence | number;
    }
    if (extras.other_data) log_.add("unknown-packet", here(), say("skipped packets of unsupported kinds"));
    if (extras.interned) render_stages_.addInterned(*extras.interned, number);
    if (extras.extract) takeExtract(*extras.extract);
    if (extras.source_files) takeSourceFiles(*extras.source_files);
}

void Reader::onEvent(const Event& event, SequenceState& state) {
    const TrackEvent& raw = event.raw;
    const ArgSetId args = argsOf(raw, state);
    switch (raw.type) {
    case fields::event::kTypeBegin:
    case fields::event::kTypeEnd: {
        const bool is_end = raw.type == fields::event::kTypeEnd;
        pairing_.add({tracks_.trackFor(event.track), is_end, event.time, event.name, event.category, args});
        if (is_end) break;
        for (const std::uint64_t flow : raw.flows.of(event.lists.flows))
            pairing_.addFlowToLast(flow);
        break;
    }
    case fields::event::kTypeInstant:
        // In an extract or a conversion, they were applied when it was written.
        if (builder_.text(event.category) == kCaptureCategory && extracts_.empty() && !sources_) {
            if (builder_.text(event.name) == kCaptureBegins) putOnWallClock(storedArgs(raw, state));
            if (builder_.text(event.name) == kCaptureStates) takeStatedRank(storedArgs(raw, state));
        }
        builder_.addInstant({tracks_.trackFor(event.track), event.time, event.name, event.category, args});
        break;
    case fields::event::kTypeCounter:
        if (raw.has_counter) counters_.push_back({event.track, event.time, raw.counter});
        break;
    default:
        if (raw.legacy.empty() || !legacyEvent(event, tracks_.trackFor(event.track), args))
            log_.add("unknown-event", here(), say("skipped track events of unknown type"));
    }
}

/// An event in Chrome's JSON form; false if its kind is not shown.
bool Reader::legacyEvent(const Event& event, TrackId track, ArgSetId args) {
    const LegacyEvent legacy = LegacyEvent::decoded(event.raw.legacy);
    switch (legacy.phase) {
    case 'X':
        if (!isWithinReach(legacy.duration) || legacy.duration < TimeNs{0})
            log_.add("bad-duration", here(), say("events with an invalid duration; shown with duration 0"));
        (void)builder_.addSlice({track, event.time, isWithinReach(legacy.duration) ? legacy.duration : TimeNs{0},
                                 event.name, event.category, args});
        return true;
    case 'B':
    case 'E': pairing_.add({track, legacy.phase == 'E', event.time, event.name, event.category, args}); return true;
    case 'i':
    case 'I':
    case 'R': builder_.addInstant({track, event.time, event.name, event.category, args}); return true;
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
        pairing_.addAsync({row->second, is_end, event.time, event.name, event.category, args}, legacy.id);
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

/// Args stay in the file if possible and are validated now: an event with unreadable args is rejected.
ArgSetId Reader::argsOf(const TrackEvent& raw, SequenceState& state) {
    if (!raw.has_args) return 0;
    const bool all_known = raw.plain_args && (raw.arg_names & ~state.argTexts().knownNames()) == 0;
    if (!all_known) {
        AnnotationReader reader(state.argTexts());
        raw.eachAnnotation([&](std::string_view annotation) {
            (void)reader.read(annotation);
            if (reader.lost()) onLoss(PacketLoss::Text);
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
    raw.eachAnnotation([&](std::string_view annotation) { args_.push_back(builder_.stored(reader.read(annotation))); });
    return args_;
}

/// Recorded jobs have one file per process, and hosts only share the wall clock.
void Reader::putOnWallClock(const std::vector<StoredArg>& args) {
    for (const StoredArg& arg : args) {
        if (arg.type == StoredArg::Type::Int && builder_.text(arg.name) == kCaptureOffset)
            builder_.setFileOffset(builder_.currentFile(), TimeNs{arg.number});
    }
}

/// If the launcher did not set the rank of a recorded process, its framework may report it.
void Reader::takeStatedRank(const std::vector<StoredArg>& args) {
    std::optional<std::int32_t>& rank = builder_.file(builder_.currentFile()).rank;
    for (const StoredArg& arg : args) {
        if (rank || arg.type != StoredArg::Type::Text || builder_.text(arg.name) != "rank") continue;
        rank = statedRank(builder_.text(static_cast<StringId>(arg.number)));
    }
}

/// Bubblescope writes extracts before all other packets; later ones were appended by another program.
void Reader::takeExtract(std::string_view bytes) {
    if (!extracts_are_sound_.ok() || static_cast<std::int64_t>(extracts_.size()) != decoder_.packets()) return;
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
