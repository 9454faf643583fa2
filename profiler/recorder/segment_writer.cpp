#include "profiler/recorder/segment_writer.h"

#include "core/base/text.h"
#include "core/formats/perfetto/native_events.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

namespace bubblescope::profiler {
namespace {

constexpr std::string_view kComputeTrack = "compute";
constexpr std::size_t kWaitTrack = 5;
constexpr std::size_t kCollectiveTrack = 6;
constexpr std::size_t kReplayTrack = 7;

std::string_view trackName(std::size_t track) {
    if (track == 0) return kComputeTrack;
    if (track == kWaitTrack) return perfetto::commTrackName(CommKind::Wait, Payload::Activation);
    if (track == kReplayTrack) return trace_names::kReplay;
    if (track == kCollectiveTrack) return perfetto::commTrackName(CommKind::Collective, Payload::Activation);
    const CommKind kind = track <= 2 ? CommKind::Send : CommKind::Receive;
    return perfetto::commTrackName(kind, track % 2 == 1 ? Payload::Activation : Payload::Gradient);
}

} // namespace

std::filesystem::path TraceSegmentWriter::fileName(Rank rank, int segment) {
    return segment == 0 ? fmt::format("rank{}.pftrace", rank.value)
                        : fmt::format("rank{}.{}.pftrace", rank.value, segment);
}

std::optional<SegmentName> segmentName(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    constexpr std::string_view kPrefix = "rank";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    SegmentName found;
    std::string_view rest = std::string_view(name).substr(kPrefix.size());
    const auto rank = takeNumber<int>(rest);
    if (!rank) return std::nullopt;
    found.rank = *rank;
    if (!rest.empty()) rest.remove_prefix(1);
    found.segment = takeNumber<int>(rest).value_or(0);
    if (TraceSegmentWriter::fileName(Rank{found.rank}, found.segment) != name) return std::nullopt;
    return found;
}

std::vector<std::filesystem::path> TraceSegmentWriter::filesOf(const std::filesystem::path& dir, Rank rank) {
    std::map<int, std::filesystem::path> found;
    std::error_code code;
    for (std::filesystem::directory_iterator at(dir, code), end; !code && at != end; at.increment(code)) {
        const std::optional<SegmentName> name = segmentName(at->path());
        if (name && name->rank == rank.value) found[name->segment] = at->path();
    }
    std::vector<std::filesystem::path> files;
    for (auto& [segment, path] : found)
        files.push_back(std::move(path));
    return files;
}

TraceSegmentWriter::TraceSegmentWriter(perfetto::PacketFile file, const RunInfo& info, Rank rank,
                                       const ProcessInfo& process, perfetto::SegmentLimits limits)
    : file_(std::move(file)), rank_(rank), info_(info), process_(process), limits_(limits), alike_(info.dp * info.tp),
      ways_(info.placement, info.pp, info.vpp, 1), encoder_(static_cast<std::uint32_t>(rank.value) + 1) {}

Result<TraceSegmentWriter> TraceSegmentWriter::create(const std::filesystem::path& dir, const RunInfo& info, Rank rank,
                                                      ClockPair clocks, const ProcessInfo& process,
                                                      perfetto::SegmentLimits limits) {
    BUBBLESCOPE_ASSIGN(perfetto::PacketFile file, perfetto::PacketFile::create(dir / fileName(rank)));
    TraceSegmentWriter writer(std::move(file), info, rank, process, limits);
    writer.encodeBeginning(clocks);
    BUBBLESCOPE_TRY(writer.file_.append(writer.encoder_.take()));
    return writer;
}

/// Writes the beginning of each file: tracks, clocks, and the description of the run and its host.
void TraceSegmentWriter::encodeBeginning(ClockPair clocks) {
    const Rank in_pipeline{rank_.value / alike_};
    std::string name = fmt::format("rank {}", in_pipeline.value);
    if (info_.dp > 1) name += fmt::format(" of replica {}", rank_.value / info_.tp % info_.dp);
    if (info_.tp > 1) name += fmt::format(", tensor rank {}", rank_.value % info_.tp);
    encoder_.process(processUuid(), rank_.value + 1, name, rank_.value);
    for (std::size_t track = 0; track < (info_.tp > 1 ? kReplayTrack : kCollectiveTrack); ++track)
        openLane(track);
    encoder_.clockSnapshot(clocks.monotonic, clocks.realtime);
    const std::string placement = placementName(info_.placement);
    std::vector<perfetto::Arg> args = perfetto::runArgs(info_, placement, in_pipeline);
    args.push_back({"host", std::string_view(process_.host)});
    args.push_back({"clock", std::string_view(process_.clock)});
    args.push_back({"pid", process_.pid});
    args.push_back({"pids", std::string_view(process_.pids)});
    if (!process_.device.empty()) args.push_back({"device", std::string_view(process_.device)});
    if (segment_ > 0) args.push_back({"segment", std::int64_t{segment_}});
    encoder_.instant(processUuid(), clocks.monotonic, trace_names::kRun, trace_names::kRunEvent, args);
}

Status TraceSegmentWriter::writeOut() {
    const Status written = file_.append(encoder_.bytes());
    encoder_.clear();
    BUBBLESCOPE_TRY(written);
    return limits_.segment_bytes > 0 && file_.length() >= limits_.segment_bytes ? beginSegment() : Status();
}

Status TraceSegmentWriter::beginSegment() {
    const std::filesystem::path dir = file_.path().parent_path();
    BUBBLESCOPE_ASSIGN(file_, perfetto::PacketFile::create(dir / fileName(rank_, segment_ + 1)));
    ++segment_;
    encoder_ = perfetto::Encoder(static_cast<std::uint32_t>(rank_.value) + 1);
    for (std::vector<Lane>& lanes : lanes_)
        lanes.clear();
    rows_.clear();
    lanes_opened_ = 0;
    encodeBeginning(readClocks());
    BUBBLESCOPE_TRY(file_.append(encoder_.take()));
    // It is harmless if the file does not exist or cannot be removed.
    std::error_code ignored;
    if (limits_.segments > 0 && segment_ >= limits_.segments)
        std::filesystem::remove(dir / fileName(rank_, segment_ - limits_.segments), ignored);
    return {};
}

Status TraceSegmentWriter::append(std::vector<SliceRecord>& batch) {
    // Transfers are recorded when they are used, possibly not in the order in which they happened.
    const auto earlier = [](const SliceRecord& a, const SliceRecord& b) {
        return std::pair(a.start, a.end) < std::pair(b.start, b.end);
    };
    if (!std::ranges::is_sorted(batch, earlier)) std::stable_sort(batch.begin(), batch.end(), earlier);
    for (const SliceRecord& record : batch) {
        encode(record);
        // A batch of a rank that was delayed may exceed the size limit of a file.
        const auto waiting = static_cast<std::int64_t>(encoder_.bytes().size());
        if (limits_.segment_bytes > 0 && file_.length() + waiting >= limits_.segment_bytes) BUBBLESCOPE_TRY(writeOut());
    }
    return encoder_.bytes().empty() ? Status() : writeOut();
}

Status TraceSegmentWriter::append(std::span<const DeviceSlice> slices) {
    for (const DeviceSlice& slice : slices) {
        encode(slice);
        const auto waiting = static_cast<std::int64_t>(encoder_.bytes().size());
        if (limits_.segment_bytes > 0 && file_.length() + waiting >= limits_.segment_bytes) BUBBLESCOPE_TRY(writeOut());
    }
    return encoder_.bytes().empty() ? Status() : writeOut();
}

Status TraceSegmentWriter::append(const Ping& ping) {
    const std::array<perfetto::Arg, 6> args{{{"asker", std::int64_t{ping.asker}},
                                             {"replier", std::int64_t{ping.replier}},
                                             {"t0_ns", ping.t0.count()},
                                             {"t1_ns", ping.t1.count()},
                                             {"t2_ns", ping.t2.count()},
                                             {"t3_ns", ping.t3.count()}}};
    encoder_.instant(processUuid(), ping.t0, trace_names::kClock, trace_names::kPing, args);
    return writeOut();
}

Status TraceSegmentWriter::append(ClockPair clocks) {
    encoder_.clockSnapshot(clocks.monotonic, clocks.realtime);
    return writeOut();
}

Status TraceSegmentWriter::appendLost(std::int64_t records) {
    const std::array<perfetto::Arg, 1> args{{{"records", records}}};
    encoder_.instant(processUuid(), readClocks().monotonic, trace_names::kRun, trace_names::kLostEvent, args);
    return writeOut();
}

Status TraceSegmentWriter::appendEnd(std::int64_t dropped, std::string_view failure) {
    std::vector<perfetto::Arg> args{{"records", records_}, {"dropped", dropped}};
    if (!failure.empty()) args.push_back({trace_names::kFailure, failure});
    encoder_.instant(processUuid(), readClocks().monotonic, trace_names::kRun, trace_names::kEndEvent, args);
    return file_.append(encoder_.take());
}

Status TraceSegmentWriter::append(std::vector<CheckRecord>& checks, std::vector<DigestRecord>& digests) {
    std::ranges::stable_sort(checks, {}, [](const CheckRecord& check) { return std::pair(check.start, check.end); });
    std::ranges::stable_sort(digests, {}, &DigestRecord::time);
    for (const CheckRecord& check : checks)
        perfetto::writeCheck(encoder_, laneFor(kReplayTrack, check.start, check.end), check, stageOf(check.op));
    if (!digests.empty() && lanes_[kReplayTrack].empty()) openLane(kReplayTrack);
    for (const DigestRecord& digest : digests)
        perfetto::writeDigest(encoder_, lanes_[kReplayTrack].front().uuid, digest, stageOf(digest.op));
    return writeOut();
}

Stage TraceSegmentWriter::stageOf(const Op& op) const {
    return bubblescope::stageOf(info_.placement, info_.pp, Rank{rank_.value / alike_}, op.chunk);
}

std::size_t TraceSegmentWriter::trackOf(const SliceRecord& record) {
    const std::size_t gradient = record.payload == Payload::Gradient ? 1 : 0;
    switch (record.category) {
    case SliceRecord::Category::Op: return 0;
    case SliceRecord::Category::Send: return 1 + gradient;
    case SliceRecord::Category::Receive: return 3 + gradient;
    case SliceRecord::Category::Wait: return kWaitTrack;
    case SliceRecord::Category::Collective: return kCollectiveTrack;
    case SliceRecord::Category::Check:
    case SliceRecord::Category::Digest: return kReplayTrack;
    }
    return kWaitTrack;
}

std::uint64_t TraceSegmentWriter::processUuid() const {
    // Unique over the files of a run, leaving low bits for the rank's tracks.
    return (static_cast<std::uint64_t>(rank_.value) + 1) << 32;
}

std::uint64_t TraceSegmentWriter::openLane(std::size_t track) {
    constexpr std::int32_t kLanesOfOneTrack = 1000; // keeps the lanes of one track together
    std::vector<Lane>& lanes = lanes_[track];
    const std::uint64_t uuid = processUuid() + ++lanes_opened_;
    const std::string name =
        lanes.empty() ? std::string(trackName(track)) : fmt::format("{} ({})", trackName(track), lanes.size() + 1);
    const std::int32_t order = static_cast<std::int32_t>(track) * kLanesOfOneTrack;
    encoder_.track(uuid, processUuid(), name, order + static_cast<std::int32_t>(lanes.size()));
    lanes.push_back({uuid, TimeNs{std::numeric_limits<std::int64_t>::min()}});
    return uuid;
}

std::uint64_t TraceSegmentWriter::laneFor(std::size_t track, TimeNs start, TimeNs end) {
    std::vector<Lane>& lanes = lanes_[track];
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& l) { return l.free_from <= start; });
    if (lane == lanes.end()) {
        openLane(track);
        lane = std::prev(lanes.end());
    }
    lane->free_from = end;
    return lane->uuid;
}

