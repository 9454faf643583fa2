#include "core/formats/perfetto/write_timeline.h"

#include "core/formats/perfetto/check_events.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/spelling.h"
#include "core/formats/source/replacing_file.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::perfetto {
namespace {

/// The lanes of one name below one rank. A span goes to the first lane that is free at its start; spans
/// must come in order of their starts.
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

/// Writes one rank: its process and the tracks below it, opened when first used.
class RankWriter {
public:
    RankWriter(Encoder& encoder, Rank rank) : encoder_(encoder), rank_(rank) {
        encoder_.process(uuid(0), rank.value + 1, fmt::format("rank {}", rank.value), rank.value);
    }

    [[nodiscard]] std::uint64_t processUuid() const { return uuid(0); }

    void op(const StepTimeline& step, const TimelineOp& op) {
        const std::uint64_t track = lane("compute", 0, op.start, op.end);
        const Stage stage = step.stageOf(rank_, op.op.chunk);
        encoder_.beginSlice(track, op.start, trace_names::kOp, opName(op.op), opArgs(op, stage, step.index),
                            opFlowIds(op.op, stage, step.pp * step.vpp, routes(step.placement), step.index));
        encoder_.endSlice(track, op.end);
    }

    void comm(const StepTimeline& step, const CommSpan& span) {
        const std::int32_t order = static_cast<std::int32_t>(span.kind) * 2 + static_cast<std::int32_t>(span.payload);
        const std::uint64_t track = lane(commTrackName(span.kind, span.payload), 1 + order, span.start, span.end);
        encoder_.beginSlice(track, span.start, commCategory(span.kind), commName(span), commArgs(span, step.index));
        encoder_.endSlice(track, span.end);
    }

    void check(const CheckRecord& check, Stage stage) {
        constexpr std::int32_t kBehindTransfers = 100;
        writeCheck(encoder_, lane(trace_names::kReplay, kBehindTransfers, check.start, check.end), check, stage);
    }

private:
    [[nodiscard]] std::uint64_t uuid(std::uint64_t child) const {
        return ((static_cast<std::uint64_t>(rank_.value) + 1) << 32) | child;
    }

    std::uint64_t lane(std::string_view name, std::int32_t order, TimeNs start, TimeNs end) {
        return lanes_[std::string(name)].laneFor(start, end, [&](std::size_t index) {
            const std::uint64_t track = uuid(++tracks_);
            const std::string label = index == 0 ? std::string(name) : fmt::format("{} ({})", name, index + 1);
            // Room between the ranks of siblings keeps a lane's extra rows below it.
            encoder_.track(track, uuid(0), label, order * 1000 + static_cast<std::int32_t>(index));
            return track;
        });
    }

    Encoder& encoder_;
    Rank rank_;
    std::uint64_t tracks_ = 0;
    std::map<std::string, Lanes> lanes_;
};

template <class Span>
std::vector<Span> byStart(std::vector<Span> spans) {
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    return spans;
}

void writeStep(const StepTimeline& step, std::vector<RankWriter>& ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (r < step.ranks.size()) {
            for (const TimelineOp& op : byStart(step.ranks[r]))
                ranks[r].op(step, op);
        }
        if (r < step.comm.size()) {
            for (const CommSpan& span : byStart(step.comm[r]))
                ranks[r].comm(step, span);
        }
    }
}

} // namespace

Status writeTimeline(const std::filesystem::path& file, const RunInfo& info, std::span<const StepTimeline> steps,
                     std::span<const CheckRecord> checks) {
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
                    runArgs(info, only_rank));

    for (const StepTimeline& step : steps) {
        writeStep(step, ranks);
        out.write(encoder.take());
    }
    for (const CheckRecord& check : checks)
        ranks[check.rank.index()].check(check, stageOf(info.placement, info.pp, check.rank, check.op.chunk));
    out.write(encoder.take());
    return out.commit();
}

} // namespace bubblescope::perfetto
