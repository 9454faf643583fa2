#include "app/gui/models/run_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace bubblescope::gui {

namespace {

QueryKind kindOfOp(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return QueryKind::Forward;
    case OpKind::Backward: return QueryKind::Backward;
    case OpKind::BackwardInput: return QueryKind::BackwardInput;
    case OpKind::BackwardWeight: return QueryKind::BackwardWeight;
    case OpKind::Optimizer: break;
    }
    return QueryKind::Optimizer;
}

QueryKind kindOfComm(CommKind kind) {
    switch (kind) {
    case CommKind::Send: return QueryKind::Send;
    case CommKind::Receive: return QueryKind::Receive;
    case CommKind::Wait: return QueryKind::Wait;
    case CommKind::Collective: break;
    }
    return QueryKind::Collective;
}

/// Collects the matches, the longest first.
class QueryRun {
public:
    QueryRun(const Session& session, const OpQuery& query, std::stop_token stop)
        : session_(session), query_(query), stop_(std::move(stop)) {}

    QueryHits run(std::size_t max_items) {
        for (int place = 0; place < session_.stepCount() && !stop_.stop_requested(); ++place)
            addStep(place);
        if (query_.wants(QueryKind::Check)) addChecks();
        if (query_.wants(QueryKind::Slice) && session_.raw.any()) addSlices();
        QueryHits hits;
        hits.count = found_.size();
        for (const Found& found : found_) {
            hits.total += found.length;
            if (found.item.kind == ItemKind::Slice) hits.slices.push_back(session_.slice(found.item));
        }
        std::ranges::sort(hits.slices);
        hits.slices.erase(std::unique(hits.slices.begin(), hits.slices.end()), hits.slices.end());
        const auto longer = [](const Found& a, const Found& b) {
            return std::tuple(-a.length.count(), a.begin, a.item.rank) <
                   std::tuple(-b.length.count(), b.begin, b.item.rank);
        };
        const std::size_t kept = std::min(max_items, found_.size());
        std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(kept), found_.end(), longer);
        for (std::size_t i = 0; i < kept; ++i)
            hits.items.push_back(found_[i].item);
        return hits;
    }

