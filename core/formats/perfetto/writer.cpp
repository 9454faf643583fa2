#include "core/formats/perfetto/writer.h"

#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/native_events.h"
#include "core/formats/perfetto/packed_packets.h"
#include "core/formats/perfetto/track_table.h"
#include "core/formats/source/replacing_file.h"
#include "core/formats/source/source_files.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::perfetto {
namespace {

/// The lanes with one name below one rank. A span goes to the first lane that is free at its start; spans must come in
/// order of start.
class Lanes {
public:
    struct Lane {
        std::uint64_t uuid;
        TimeNs free_from;
    };

    template <class Open>
    std::uint64_t laneFor(TimeNs start, TimeNs end, const Open& open) {
        for (Lane& lane : lanes_) {
            if (lane.free_from > start) continue;
            lane.free_from = end;
            return lane.uuid;
        }
        lanes_.push_back({open(lanes_.size()), end});
        return lanes_.back().uuid;
    }

private:
    std::vector<Lane> lanes_;
};

/// Writes one rank: its process and the tracks below it, created on first use.
class RankWriter {
public:
    RankWriter(Encoder& encoder, Rank rank) : encoder_(encoder), rank_(rank) {
        encoder_.process(uuid(0), rank.value + 1, fmt::format("rank {}", rank.value), rank.value);
    }

    [[nodiscard]] std::uint64_t processUuid() const { return uuid(0); }

    void op(const StepTimeline& step, const StageWays& ways, const TimelineOp& op) {
        const std::uint64_t track = lane(kCompute, "compute", 0, op.start, op.end);
        const Stage stage = step.stageOf(rank_, op.op.chunk);
        encoder_.beginSlice(track, op.start, trace_names::kOp, opName(op.op),
                            opArgs(op.op, step.detailsOf(op), stage, step.index),
                            opFlowIds(op.op, stage, ways, step.index));
        encoder_.endSlice(track, op.end);
    }

    void comm(const StepTimeline& step, const CommSpan& span) {
        const std::int32_t order = static_cast<std::int32_t>(span.kind) * 2 + static_cast<std::int32_t>(span.payload);
        const std::uint64_t track =
            lane(lanesOf(span), commTrackName(span.kind, span.payload), 1 + order, span.start, span.end);
        encoder_.beginSlice(track, span.start, commCategory(span.kind), commName(span), commArgs(span, step.index));
        encoder_.endSlice(track, span.end);
    }

    void check(const CheckRecord& check, Stage stage) {
        constexpr std::int32_t kBehindTransfers = 100;
        writeCheck(encoder_, lane(kReplay, trace_names::kReplay, kBehindTransfers, check.start, check.end), check,
                   stage);
    }

    void counter(const RankCounter& counter) {
        const std::uint64_t track = uuid(++tracks_);
        encoder_.counterTrack(track, uuid(0), counter.name);
        for (const auto& [time, value] : counter.values)
            encoder_.counter(track, time, value);
    }

private:
    static constexpr std::size_t kCompute = 0;
    static constexpr std::size_t kReplay = 1;
    static constexpr std::size_t kTransfers = 2; ///< sends and receives, by payload; waits; collectives
    static constexpr std::size_t kKinds = 8;     ///< number of lane names

    [[nodiscard]] static std::size_t lanesOf(const CommSpan& span) {
        switch (span.kind) {
        case CommKind::Send: return kTransfers + static_cast<std::size_t>(span.payload);
        case CommKind::Receive: return kTransfers + 2 + static_cast<std::size_t>(span.payload);
        case CommKind::Wait: break;
        case CommKind::Collective: return kTransfers + 5;
        }
        return kTransfers + 4;
    }

    [[nodiscard]] std::uint64_t uuid(std::uint64_t child) const {
        return ((static_cast<std::uint64_t>(rank_.value) + 1) << 32) | child;
    }

    std::uint64_t lane(std::size_t kind, std::string_view name, std::int32_t order, TimeNs start, TimeNs end) {
        return lanes_[kind].laneFor(start, end, [&](std::size_t index) {
            const std::uint64_t track = uuid(++tracks_);
            const std::string label = index == 0 ? std::string(name) : fmt::format("{} ({})", name, index + 1);
            // Gaps between the orders of siblings keep a lane's extra rows below it.
            encoder_.track(track, uuid(0), label, order * 1000 + static_cast<std::int32_t>(index));
            return track;
        });
    }

