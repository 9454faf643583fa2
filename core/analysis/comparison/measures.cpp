#include "core/analysis/comparison/measures.h"

#include "core/base/median.h"
#include "core/timeline/bubbles.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

Phases phasesOf(const std::vector<TimelineOp>& timeline) {
    std::vector<Op> order;
    order.reserve(timeline.size());
    for (const TimelineOp& op : timeline)
        order.push_back(op.op);
    return findPhases(order);
}

Phase phaseAt(const Phases& phases, std::size_t index) {
    return index < phases.steady ? Phase::WarmUp : index < phases.cooldown ? Phase::Steady : Phase::CoolDown;
}

class StepMeasurer {
public:
    StepMeasurer(const StepTimeline& step, Matching matching, StepMeasures& out)
        : step_(step), matching_(matching), out_(out) {}

    void measure() {
        // Replicas of a step run in parallel, so the step is as long as its longest replica.
        double& wall = out_[{}].value;
        wall = std::max(wall, asValue(step_.wall()));
        measureBubbles();
        if (matching_ == Matching::InTotal) return;
        for (std::size_t r = 0; r < step_.ranks.size(); ++r)
            measureOps(Rank{static_cast<std::int32_t>(r)}, step_.ranks[r]);
        if (matching_ == Matching::ByRank) {
            measureGroups();
            measureTransfers();
        }
    }

private:
    static double asValue(TimeNs time) { return static_cast<double>(time.count()); }

    MeasureKey key(Subject subject, int rank = -1) const {
        MeasureKey key;
        key.subject = subject;
        key.replica = step_.replica;
        key.rank = rank;
        return key;
    }

    void measureBubbles() {
        // A rank without idle time at a position has an empty bubble there, unlike an op, which would be missing.
        for (int r = 0; r < step_.pp; ++r) {
            out_[key(Subject::RankBubble, r)].value = 0;
            for (std::size_t i = 0; matching_ == Matching::ByRank && i < kPositionCount; ++i) {
                MeasureKey at = key(Subject::Bubble, r);
                at.position = static_cast<Position>(i);
                out_[at].value = 0;
            }
        }
        for (const auto& bubbles : findBubbles(step_)) {
            for (const Bubble& bubble : bubbles) {
                MeasureKey at = key(Subject::RankBubble, bubble.rank.value);
                out_[at].value += asValue(bubble.duration());
                if (matching_ != Matching::ByRank) continue;
                at.subject = Subject::Bubble;
                at.position = bubble.position;
                out_[at].value += asValue(bubble.duration());
            }
        }
    }

    void measureOps(Rank rank, const std::vector<TimelineOp>& timeline) {
        const Phases phases = phasesOf(timeline);
        for (std::size_t i = 0; i < timeline.size(); ++i) {
            const TimelineOp& op = timeline[i];
            if (op.op.kind == OpKind::Optimizer) continue;
            if (matching_ == Matching::ByStage) {
                MeasureKey work = key(Subject::StageWork);
                work.stage = step_.stageOf(rank, op.op.chunk).value;
                out_[work].value += asValue(op.duration());
                continue;
            }
            MeasureKey group = key(Subject::OpGroup, rank.value);
            group.chunk = op.op.chunk.value;
            group.kind = op.op.kind;
            group.phase = phaseAt(phases, i);
            groups_[group].push_back(&op);
        }
    }

    void measureGroups() {
        for (const auto& [group, ops] : groups_) {
            std::vector<TimeNs> durations;
            for (const TimelineOp* const op : ops)
                durations.push_back(op->duration());
            const TimeNs middle = median(std::move(durations));
            out_[group] = {asValue(middle), static_cast<std::int64_t>(ops.size())};
            if (ops.size() < 3) continue; // with two ops, neither can be an outlier
            for (const TimelineOp* const op : ops) {
                MeasureKey single = group;
                single.subject = Subject::Op;
                single.microbatch = op->op.microbatch.value;
                single.sequence = op->op.sequence;
                out_[single] = {asValue(op->duration() - middle), 1};
            }
        }
    }

    void measureTransfers() {
        using End = std::tuple<Payload, int, int, int>; // payload, micro-batch, slice, stage
        std::map<End, TimeNs> sent;
        const auto end = [](const CommSpan& span) {
            return End{span.payload, span.microbatch.value, span.sequence, span.stage.value};
        };
        for (const auto& spans : step_.comm) {
            for (const CommSpan& span : spans) {
                if (span.kind == CommKind::Send) sent[end(span)] = span.start;
            }
        }
        std::map<MeasureKey, std::vector<TimeNs>> transfers;
        for (std::size_t r = 0; r < step_.comm.size(); ++r) {
            for (const CommSpan& span : step_.comm[r]) {
                const auto start = sent.find(end(span));
                if (span.kind != CommKind::Receive || start == sent.end()) continue;
                MeasureKey transfer = key(Subject::Transfer, span.peer.value);
                transfer.peer = static_cast<int>(r);
                transfer.payload = span.payload;
                transfers[transfer].push_back(std::max(TimeNs{0}, span.end - std::max(start->second, span.start)));
            }
        }
        for (auto& [transfer, durations] : transfers) {
            const auto times = static_cast<std::int64_t>(durations.size());
            out_[transfer] = {asValue(median(std::move(durations))), times};
        }
    }

    const StepTimeline& step_;
    Matching matching_;
    StepMeasures& out_;
    std::map<MeasureKey, std::vector<const TimelineOp*>> groups_;
};

/// True if the time of an op is part of a measure.
bool measures(const MeasureKey& key, const StepTimeline& step, Rank rank, const Op& op, Phase phase) {
    const bool ofGroup = rank.value == key.rank && op.kind == key.kind && op.chunk.value == key.chunk;
    switch (key.subject) {
    case Subject::StageWork: return op.kind != OpKind::Optimizer && step.stageOf(rank, op.chunk).value == key.stage;
    case Subject::OpGroup: return ofGroup && phase == key.phase;
    case Subject::Op: return ofGroup && op.microbatch.value == key.microbatch && op.sequence == key.sequence;
    default: return false;
    }
}

} // namespace

StepMeasures measureStep(std::span<const StepTimeline* const> timelines, Matching matching) {
    StepMeasures measures;
    for (const StepTimeline* const timeline : timelines)
        StepMeasurer(*timeline, matching, measures).measure();
    return measures;
}

std::vector<MeasuredPart> whereIs(const MeasureKey& key, const StepTimeline& step,
                                  std::span<const std::vector<Bubble>> bubbles) {
    std::vector<MeasuredPart> out;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const Rank rank{r};
        const Phases phases = phasesOf(step.ranks[r]);
        for (std::size_t i = 0; i < step.ranks[r].size(); ++i) {
            const TimelineOp& op = step.ranks[r][i];
            if (measures(key, step, rank, op.op, phaseAt(phases, i))) out.push_back({rank, {op.start, op.end}});
        }
        if (rank.value != key.rank) continue;
        if (key.subject == Subject::RankBubble || key.subject == Subject::Bubble) {
            for (const Bubble& bubble : bubbles[r]) {
                if (key.subject == Subject::RankBubble || bubble.position == key.position)
                    out.push_back({rank, {bubble.start, bubble.end}});
            }
        }
        if (key.subject != Subject::Transfer || r >= step.comm.size()) continue;
        for (const CommSpan& span : step.comm[r]) {
            if (span.kind == CommKind::Send && span.peer.value == key.peer && span.payload == key.payload)
                out.push_back({rank, {span.start, span.end}});
        }
    }
    return out;
}

} // namespace bubblescope
