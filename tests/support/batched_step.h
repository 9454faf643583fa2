#pragma once

#include "core/schedule/dependency.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace bubblescope::test {

/// Describes how frameworks send and receive between two ops. A send to the rank that provides the next op's input is
/// posted together with that receive, and waited for together.
struct BatchedTransfers {
    std::function<TimeNs(Rank from, Rank to)> time; ///< duration of a transfer after both ranks have posted it
    bool waits_for_single_sends = true;             ///< true as in Megatron-core; PyTorch does not wait
    bool own_ends = false; ///< true if the record of a receive ends with its transfer instead of the batch
};

/// Simulates an order and records its transfers as such a framework does: from the time when a rank posts a transfer to
/// the end of its wait.
class BatchedRun {
public:
    BatchedRun(const Schedule& order, const std::function<TimeNs(Rank, const Op&)>& time, BatchedTransfers transfers)
        : graph_(order), time_(time), transfers_(std::move(transfers)), ends_(size(graph_.size())),
          state_(order.ranks.size()) {
        step_.pp = order.pp;
        step_.microbatches = order.microbatches;
        step_.vpp = order.vpp;
        step_.placement = order.placement;
        step_.ranks.resize(order.ranks.size());
        step_.comm.resize(order.ranks.size());
        for (std::size_t r = 0; r < state_.size(); ++r)
            state_[r].next = graph_.firstOf(Rank{r});
    }

    [[nodiscard]] StepTimeline run() {
        for (bool any = true; any;) {
            any = false;
            for (std::size_t r = 0; r < state_.size(); ++r) {
                while (advance(Rank{r}))
                    any = true;
            }
        }
        for (auto& spans : step_.comm)
            std::ranges::stable_sort(spans, {}, &CommSpan::start);
        step_.fitWindow();
        return step_;
    }

private:
    struct Ends {
        std::optional<TimeNs> sent;
        std::optional<TimeNs> received;
    };
    struct State {
        OpIndex next = 0;
        TimeNs now{0};
        std::vector<OpIndex> sends; ///< posted sends, by the op that receives
        std::vector<OpIndex> receives;
        bool waits = false;
        bool sent = false; ///< true if the output of the previous op has been sent
    };
    static std::size_t size(OpIndex count) { return static_cast<std::size_t>(count); }

    /// Returns false if the rank has finished, or waits for another rank.
    bool advance(Rank rank) {
        State& state = state_[rank.index()];
        if (state.waits) return finish(rank, state);
        const OpIndex end = graph_.endOf(rank);
        const OpIndex before = state.next == graph_.firstOf(rank) ? kNoOp : state.next - 1;
        const OpIndex fed = before == kNoOp || state.sent ? kNoOp : graph_.consumer(before);
        const bool sends = fed != kNoOp && graph_.receives(fed);
        const bool receives = state.next < end && graph_.receives(state.next) && !ends_[size(state.next)].received;
        if (sends) {
            state.sent = true;
            const bool together = receives && graph_.rank(fed) == graph_.rank(graph_.producers(state.next).stage);
            ends_[size(fed)].sent = state.now;
            if (!together && !transfers_.waits_for_single_sends) {
                record(rank, fed, CommKind::Send, state.now, state.now + TimeNs{20'000});
                return true;
            }
            state.sends = {fed};
            if (together) post(state);
            state.waits = true;
            return true;
        }
        if (receives) {
            post(state);
            state.waits = true;
            return true;
        }
        if (state.next == end) return false;
        const Op& op = graph_.op(state.next);
        const TimeNs start = state.now;
        state.now += time_(rank, op);
        step_.ranks[rank.index()].push_back({op, start, state.now});
        ++state.next;
        state.sent = false;
        return true;
    }

    void post(State& state) {
        ends_[size(state.next)].received = state.now;
        state.receives = {state.next};
    }

    bool finish(Rank rank, State& state) {
        TimeNs through = state.now;
        for (const auto* const list : {&state.sends, &state.receives}) {
            for (const OpIndex fed : *list) {
                if (!ends_[size(fed)].sent || !ends_[size(fed)].received) return false;
                through = std::max(through, throughOf(fed));
            }
        }
        for (const OpIndex fed : state.sends)
            record(rank, fed, CommKind::Send, state.now, through);
        for (const OpIndex fed : state.receives)
            record(rank, fed, CommKind::Receive, state.now, transfers_.own_ends ? throughOf(fed) : through);
        state.sends.clear();
        state.receives.clear();
        state.now = through;
        state.waits = false;
        return true;
    }

    [[nodiscard]] TimeNs throughOf(OpIndex fed) const {
        return std::max(*ends_[size(fed)].sent, *ends_[size(fed)].received) +
               transfers_.time(graph_.rank(graph_.producers(fed).stage), graph_.rank(fed));
    }
    void record(Rank rank, OpIndex fed, CommKind kind, TimeNs from, TimeNs to) {
        const Op& op = graph_.op(fed);
        const Rank peer = kind == CommKind::Send ? graph_.rank(fed) : graph_.rank(graph_.producers(fed).stage);
        step_.comm[rank.index()].emplace_back(kind, payloadOf(op.kind), op.microbatch, graph_.stage(fed), peer, from,
                                              to, op.sequence);
    }

    OpGraph graph_;
    std::function<TimeNs(Rank, const Op&)> time_;
    BatchedTransfers transfers_;
    std::vector<Ends> ends_; ///< by the op that receives the transfer
    std::vector<State> state_;
    StepTimeline step_;
};

} // namespace bubblescope::test