private:
    struct Found {
        ItemRef item;
        TimeNs begin;
        TimeNs length;
    };

    void add(const ItemRef& item, TimeNs begin, TimeNs end, TimeNs step_begin) {
        const TimeNs length = end - begin;
        if (length < query_.shortest || length > query_.longest) return;
        if (begin - step_begin < query_.earliest || begin - step_begin > query_.latest) return;
        found_.push_back({item, begin, length});
    }

    [[nodiscard]] bool fitsOp(const Op& op, int stage) const {
        if (query_.op) {
            if (query_.op->kind != op.kind) return false;
            if (op.kind == OpKind::Optimizer) return true;
            return query_.op->microbatch == op.microbatch && query_.op->chunk == op.chunk &&
                   query_.op->sequence == op.sequence;
        }
        if (!query_.wants(kindOfOp(op.kind)) || !accepts(query_.stage, stage)) return false;
        if (op.kind == OpKind::Optimizer) return query_.microbatch.empty() && query_.chunk.empty();
        return accepts(query_.microbatch, op.microbatch.value) && accepts(query_.chunk, op.chunk.value);
    }

    void addStep(int place) {
        const StepTimeline& step = session_.step(place);
        if (!accepts(query_.step, step.index) || !accepts(query_.replica, step.replica)) return;
        for (int rank = 0; rank < static_cast<int>(step.ranks.size()); ++rank) {
            if (!accepts(query_.rank, rank)) continue;
            const auto at = static_cast<std::size_t>(rank);
            for (std::size_t i = 0; i < step.ranks[at].size(); ++i) {
                const TimelineOp& op = step.ranks[at][i];
                if (fitsOp(op.op, step.stageOf(Rank{at}, op.op.chunk).value))
                    add({ItemKind::Op, place, rank, static_cast<std::int32_t>(i)}, op.start, op.end, step.begin);
            }
            // Bubbles and transfers are not ops.
            if (query_.op) continue;
            addBubbles(place, rank);
            if (at < step.comm.size()) addComm(step, place, rank);
        }
    }

    void addBubbles(int place, int rank) {
        const bool of_an_op = !query_.microbatch.empty() || !query_.chunk.empty() || !query_.stage.empty();
        if (!query_.wants(QueryKind::Bubble) || of_an_op) return;
        const auto& ranks = session_.analysis(place).bubbles;
        if (static_cast<std::size_t>(rank) >= ranks.size()) return;
        const auto& bubbles = ranks[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < bubbles.size(); ++i)
            add({ItemKind::Bubble, place, rank, static_cast<std::int32_t>(i)}, bubbles[i].start, bubbles[i].end,
                session_.step(place).begin);
    }

    void addComm(const StepTimeline& step, int place, int rank) {
        const auto& spans = step.comm[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < spans.size(); ++i) {
            const CommSpan& span = spans[i];
            if (!query_.wants(kindOfComm(span.kind)) || !query_.chunk.empty()) continue;
            if (!accepts(query_.microbatch, span.microbatch.value) || !accepts(query_.stage, span.stage.value))
                continue;
            add({ItemKind::Comm, place, rank, static_cast<std::int32_t>(i)}, span.start, span.end, step.begin);
        }
    }

    void addChecks() {
        const auto& checks = session_.run.checks.checks;
        for (int place = 0; place < session_.stepCount(); ++place) {
            const StepTimeline& step = session_.step(place);
            for (std::size_t i = 0; i < checks.size(); ++i) {
                const CheckRecord& check = checks[i];
                if (check.step != step.index || check.replica != step.replica || check.end <= check.start) continue;
                if (!accepts(query_.step, check.step) || !accepts(query_.rank, check.rank.value) ||
                    !accepts(query_.replica, check.replica))
                    continue;
                add({ItemKind::Check, place, check.rank.value, static_cast<std::int32_t>(i)}, check.start, check.end,
                    step.begin);
            }
        }
    }

    void addSlices() {
        const Trace& trace = *session_.run.trace;
        const std::vector<bool> fits = namesThatFit(trace);
        for (int line = 0; line < static_cast<int>(session_.lanes.lineCount()); ++line) {
            // A process without a rank does not match any number.
            if (!accepts(query_.rank, session_.rankOf(line).value_or(-1)) ||
                !accepts(query_.replica, session_.lanes.replicaOf(line)))
                continue;
            for (const RawLane& lane : session_.raw.of(line)) {
                if (stop_.stop_requested()) return;
                const Track& track = trace.tracks()[lane.track];
                for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                    const TimeNs length = trace.end(slice) - trace.start(slice);
                    if (!fits[trace.sliceNames()[slice]] || length < query_.shortest || length > query_.longest)
                        continue;
                    addSlice(line, slice);
                }
            }
        }
    }

    void addSlice(int line, SliceId slice) {
        const ItemRef item = session_.sliceItem(line, slice);
        const TimeRange range = session_.range(item);
        if (session_.hasSteps() ? !accepts(query_.step, session_.step(item.step).index) : !query_.step.empty()) return;
        add(item, range.begin, range.end, session_.originOf(item.step));
    }

    [[nodiscard]] std::vector<bool> namesThatFit(const Trace& trace) const {
        std::vector<bool> fits(trace.strings().size(), query_.words.empty());
        const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
        for (std::size_t id = 0; id < fits.size() && !query_.words.empty(); ++id) {
            const std::string_view name = trace.text(static_cast<StringId>(id));
            fits[id] = std::ranges::all_of(query_.words, [&](const auto& word) {
                return std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
            });
        }
        return fits;
    }

    const Session& session_;
    const OpQuery& query_;
    std::stop_token stop_;
    std::vector<Found> found_;
};

} // namespace

QueryHits runQuery(const Session& session, const OpQuery& query, std::size_t max_items, std::stop_token stop) {
    return QueryRun(session, query, std::move(stop)).run(max_items);
}

std::string queryForLikes(const Session& session, const ItemRef& item) {
    switch (item.kind) {
    case ItemKind::Op: return fmt::format("{} rank={}", opName(session.op(item).op), item.rank);
    case ItemKind::Bubble:
    case ItemKind::ReplicaWait: return fmt::format("bubble rank={}", item.rank);
    case ItemKind::Comm: {
        const CommSpan& span = session.comm(item);
        const char* kind = span.kind == CommKind::Send      ? "send"
                           : span.kind == CommKind::Receive ? "receive"
                           : span.kind == CommKind::Wait    ? "wait"
                                                            : "collective";
        return fmt::format("{} rank={} mb={} stage={}", kind, item.rank, span.microbatch.value, span.stage.value);
    }
    case ItemKind::Slice: {
        std::string name(session.run.trace->text(session.run.trace->sliceNames()[session.slice(item)]));
        std::erase(name, '"');
        return fmt::format("\"name={}\"", name);
    }
    case ItemKind::Check: return fmt::format("check rank={}", item.rank);
    case ItemKind::None: break;
    }
    return {};
}

} // namespace bubblescope::gui