    Encoder& encoder_;
    Rank rank_;
    std::uint64_t tracks_ = 0;
    std::array<Lanes, kKinds> lanes_;
};

template <class Span>
std::vector<Span> byStart(std::vector<Span> spans) {
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    return spans;
}

constexpr std::size_t kMuch = std::size_t{1} << 20;

/// Writes out the encoded packets if there are many: a step may have millions of ops.
void drain(Encoder& encoder, ReplacingFile& out) {
    if (encoder.bytes().size() < kMuch) return;
    out.write(encoder.bytes());
    encoder.clear();
}

void writeStep(const StepTimeline& step, std::vector<RankWriter>& ranks, Encoder& encoder, ReplacingFile& out) {
    const StageWays ways = routes(step.placement) == 1 ? StageWays(step.placement, step.pp, step.vpp, 1)
                                                       : StageWays::of(executedOrder(step));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (r < step.ranks.size()) {
            for (const TimelineOp& op : byStart(step.ranks[r])) {
                ranks[r].op(step, ways, op);
                drain(encoder, out);
            }
        }
        if (r < step.comm.size()) {
            for (const CommSpan& span : byStart(step.comm[r])) {
                ranks[r].comm(step, span);
                drain(encoder, out);
            }
        }
    }
}

} // namespace

Status writeTimeline(const std::filesystem::path& file, const RunInfo& info, std::span<const StepTimeline> steps,
                     std::span<const CheckRecord> checks, std::span<const RankCounter> counters) {
    std::size_t rank_count = static_cast<std::size_t>(std::max(info.pp, 1));
    for (const StepTimeline& step : steps)
        rank_count = std::max(rank_count, step.ranks.size());
    for (const CheckRecord& check : checks)
        rank_count = std::max(rank_count, check.rank.index() + 1);

    ReplacingFile out(file);
    Encoder encoder(1);
    std::vector<RankWriter> ranks;
    ranks.reserve(rank_count);
    for (std::size_t r = 0; r < rank_count; ++r)
        ranks.emplace_back(encoder, Rank{r});

    const TimeNs begin = steps.empty() ? TimeNs{0} : steps.front().begin;
    encoder.clockSnapshot(begin);
    const std::optional<Rank> only_rank = rank_count == 1 ? std::optional(Rank{0}) : std::nullopt;
    encoder.instant(ranks.front().processUuid(), begin, trace_names::kRun, trace_names::kRunEvent,
                    runArgs(info, placementName(info.placement), only_rank));

    for (const StepTimeline& step : steps)
        writeStep(step, ranks, encoder, out);
    for (const CheckRecord& check : checks)
        ranks[check.rank.index()].check(check, stageOf(info.placement, info.pp, check.rank, check.op.chunk));
    for (const RankCounter& counter : counters)
        ranks[counter.rank.index()].counter(counter);
    out.write(encoder.take());
    return out.commit();
}

namespace {

/// The encoder's view of a set of args, in reusable memory.
class ArgViews {
public:
    /// Valid until the next call.
    [[nodiscard]] std::span<const perfetto::Arg> of(const Trace& trace, ArgSetId set) {
        places_.clear();
        text_.clear();
        trace.visitArgs(set, [this](const ArgView& arg) {
            add(arg);
            return true;
        });
        views_.clear();
        std::size_t at = 0;
        for (const Place& place : places_) {
            perfetto::Arg& view = views_.emplace_back();
            view.name = std::string_view(text_).substr(at, place.name);
            at += place.name;
            view.value = place.value;
            if (!std::holds_alternative<std::string_view>(place.value)) continue;
            view.value = std::string_view(text_).substr(at, place.text);
            at += place.text;
        }
        return views_;
    }

private:
    struct Place {
        std::size_t name; ///< offset in text_
        std::size_t text;
        decltype(perfetto::Arg::value) value;
    };

    void add(const ArgView& arg) {
        const auto* const text = std::get_if<std::string_view>(&arg.value);
        places_.push_back({arg.name.size(), text == nullptr ? 0 : text->size(), arg.value});
        text_ += arg.name;
        if (text != nullptr) text_ += *text;
    }

