#include "core/optimize/overlap/streams.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::overlap {

void StreamState::grantQueued(TimeNs from) {
    if (queued_pass < 0) return;
    link = std::max(link, from) + queued_time;
    reduced[static_cast<std::size_t>(queued_pass)] = link;
    queued_pass = -1;
}

TimeNs StreamState::issueCompute(Pass pass, const Operator& op, TimeNs from) {
    const bool needs_queued = queued_pass == static_cast<int>(pass) && op.waits_reduce;
    if (needs_queued) grantQueued(compute);
    const TimeNs start = std::max({compute, from, op.waits_reduce ? reduced[passIndex(pass)] : TimeNs{0}});
    compute = start + op.time;
    grantQueued(compute);
    return start;
}

void StreamState::issueAllReduce(Pass pass, TimeNs time, bool high_priority) {
    grantQueued(compute);
    queued_pass = static_cast<int>(pass);
    queued_time = time;
    // An all-reduce that follows another of its pass depends on it.
    if (high_priority) grantQueued(std::max(compute, reduced[passIndex(pass)]));
}

TimeNs StreamState::issueBlocking(Pass pass, TimeNs time) {
    grantQueued(compute);
    const TimeNs start = std::max({compute, link, reduced[passIndex(pass)]});
    compute = link = reduced[passIndex(pass)] = start + time;
    return start;
}

namespace {

class Runner {
public:
    Runner(const Plan& plan, const StreamRules& rules, StreamState& state, const PerPass<TimeNs>& arrivals)
        : plan_(plan), rules_(rules), state_(state), arrivals_(arrivals) {
        run_.spans.reserve(plan.ops[0].size() + plan.ops[1].size());
    }

    PlanRun run() {
        state_.reduced = {};
        for (std::size_t i = 0; i < plan_.pieces.size(); ++i) {
            const Piece& piece = plan_.pieces[i];
            const bool resumes = piece.first > 0 && i > 0 && plan_.pieces[i - 1].pass != piece.pass;
            if (resumes) state_.compute += rules_.cut_time;
            for (int op = piece.first; op < piece.end; ++op)
                issue(piece.pass, op);
        }
        state_.grantQueued(state_.compute);
        closeQueued();
        for (const OpSpan& span : run_.spans)
            run_.ends[passIndex(span.pass)] = std::max(run_.ends[passIndex(span.pass)], span.end);
        return std::move(run_);
    }

private:
    void issue(Pass pass, int index) {
        const Operator& op = plan_.of(pass)[static_cast<std::size_t>(index)];
        const TimeNs from = index == 0 ? arrivals_[passIndex(pass)] : TimeNs{0};
        if (op.all_reduce) {
            state_.grantQueued(state_.compute);
            closeQueued();
            if (index == 0) state_.compute = std::max(state_.compute, from);
        }
        run_.spans.push_back({pass, index, {}, {}});
        OpSpan& span = run_.spans.back();
        if (!op.all_reduce) {
            span.start = state_.issueCompute(pass, op, from);
            span.end = state_.compute;
            closeQueued();
        } else if (!op.own_stream) {
            span.start = state_.issueBlocking(pass, op.time);
            span.end = state_.compute;
        } else {
            state_.issueAllReduce(pass, op.time, rules_.high_priority);
            queued_ = static_cast<int>(run_.spans.size()) - 1;
            closeQueued();
        }
    }

    /// Sets the times of the all-reduce that was issued last, once it has the device.
    void closeQueued() {
        if (queued_ < 0 || state_.queued_pass >= 0) return;
        OpSpan& span = run_.spans[static_cast<std::size_t>(queued_)];
        span.end = state_.reduced[passIndex(span.pass)];
        span.start = span.end - plan_.of(span.pass)[static_cast<std::size_t>(span.op)].time;
        queued_ = -1;
    }

    const Plan& plan_;
    const StreamRules& rules_;
    StreamState& state_;
    const PerPass<TimeNs>& arrivals_;
    PlanRun run_;
    int queued_ = -1; ///< span of an all-reduce without times yet
};

} // namespace

PlanRun runPlan(const Plan& plan, const StreamRules& rules, StreamState& state, const PerPass<TimeNs>& arrivals) {
    return Runner(plan, rules, state, arrivals).run();
}

PlanRun runPlan(const Plan& plan, const StreamRules& rules) {
    StreamState idle;
    return runPlan(plan, rules, idle);
}

std::vector<ReduceSpan> reduceSpans(const Plan& plan, const PlanRun& run) {
    BusyTime busy;
    for (const OpSpan& span : run.spans) {
        if (!plan.of(span.pass)[static_cast<std::size_t>(span.op)].all_reduce) busy.add(span.start, span.end);
    }
    std::vector<ReduceSpan> spans;
    for (const OpSpan& span : run.spans) {
        const Operator& op = plan.of(span.pass)[static_cast<std::size_t>(span.op)];
        if (op.all_reduce) spans.push_back({span.pass, span.op, op.time, busy.within(span.start, span.end)});
    }
    return spans;
}

namespace {

class Row {
public:
    Row(TimeNs end, int width) : text_(static_cast<std::size_t>(width), '.'), end_(end) {}

    void draw(TimeNs start, TimeNs end, const std::string& name, char rest) {
        const std::size_t first = column(start);
        const std::size_t last = std::max(column(end), std::min(first + 1, text_.size()));
        for (std::size_t i = first; i < last; ++i)
            text_[i] = i - first < name.size() ? name[i - first] : rest;
    }

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    [[nodiscard]] std::size_t column(TimeNs time) const {
        const double fraction = static_cast<double>(time.count()) / static_cast<double>(end_.count());
        return static_cast<std::size_t>(fraction * static_cast<double>(text_.size()) + 0.5);
    }

    std::string text_;
    TimeNs end_;
};

} // namespace

std::string streamChart(const Plan& plan, const PlanRun& run, int width) {
    if (run.end().count() == 0) return {};
    Row compute(run.end(), width);
    Row link(run.end(), width);
    PerPass<int> pieces{};
    auto span = run.spans.begin();
    for (const Piece& piece : plan.pieces) {
        const std::string name =
            fmt::format("{}{}", piece.pass == Pass::Backward ? 'B' : 'F', pieces[passIndex(piece.pass)]++);
        // Adjacent ops of a piece are drawn as one.
        TimeNs start{-1};
        TimeNs end{0};
        const auto flush = [&] {
            if (start.count() >= 0) compute.draw(start, end, name, '-');
            start = TimeNs{-1};
        };
        for (int i = piece.first; i < piece.end; ++i, ++span) {
            const Operator& op = plan.of(piece.pass)[static_cast<std::size_t>(i)];
            if (op.all_reduce) {
                link.draw(span->start, span->end, name, '=');
                if (op.own_stream) continue;
                flush();
                compute.draw(span->start, span->end, "", '=');
            } else {
                if (start.count() >= 0 && span->start > end) flush();
                if (start.count() < 0) start = span->start;
                end = span->end;
            }
        }
        flush();
    }
    return fmt::format("compute    |{}|\nall-reduce |{}|\n", compute.text(), link.text());
}

} // namespace bubblescope::overlap
