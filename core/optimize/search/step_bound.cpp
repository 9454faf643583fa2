#include "core/optimize/search/step_bound.h"

#include "core/base/bytes.h"
#include "core/base/time.h"
#include "core/optimize/search/chain_times.h"
#include "core/optimize/search/one_machine.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr int kMostLeft = 16; ///< micro-batches that may have left a rank before a moment
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string spoken(std::int64_t time) {
    return formatTime(TimeNs{time});
}

class BoundSearch {
public:
    explicit BoundSearch(const OrderProblem& problem)
        : problem_(problem), chains_(chainTimes(problem)), times_(problem.uniform() ? queueTimes(problem) : chains_) {}

    StepBound run() {
        byChain();
        byWork();
        if (problem_.limited()) byHolding();
        if (problem_.limited() && problem_.uniform() && routes(problem_.sizes().placement) == 1) byFilling();
        return std::move(best_);
    }

private:
    [[nodiscard]] std::int64_t head(OpNumber op) const { return chains_.head[static_cast<std::size_t>(op)]; }
    [[nodiscard]] std::int64_t tail(OpNumber op) const { return chains_.tail[static_cast<std::size_t>(op)]; }
    /// From its end to the step's end.
    [[nodiscard]] std::int64_t after(OpNumber op) const { return tail(op) - problem_.op(op).time; }
    /// From the start of a forward to the end of its input gradient.
    [[nodiscard]] std::int64_t wayBack(OpNumber forward) const {
        const OpNumber gradient = problem_.op(forward).own_next;
        return head(gradient) + problem_.op(gradient).time - head(forward);
    }

    template <class Reason>
    void offer(std::int64_t time, Reason reason) {
        if (time <= best_.time) return;
        best_ = {time, reason()};
    }

    void byChain() {
        std::int64_t longest = 0;
        for (OpNumber op = 0; op < problem_.size(); ++op)
            longest = std::max(longest, head(op) + tail(op));
        offer(longest, [&] { return say("one micro-batch takes {} through all stages and back", spoken(longest)); });
    }