    std::vector<Place> places_;
    std::string text_;
    std::vector<perfetto::Arg> views_;
};

/// An arrow that touches a slice.
struct SliceFlow {
    SliceId slice;
    std::uint64_t id;
};

class Writer {
public:
    Writer(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log)
        : trace_(trace), log_(log), rows_(trace), encoder_(1), out_(file) {}

    Status write(std::span<const Diagnostic> problems, std::span<const std::string> extracts) {
        packed_ = !extracts.empty();
        for (const std::string& extract : extracts)
            writePacket(fields::packet::kExtract, extract);
        SourceFiles sources = sourceFilesOf(trace_, rows_, problems);
        for (TrackId id = 0; id < trace_.tracks().size(); ++id)
            if (!isWhole(id)) sources.rows.emplace(id, rowOf(trace_.tracks()[id]));
        writePacket(fields::packet::kSourceFiles, encoded(sources));
        encoder_.clockSnapshot(trace_.origin());
        collectFlows();
        for (const TrackId id : tracksByRank(trace_)) // viewers show processes in the order in which they appear
            (void)processOf(id);
        for (TrackId id = 0; id < trace_.tracks().size(); ++id) {
            describe(id);
            slices(id);
        }
        for (const Instant& instant : trace_.instants()) {
            encoder_.instant(uuidOf(instant.track), at(instant.time), trace_.text(instant.category),
                             trace_.text(instant.name), args_.of(trace_, instant.args));
            drain();
        }
        counters();
        flush();
        return out_.commit();
    }

private:
    void writePacket(std::uint32_t field, std::string_view bytes) {
        std::string packet;
        protozero::pbf_writer(packet).add_bytes(field, bytes.data(), bytes.size());
        std::string frame;
        protozero::pbf_writer(frame).add_bytes(fields::trace::kPacket, packet);
        out_.write(frame);
    }
    void flush() {
        const std::string packets = encoder_.take();
        if (packed_)
            writePacket(fields::packet::kCompressedPackets, deflatePackets(packets));
        else
            out_.write(packets);
    }
    void drain() {
        if (encoder_.bytes().size() >= kMuch) flush();
    }
    [[nodiscard]] TimeNs at(TimeNs time) const { return trace_.origin() + time; }
    [[nodiscard]] static std::uint64_t uuidOf(TrackId track) { return kFirstTrackUuid + track; }

    /// True if it was a thread and its numbers fit the format.
    [[nodiscard]] bool isThread(TrackId id) const {
        const Track& track = trace_.tracks()[id];
        const RowNumbers::Row& row = rows_.of(id);
        return track.spilled_from == kNoId && !track.may_overlap && row.tid == track.tid && row.tid > 0 &&
               row.tid <= INT32_MAX && row.pid >= 0 && row.pid <= INT32_MAX;
    }
    /// True if its description is complete.
    [[nodiscard]] bool isWhole(TrackId id) const {
        const Track& track = trace_.tracks()[id];
        return isThread(id) ||
               (track.spilled_from == kNoId && !track.may_overlap && track.tid == 0 && track.thread_name != 0);
    }
    void describe(TrackId id) {
        const Track& track = trace_.tracks()[id];
        const RowNumbers::Row& row = rows_.of(id);
        const std::uint64_t process = processOf(id);
        const auto order = static_cast<std::int32_t>(id);
        if (isThread(id)) {
            encoder_.thread(uuidOf(id), static_cast<std::int32_t>(row.pid), static_cast<std::int32_t>(row.tid),
                            trace_.text(track.thread_name), order);
        } else {
            encoder_.track(uuidOf(id), process, nameOf(track), order);
        }
    }

    [[nodiscard]] std::string nameOf(const Track& track) const {
        const std::string_view name = trace_.text(track.thread_name);
        const std::string own = name.empty() ? fmt::format("thread {}", track.tid) : std::string(name);
        return track.spilled_from == kNoId ? own : own + " (more)";
    }