bool TraceSegmentWriter::Row::take(TimeNs start, TimeNs end) {
    constexpr std::size_t kKept = 1 << 16;
    if (start < free_from) return false;
    if (start < last_end) {
        // Readers order begins and ends at the same time by their position in the file, so late slices must not touch
        // others.
        const auto after = taken.lower_bound(start);
        if (after != taken.end() && after->first <= end) return false;
        if (after != taken.begin() && std::prev(after)->second >= start) return false;
    }
    last_end = std::max(last_end, end);
    const auto [place, is_new] = taken.try_emplace(start, end);
    if (!is_new) place->second = end; // after an empty slice
    if (taken.size() > kKept) {
        free_from = taken.begin()->second;
        taken.erase(taken.begin());
    }
    return true;
}

std::uint64_t TraceSegmentWriter::rowFor(const DeviceSlice& slice) {
    constexpr std::int32_t kBelowOps = 100'000;
    constexpr std::int32_t kCalls = 100'000; // below streams
    auto rows = rows_.find(slice.row);
    if (rows == rows_.end()) rows = rows_.try_emplace(std::string(slice.row)).first;
    std::vector<Row>& list = rows->second;
    const TimeNs end = std::max(slice.start, slice.end);
    const auto free = std::ranges::find_if(list, [&](Row& row) { return row.take(slice.start, end); });
    if (free != list.end()) return free->uuid;
    Row& row = list.emplace_back();
    row.uuid = processUuid() + ++lanes_opened_;
    const std::string name = list.size() == 1 ? rows->first : fmt::format("{} ({})", rows->first, list.size());
    const std::int32_t order =
        kBelowOps + (slice.on_device ? static_cast<std::int32_t>(slice.stream % kCalls) : kCalls);
    encoder_.track(row.uuid, processUuid(), name, order);
    [[maybe_unused]] const bool is_new = row.take(slice.start, end);
    return row.uuid;
}

