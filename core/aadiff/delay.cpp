#include "core/aadiff/delay.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace bubblescope {
namespace {

/// Identifies a transfer by its payload and its consumer.
using Route = std::tuple<Payload, Microbatch, std::int32_t, int>;

class Replay {
public:
    Replay(const StepTimeline& step, std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks)
        : step_(step), checks_(checks), apart_(routes(step.placement)), next_(step.ranks.size()),
          free_(step.ranks.size(), step.begin) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (const TimelineOp& op : step.ranks[r]) {
                if (const auto output = outputOf(r, op.op)) produced_later_.insert(*output);
            }
        }
        for (const auto& spans : step.comm) {
            for (const CommSpan& span : spans) {
                if (span.kind == CommKind::Receive)
                    arrivals_[{span.payload, span.microbatch, span.sequence, span.stage.value}] = span.end;
            }
        }
    }

    /// Returns when the last op ends.
    TimeNs run() {
        TimeNs last = step_.begin;
        // An order that was executed can be replayed: some rank can always continue.
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
                while (runNext(r)) {
                    moved = true;
                    last = std::max(last, free_[r]);
                }
            }
        }
        return last;
    }

private:
    struct Produced {
        TimeNs was{0};
        TimeNs is{0};
    };

    /// Runs the next op of a rank, or both of a pair; false if it cannot run yet or there is none.
    bool runNext(std::size_t r) {
        const auto& ops = step_.ranks[r];
        const std::size_t first = next_[r];
        if (first >= ops.size()) return false;
        std::size_t last = first + 1;
        while (last < ops.size() && ops[last].op.overlapped && ops[first].op.overlapped &&
               ops[last].start == ops[first].start)
            ++last;
        TimeNs was = first == 0 ? step_.begin : ops[first - 1].end;
        TimeNs is = free_[r];
        for (std::size_t i = first; i < last; ++i) {
            const std::optional<Route> input = inputOf(r, ops[i].op);
            if (!input) continue;
            const auto produced = produced_.find(*input);
            if (produced == produced_.end()) {
                if (produced_later_.contains(*input)) return false;
                continue; // no op produces it: part of a pipeline
            }
            const auto arrival = arrivals_.find(*input);
            const TimeNs came = arrival == arrivals_.end() ? produced->second.was : arrival->second;
            was = std::max(was, came);
            is = std::max(is, produced->second.is + (came - produced->second.was));
        }
        const TimeNs kept = std::max(was, endOfChecks(r, ops[first].start));
        const TimeNs begin = is + std::max(TimeNs{0}, ops[first].start - kept);
        for (std::size_t i = first; i < last; ++i) {
            const TimeNs end = begin + ops[i].duration();
            free_[r] = i == first ? end : std::max(free_[r], end);
            if (const auto output = outputOf(r, ops[i].op)) produced_[*output] = {ops[i].end, end};
        }
        next_[r] = last;
        return true;
    }

    [[nodiscard]] TimeNs endOfChecks(std::size_t r, TimeNs start) const {
        TimeNs end = step_.begin;
        if (r >= checks_.size()) return end;
        for (const auto& [begins, ends] : checks_[r]) {
            if (begins < start) end = std::max(end, std::min(ends, start));
        }
        return end;
    }

    [[nodiscard]] std::optional<Route> inputOf(std::size_t r, const Op& op) const {
        const int stage = step_.stageOf(Rank{r}, op.chunk).value;
        if (op.kind == OpKind::Forward) return Route{Payload::Activation, op.microbatch, op.sequence, stage};
        if (producesInputGradient(op.kind)) return Route{Payload::Gradient, op.microbatch, op.sequence, stage};
        return std::nullopt;
    }

    [[nodiscard]] std::optional<Route> outputOf(std::size_t r, const Op& op) const {
        const int stage = step_.stageOf(Rank{r}, op.chunk).value;
        if (op.kind == OpKind::Forward) return Route{Payload::Activation, op.microbatch, op.sequence, stage + apart_};
        if (producesInputGradient(op.kind)) return Route{Payload::Gradient, op.microbatch, op.sequence, stage - apart_};
        return std::nullopt;
    }

    const StepTimeline& step_;
    std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks_;
    int apart_;
    std::vector<std::size_t> next_; ///< by rank
    std::vector<TimeNs> free_;
    std::map<Route, TimeNs> arrivals_;
    std::map<Route, Produced> produced_;
    std::set<Route> produced_later_; ///< by some op of the step
};

/// Whether the op belongs to the pipeline window.
bool counts(const TimelineOp& op) {
    return op.op.kind != OpKind::Optimizer;
}

} // namespace

TimeNs delayByChecks(const StepTimeline& step, std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks) {
    StepTimeline window = step;
    TimeNs end = step.begin;
    for (auto& ops : window.ranks) {
        std::erase_if(ops, [](const TimelineOp& op) { return !counts(op); });
        for (const TimelineOp& op : ops)
            end = std::max(end, op.end);
    }
    return end - Replay(window, checks).run();
}

} // namespace bubblescope