    std::uint64_t processOf(TrackId id) {
        const Track& track = trace_.tracks()[id];
        return processFor(track.file, rows_.of(id).pid, trace_.text(track.process_name), track.pid);
    }
    /// `own_pid` is the number in the process's own file.
    std::uint64_t processFor(std::uint32_t file, std::int64_t pid, std::string_view name, std::int64_t own_pid) {
        const auto [known, is_new] = processes_.try_emplace(pid, std::uint64_t{2} << 32 | processes_.size());
        if (is_new) {
            const std::optional<std::int32_t> rank = trace_.files()[file].rank;
            encoder_.process(known->second, static_cast<std::int32_t>(pid),
                             name.empty() ? fmt::format("process {}", own_pid) : name,
                             static_cast<std::int32_t>(processes_.size()),
                             trace_.files().size() == 1 && !rank ? std::string{} : sourceLabel(file, rank));
        }
        return known->second;
    }

    // Ids of different files may denote different arrows.
    void collectFlows() {
        std::map<std::uint32_t, std::uint64_t> ids; // for the current id, by file
        std::uint64_t last = 0;
        std::uint64_t count = 0;
        for (const FlowPoint& point : trace_.flowPoints()) {
            if (point.id != std::exchange(last, point.id)) ids.clear();
            if (point.slice == kNoId) {
                log_.add("loose-flow", out_.target().string(), say("skipped arrow ends without a slice"));
                continue;
            }
            const std::uint32_t file = point.global ? UINT32_MAX : trace_.tracks()[point.track].file;
            const auto [known, is_new] = ids.try_emplace(file, count + 1);
            count += is_new ? 1 : 0;
            flows_.push_back({point.slice, known->second});
        }
        const auto before = [](const SliceFlow& a, const SliceFlow& b) { return a.slice < b.slice; };
        std::stable_sort(flows_.begin(), flows_.end(), before);
    }

    /// The flows of a slice. Slices must be requested in order, without gaps.
    [[nodiscard]] std::span<const std::uint64_t> flowsOf(SliceId slice) {
        ids_.clear();
        for (; next_flow_ < flows_.size() && flows_[next_flow_].slice <= slice; ++next_flow_)
            ids_.push_back(flows_[next_flow_].id);
        return ids_;
    }

    void slices(TrackId id) {
        const Track& track = trace_.tracks()[id];
        std::vector<TimeNs> open; // ends, innermost last
        const auto closeUpTo = [&](TimeNs time) {
            for (; !open.empty() && open.back() <= time; open.pop_back())
                encoder_.endSlice(uuidOf(id), at(open.back()));
        };
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            closeUpTo(trace_.start(slice));
            encoder_.beginSlice(uuidOf(id), at(trace_.start(slice)), trace_.category(slice), trace_.name(slice),
                                args_.of(trace_, trace_.sliceArgs()[slice]), flowsOf(slice));
            if (trace_.isOpen(slice)) {
                // It never ends.
            } else if (trace_.end(slice) == trace_.start(slice)) {
                encoder_.endSlice(uuidOf(id), at(trace_.end(slice)));
            } else {
                open.push_back(trace_.end(slice));
            }
            drain();
        }
        closeUpTo(TimeNs::max());
    }

    void counters() {
        std::uint64_t number = std::uint64_t{3} << 32;
        for (const CounterSeries& series : trace_.counters()) {
            const std::uint64_t process =
                processFor(series.file, rows_.process(series.file, series.pid), {}, series.pid);
            encoder_.counterTrack(++number, process, trace_.text(series.name));
            for (std::size_t i = 0; i < series.times.size(); ++i) {
                encoder_.counter(number, at(series.times[i]), series.values[i]);
                drain();
            }
        }
    }

    const Trace& trace_;
    DiagnosticLog& log_;
    RowNumbers rows_;
    Encoder encoder_;
    ReplacingFile out_;
    bool packed_ = false;
    std::map<std::int64_t, std::uint64_t> processes_;
    ArgViews args_;
    std::vector<SliceFlow> flows_; ///< by slice
    std::size_t next_flow_ = 0;    ///< first flow of the slices not written yet
    std::vector<std::uint64_t> ids_;
};

} // namespace

Status writeTrace(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log,
                  std::span<const Diagnostic> problems, std::span<const std::string> extracts) {
    return Writer(file, trace, log).write(problems, extracts);
}

} // namespace bubblescope::perfetto