    /// Every rank does one op at a time.
    void byWork() {
        const auto ranks = static_cast<std::size_t>(problem_.sizes().pp);
        std::vector<std::int64_t> all(ranks, 0);
        std::vector<std::int64_t> first(ranks, kMost);
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            all[op.rank.index()] += op.work;
            first[op.rank.index()] = std::min(first[op.rank.index()], head(number));
        }
        const std::vector<MachineBound> bounds = machineBounds(times_);
        std::size_t most = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            // If bounds are equal, the one with the most work is the most informative.
            if (std::tie(bounds[r].time, bounds[r].work) > std::tie(bounds[most].time, bounds[most].work)) most = r;
        }
        const MachineBound& bound = bounds[most];
        if (bound.time < best_.time) return;
        best_.time = bound.time;
        if (bound.work == all[most] && bound.head == first[most]) {
            best_.reason = say("rank {} is busy for {}; its first input arrives after {} at the earliest, and {} must "
                               "follow its last result",
                               most, spoken(bound.work), spoken(bound.head), spoken(bound.after));
            return;
        }
        const bool waits =
            problem_.limited() && problem_.uniform() &&
            std::ranges::max(machineBounds(queueTimes(problem_, false)), {}, &MachineBound::time).time < bound.time;
        if (waits) {
            best_.reason = say("rank {} has {} of work that cannot begin before {}, since forwards wait for memory, "
                               "and {} must follow it",
                               most, spoken(bound.work), spoken(bound.head), spoken(bound.after));
        } else {
            best_.reason = say("rank {} has {} of work that cannot begin before {}, and {} must follow it", most,
                               spoken(bound.work), spoken(bound.head), spoken(bound.after));
        }
    }

    [[nodiscard]] std::vector<MachineBound> machineBounds(const ChainTimes& times) const {
        std::vector<std::vector<MachineJob>> ranks(static_cast<std::size_t>(problem_.sizes().pp));
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            const auto at = static_cast<std::size_t>(number);
            ranks[op.rank.index()].push_back({times.head[at], op.work, times.tail[at] - op.busy});
        }
        std::vector<MachineBound> bounds;
        for (auto& jobs : ranks)
            bounds.push_back(machineBound(std::move(jobs)));
        return bounds;
    }

    [[nodiscard]] std::string capacityText(Rank rank) const {
        const std::int64_t capacity = problem_.capacity(rank);
        return problem_.bytes() ? formatBytes(capacity) : std::to_string(capacity);
    }

    /// The memory held, summed over time, is at most the capacity times the step: memory is like a
    /// machine that each activation occupies while it is stored. Activations are stored at least
    /// until their input gradient has run, which others must follow, or until the last op that frees
    /// them.
    void byHolding() {
        for (const bool until_last : {false, true}) {
            if (until_last && !problem_.sizes().split) continue;
            std::vector<std::vector<MachineJob>> ranks(static_cast<std::size_t>(problem_.sizes().pp));
            for (OpNumber number = 0; number < problem_.size(); ++number) {
                const NeededOp& op = problem_.op(number);
                const std::int64_t capacity = problem_.capacity(op.rank);
                if (op.kind != OpKind::Forward || capacity <= 0) continue;
                const NeededOp& gradient = problem_.op(op.own_next);
                auto held = static_cast<long double>(op.takes) * static_cast<long double>(wayBack(number));
                OpNumber last = op.own_next;
                if (until_last) {
                    last = gradient.own_next;
                    held += static_cast<long double>(op.takes - gradient.frees) *
                            static_cast<long double>(problem_.op(last).time);
                }
                const long double work = held / static_cast<long double>(capacity);
                if (work > static_cast<long double>(kMost / 4 / problem_.size())) return;
                // Rounded down, because a bound may be too low but never too high.
                ranks[op.rank.index()].push_back(
                    {times_.head[static_cast<std::size_t>(number)], static_cast<std::int64_t>(work * (1 - 1e-15L)),
                     times_.tail[static_cast<std::size_t>(last)] - problem_.op(last).time});
            }
            for (std::size_t r = 0; r < ranks.size(); ++r) {
                const MachineBound bound = machineBound(std::move(ranks[r]));
                offer(bound.time, [&] {
                    return say("rank {} may hold {}; micro-batches on their way to the last stage and back take all of "
                               "that for {}. The first arrives after {} at the earliest, and {} must follow",
                               r, capacityText(Rank{r}), spoken(bound.work), spoken(bound.head), spoken(bound.after));
                });
            }
        }
    }

    /// A moment of a rank, and the maximum amount of its work on the other side of it.
    struct Moment {
        std::int64_t time = 0; ///< minimum time since the step's start, or until its end
        std::int64_t work = 0; ///< work that may come before, or after
    };
    /// Ops that may be on the other side, equal within each group.
    struct Group {
        std::int64_t work = 0; ///< of one op
        std::int64_t held = 0; ///< by one op
        std::int64_t count = 0;
    };

    /// The maximum work of ops that together hold at most `room`. Fractions of ops are allowed, so it may be too high.
    static std::int64_t mostWork(std::vector<Group> groups, std::int64_t room) {
        const auto worth = [](const Group& group) {
            return group.held == 0 ? std::numeric_limits<long double>::max()
                                   : static_cast<long double>(group.work) / static_cast<long double>(group.held);
        };
        room = std::max<std::int64_t>(room, 0);
        std::ranges::sort(groups, [&](const Group& a, const Group& b) { return worth(a) > worth(b); });
        std::int64_t most = 0;
        for (const Group& group : groups) {
            const std::int64_t whole = group.held == 0 ? group.count : std::min(group.count, room / group.held);
            most += whole * group.work;
            room -= whole * group.held;
            if (whole == group.count) continue;
            return most + static_cast<std::int64_t>(worth(group) * static_cast<long double>(room)) + 1;
        }
        return most;
    }

    /// The stage of a rank that is closest to the loss, and the one farthest from it.
    struct EndStages {
        Stage near, far;
    };

    [[nodiscard]] OpNumber gradientOf(Microbatch microbatch, Stage stage) const {
        return problem_.find(OpKind::Backward, microbatch, stage);
    }
    /// The work of all ops of some micro-batches on a rank, optionally without their forwards.
    [[nodiscard]] std::int64_t workOf(Rank rank, int microbatches, bool forwards) const {
        std::int64_t work = 0;
        for (int chunk = 0; chunk < problem_.sizes().vpp; ++chunk) {
            const Stage stage = stageOf(problem_.sizes().placement, problem_.sizes().pp, rank, Chunk{chunk});
            for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardWeight}) {
                const OpNumber op = problem_.find(kind, Microbatch{0}, stage);
                if (op != kNoNumber && (forwards || kind != OpKind::Forward)) work += problem_.op(op).work;
            }
        }
        return work * microbatches;
    }

    /// Before the first gradient of a rank's last stage, and the forward that it needs, the rank only runs forwards,
    /// and only as many as fit into memory. Before those of the k-th micro-batch, the earlier micro-batches may have
    /// left.
    [[nodiscard]] std::vector<Moment> begins(Rank rank, EndStages ends) const {
        std::vector<Moment> moments{{kMost, 0}};
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            if (problem_.op(number).rank == rank)
                moments.front().time = std::min(moments.front().time, times_.head[static_cast<std::size_t>(number)]);
        }
        const auto& sizes = problem_.sizes();
        for (int k = 0; k < std::min(sizes.microbatches, kMostLeft); ++k) {
            for (const OpNumber at :
                 {problem_.find(OpKind::Forward, Microbatch{k}, ends.near), gradientOf(Microbatch{k}, ends.near)}) {
                const NeededOp& op = problem_.op(at);
                const bool forward = op.kind == OpKind::Forward;
                std::int64_t room = problem_.capacity(rank) - op.takes - op.workspace;
                std::vector<Group> groups;
                for (int chunk = 0; chunk < sizes.vpp; ++chunk) {
                    const Stage stage = stageOf(sizes.placement, sizes.pp, rank, Chunk{chunk});
                    const NeededOp& each = problem_.op(problem_.find(OpKind::Forward, Microbatch{0}, stage));
                    room += k * each.takes;
                    groups.push_back({each.work, each.takes, forward && stage == ends.near ? k : sizes.microbatches});
                }
                moments.push_back({times_.head[static_cast<std::size_t>(at)],
                                   workOf(rank, k, false) + mostWork(std::move(groups), room)});
            }
        }
        return moments;
    }

    /// After the last gradient of a rank's first stage, only weight gradients are left, at most as many as memory
    /// holds. After the last gradient of an earlier micro-batch, all ops of the later ones may be left as well.
    [[nodiscard]] std::vector<Moment> endings(Rank rank, EndStages ends) const {
        std::vector<Moment> moments{{kMost, 0}};
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            if (op.rank != rank) continue;
            moments.front().time =
                std::min(moments.front().time, times_.tail[static_cast<std::size_t>(number)] - op.busy);
        }
        const auto& sizes = problem_.sizes();
        for (int k = 0; k < std::min(sizes.microbatches, kMostLeft); ++k) {
            const OpNumber at = gradientOf(Microbatch{sizes.microbatches - 1 - k}, ends.far);
            std::vector<Group> groups;
            for (int chunk = 0; sizes.split && chunk < sizes.vpp; ++chunk) {
                const Stage stage = stageOf(sizes.placement, sizes.pp, rank, Chunk{chunk});
                const NeededOp& each = problem_.op(problem_.find(OpKind::BackwardWeight, Microbatch{0}, stage));
                groups.push_back({each.work, each.frees, sizes.microbatches - k});
            }
            moments.push_back({times_.tail[static_cast<std::size_t>(at)] - problem_.op(at).busy,
                               workOf(rank, k, true) + mostWork(std::move(groups), problem_.capacity(rank))});
        }
        return moments;
    }

    /// Forwards fill the memory before the first gradient arrives. All other work of the rank comes later, and after
    /// its last gradients only a limited number of weight gradients is left. Micro-batches take turns.
    void byFilling() {
        const auto& sizes = problem_.sizes();
        for (int r = 0; r < sizes.pp; ++r) {
            const Rank rank{r};
            EndStages ends{stageOf(sizes.placement, sizes.pp, rank, Chunk{0}), {}};
            ends.far = ends.near;
            for (int chunk = 1; chunk < sizes.vpp; ++chunk) {
                const Stage stage = stageOf(sizes.placement, sizes.pp, rank, Chunk{chunk});
                if (stage.value > ends.near.value) ends.near = stage;
                if (stage.value < ends.far.value) ends.far = stage;
            }
            const std::int64_t all = workOf(rank, sizes.microbatches, true);
            const std::vector<Moment> begin = begins(rank, ends);
            const std::vector<Moment> end = endings(rank, ends);
            for (std::size_t i = 0; i < begin.size(); ++i) {
                for (std::size_t j = 0; j < end.size(); ++j) {
                    // The moments belong to the micro-batches (i − 1) / 2 and m − j: the first must not come after the
                    // second.
                    const std::size_t passed = i == 0 ? 0 : (i - 1) / 2;
                    if (passed + j > static_cast<std::size_t>(sizes.microbatches)) continue;
                    const std::int64_t work = all - begin[i].work - end[j].work;
                    offer(begin[i].time + work + end[j].time, [&] {
                        return say("rank {} has {} of work that cannot begin before {}, since forwards wait for "
                                   "memory, and {} must follow it",
                                   r, spoken(work), spoken(begin[i].time), spoken(end[j].time));
                    });
                }
            }
        }
    }

    const OrderProblem& problem_;
    ChainTimes chains_; ///< from one micro-batch alone
    ChainTimes times_;  ///< from everything known
    StepBound best_;
};

} // namespace

StepBound stepBound(const OrderProblem& problem) {
    return BoundSearch(problem).run();
}

} // namespace bubblescope