void TraceSegmentWriter::encode(const DeviceSlice& slice) {
    const std::uint64_t row = rowFor(slice);
    const auto number = [](std::uint32_t value) { return std::int64_t{value}; };
    const auto shape = [](const std::array<std::int32_t, 3>& of) {
        return fmt::format("[{}, {}, {}]", of[0], of[1], of[2]);
    };
    constexpr std::size_t kMostArgs = 10;
    std::array<perfetto::Arg, kMostArgs> args;
    std::size_t count = 0;
    std::string op;
    std::string grid;
    std::string block;
    args[count++] = {"correlation", number(slice.correlation)};
    if (slice.op != nullptr) {
        for (const Op& one : slice.op->ops)
            op += (op.empty() ? "" : "+") + opName(one);
        args[count++] = {trace_names::kOfOp, std::string_view(op)};
        args[count++] = {"step", std::int64_t{slice.op->step}};
    }
    if (slice.on_device) {
        args[count++] = {"device", number(slice.device)};
        args[count++] = {"context", number(slice.context)};
        args[count++] = {"stream", number(slice.stream)};
        if (slice.graph != 0) args[count++] = {"graph id", number(slice.graph)};
        if (slice.bytes >= 0) args[count++] = {"bytes", slice.bytes};
        if (slice.grid[0] > 0) {
            grid = shape(slice.grid);
            block = shape(slice.block);
            args[count++] = {"grid", std::string_view(grid)};
            args[count++] = {"block", std::string_view(block)};
        }
    }
    encoder_.beginSlice(row, slice.start, slice.category, slice.name, std::span(args).first(count));
    encoder_.endSlice(row, std::max(slice.start, slice.end));
    ++records_;
}

void TraceSegmentWriter::encode(const SliceRecord& record) {
    const std::uint64_t track = laneFor(trackOf(record), record.start, record.end);
    if (record.category == SliceRecord::Category::Check)
        return perfetto::writeCheck(encoder_, track, record.asCheck(), record.stage);
    if (record.category == SliceRecord::Category::Digest)
        return perfetto::writeDigest(encoder_, track, record.asDigest(), record.stage);
    if (record.category == SliceRecord::Category::Op) {
        // Replicas, and ranks that share stages, run the same ops. Their transfers get distinct ids, as if each rank
        // had separate steps.
        const int step_of_all = record.step * alike_ + rank_.value % alike_;
        const TimelineOp op = record.asOp();
        encoder_.beginSlice(track, op.start, trace_names::kOp, opName(op.op),
                            perfetto::opArgs(op.op, record.opDetails(), record.stage, record.step),
                            perfetto::opFlowIds(op.op, record.stage, ways_, step_of_all));
    } else {
        const CommSpan span = record.asComm();
        encoder_.beginSlice(track, span.start, perfetto::commCategory(span.kind), perfetto::commName(span),
                            perfetto::commArgs(span, record.step));
    }
    encoder_.endSlice(track, record.end);
    ++records_;
}

} // namespace bubblescope::profiler
