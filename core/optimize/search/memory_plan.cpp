#include "core/optimize/search/memory_plan.h"

#include "core/base/bytes.h"
#include "core/families/registry.h"
#include "core/graph/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

enum class Move : std::uint8_t { Keep, Offload, Balance, Recompute };

/// The moves of a rank.
struct Mix {
    double copied = 0;         ///< share of the moved activations that are copied; the others are recomputed
    Move copy = Move::Offload; ///< Offload or Balance
    int lead = 0;              ///< number of copy times by which a RELOAD precedes its backward, even if other
                               ///< activations must be evicted
};

/// A forward of a rank and the treatment of its activations. Positions are indices of ops.
struct Piece {
    std::size_t forward = 0;
    std::size_t backward = 0; ///< its B or I
    Stage stage;
    Microbatch microbatch;
    std::int64_t size = 0;
    std::int64_t kept_input = 0;
    Move move = Move::Keep;
    std::size_t gone = 0; ///< op that WAIT_OFFLOAD precedes
    std::size_t back = 0; ///< op that RELOAD precedes
};

/// Plans one rank. Memory is counted as if copies took until they are waited for.
class RankPlanner {
public:
    RankPlanner(const Schedule& order, Rank rank, const CostModel& costs, const MemoryModel& model,
                const WeightTimes& copies, std::int64_t budget)
        : order_(order), rank_(rank), ops_(order.ranks[rank.index()]), model_(model), copies_(copies),
          budget_(budget - fixedMemory(model, order.placement, order.pp, rank).fixed()) {
        starts_.push_back(TimeNs{0});
        forward_at_.assign(ops_.size(), nullptr);
        backward_at_.assign(ops_.size(), nullptr);
        pieces_.reserve(ops_.size());
        std::map<std::pair<int, int>, Piece*> forwards;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            const Op& op = ops_[i];
            const Stage stage = order.stageOf(rank, op.chunk);
            starts_.push_back(starts_.back() + costs.opTime(op.kind, stage));
            Piece*& piece = forwards[{stage.value, op.microbatch.value}];
            if (op.kind == OpKind::Forward) {
                const StageMemory& memory = model.stages[stage.index()];
                piece = &pieces_.emplace_back(
                    Piece{i, ops_.size(), stage, op.microbatch, memory.activations.forward, memory.kept_input});
                forward_at_[i] = piece;
            } else if (producesInputGradient(op.kind)) {
                piece->backward = i;
                backward_at_[i] = piece;
            }
        }
    }
    RankPlanner(const RankPlanner&) = delete;
    RankPlanner& operator=(const RankPlanner&) = delete;

    /// The rank's actions with this mix; none if it does not fit.
    std::optional<std::vector<Action>> plan(const Mix& mix) {
        for (Piece& piece : pieces_)
            piece.move = Move::Keep;
        std::vector<std::int64_t> during(ops_.size());
        // A recomputed piece frees memory from its forward on, so the walk starts over.
        for (Walk walk = Walk::Again; walk != Walk::Done;) {
            walk = walkOps(mix, during);
            if (walk == Walk::Full) return std::nullopt;
        }
        reloadEarly(during);
        return actions();
    }

    /// True if the last plan moved anything.
    [[nodiscard]] bool needsMoves() const {
        return std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.move != Move::Keep; });
    }
    /// Number of pieces with this move in the last plan.
    [[nodiscard]] int count(Move move) const {
        return static_cast<int>(std::ranges::count(pieces_, move, &Piece::move));
    }

private:
    [[nodiscard]] const StageMemory& memoryOf(std::size_t op) const {
        return model_.stages[order_.stageOf(rank_, ops_[op].chunk).index()];
    }
    enum class Walk { Done, Again, Full };

    Walk walkOps(const Mix& mix, std::vector<std::int64_t>& during) {
        for (Piece& piece : pieces_) {
            if (moved(piece)) piece.move = Move::Keep;
        }
        double copied = 0;
        double recomputed = count(Move::Recompute);
        std::int64_t held = 0;
        reloaded_.assign(ops_.size(), 0);
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            held += neededBefore(i) + reloaded_[i];
            while (held + workspace(i) > budget_) {
                const bool copies = copied + 1 <= mix.copied * (copied + recomputed + 1);
                const Move move = copies ? mix.copy : Move::Recompute;
                Piece* const victim = victimAt(i, move);
                if (victim == nullptr) return Walk::Full;
                victim->move = move;
                if (!copies) return Walk::Again;
                copied += 1;
                victim->gone = i;
                victim->back = reloadPlace(*victim, mix.lead);
                reloaded_[victim->back] += victim->size;
                held -= victim->size;
            }
            during[i] = held + workspace(i);
            held -= freedAfter(i);
        }
        return Walk::Done;
    }

    /// The op before which a piece is reloaded that is gone before an earlier one.
    [[nodiscard]] std::size_t reloadPlace(const Piece& piece, int lead) const {
        const TimeNs latest = starts_[piece.backward] - lead * copyTime(piece, piece.move);
        const auto after = std::ranges::upper_bound(starts_, latest);
        const auto place = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - starts_.begin() - 1, 0));
        return std::clamp(place, piece.gone + 1, piece.backward);
    }

    /// The bytes that op `i` and a RECOMPUTE before it allocate.
    [[nodiscard]] std::int64_t neededBefore(std::size_t i) const {
        if (const Piece* const piece = forward_at_[i])
            return piece->move == Move::Recompute ? piece->kept_input : piece->size;
        const Piece* const piece = backward_at_[i];
        return piece != nullptr && piece->move == Move::Recompute ? piece->size - piece->kept_input : 0;
    }
    [[nodiscard]] std::int64_t freedAfter(std::size_t i) const {
        const ActivationSizes& sizes = memoryOf(i).activations;
        switch (ops_[i].kind) {
        case OpKind::Backward: return sizes.forward;
        case OpKind::BackwardInput: return sizes.forward - sizes.weight_grad;
        case OpKind::BackwardWeight: return sizes.weight_grad;
        default: return 0;
        }
    }
    [[nodiscard]] std::int64_t workspace(std::size_t i) const {
        if (ops_[i].kind == OpKind::Optimizer) return 0;
        const StageMemory& memory = memoryOf(i);
        if (ops_[i].kind == OpKind::Forward) return memory.forward_workspace;
        return std::max(memory.backward_workspace, recomputes(i) ? memory.forward_workspace : 0);
    }
    [[nodiscard]] bool recomputes(std::size_t i) const {
        return backward_at_[i] != nullptr && backward_at_[i]->move == Move::Recompute;
    }
    static bool moved(const Piece& piece) { return piece.move == Move::Offload || piece.move == Move::Balance; }
    [[nodiscard]] TimeNs copyTime(const Piece& piece, Move move) const {
        const SideTimes& times = copies_.of(piece.stage);
        return move == Move::Balance ? times.peer_copy : times.host_copy;
    }

    /// The piece to move so that op `i` fits: the one needed last among those whose copy can have ended, or else the
    /// one with the most time for its copy.
    Piece* victimAt(std::size_t i, Move move) {
        Piece* best = nullptr;
        Piece* oldest = nullptr;
        for (Piece& piece : pieces_) {
            const bool here = piece.move == Move::Keep && piece.forward < i && piece.backward > i;
            if (!here || (move == Move::Recompute && piece.kept_input >= piece.size)) continue;
            if (oldest == nullptr) oldest = &piece;
            const bool ready =
                move == Move::Recompute || starts_[i] - starts_[piece.forward + 1] >= copyTime(piece, move);
            if (ready && (best == nullptr || piece.backward > best->backward)) best = &piece;
        }
        return best != nullptr ? best : oldest;
    }

    /// Moves reloads to earlier places where memory is left, in the order of their backwards.
    void reloadEarly(std::vector<std::int64_t>& during) {
        std::vector<Piece*> reloads;
        for (Piece& piece : pieces_) {
            if (moved(piece)) reloads.push_back(&piece);
        }
        std::ranges::sort(reloads, {}, &Piece::backward);
        std::size_t earliest = 0;
        for (Piece* const piece : reloads) {
            const TimeNs ahead = 2 * copyTime(*piece, piece->move);
            while (piece->back > std::max(piece->gone, earliest) &&
                   starts_[piece->backward] - starts_[piece->back] < ahead &&
                   during[piece->back - 1] + piece->size <= budget_) {
                --piece->back;
                during[piece->back] += piece->size;
            }
            earliest = piece->back;
        }
    }

    [[nodiscard]] Action action(const Piece& piece, ActionKind kind) const {
        Action action;
        action.kind = kind;
        action.stage = piece.stage;
        action.microbatch = piece.microbatch;
        return action;
    }

    [[nodiscard]] std::vector<Action> actions() const {
        // Before each op: first what frees memory, then reloads, in the order of their backwards.
        std::vector<std::vector<Action>> before(ops_.size() + 1);
        std::vector<const Piece*> sorted;
        for (const Piece& piece : pieces_)
            sorted.push_back(&piece);
        std::ranges::sort(sorted, {}, &Piece::backward);
        for (const Piece* const piece : sorted) {
            if (!moved(*piece)) continue;
            Action offload = action(*piece, ActionKind::Offload);
            if (piece->move == Move::Balance) offload.peer = static_cast<std::int16_t>(order_.pp - 1 - rank_.value);
            before[piece->forward + 1].push_back(offload);
        }
        for (const Piece* const piece : sorted) {
            if (moved(*piece)) before[piece->gone].push_back(action(*piece, ActionKind::WaitOffload));
        }
        for (const Piece* const piece : sorted) {
            if (moved(*piece)) before[piece->back].push_back(action(*piece, ActionKind::Reload));
        }
        for (const Piece* const piece : sorted) {
            if (piece->move == Move::Recompute)
                before[piece->backward].push_back(action(*piece, ActionKind::Recompute));
        }
        std::vector<Action> all;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            all.insert(all.end(), before[i].begin(), before[i].end());
            Action& compute = all.emplace_back();
            compute.op = static_cast<std::int32_t>(i);
            compute.stage = order_.stageOf(rank_, ops_[i].chunk);
            compute.microbatch = ops_[i].microbatch;
        }
        return all;
    }

    const Schedule& order_;
    Rank rank_;
    const std::vector<Op>& ops_;
    const MemoryModel& model_;
    const WeightTimes& copies_;
    std::int64_t budget_;        ///< for activations
    std::vector<TimeNs> starts_; ///< of each op if the rank never waited, and the end
    std::vector<Piece> pieces_;
    std::vector<const Piece*> forward_at_; ///< by op
    std::vector<const Piece*> backward_at_;
    std::vector<std::int64_t> reloaded_; ///< bytes of the RELOADs before each op
};

/// Plans all ranks together.
class OrderPlanner {
public:
    OrderPlanner(const Schedule& order, const CostModel& costs, const MemoryModel& model,
                 const std::vector<std::int64_t>& budgets, const MemoryMoves& moves, const JobControl& control)
        : order_(order), costs_(costs), model_(model), budgets_(budgets), moves_(moves), control_(control) {
        for (int r = 0; r < order.pp; ++r)
            ranks_.push_back(
                std::make_unique<RankPlanner>(order, Rank{r}, costs, model, moves.times, budgets[Rank{r}.index()]));
        for (const Move copy : {Move::Offload, Move::Balance}) {
            if (!(copy == Move::Offload ? moves.offload : moves.balance)) continue;
            for (const double share : {1.0, 0.75, 0.5, 0.25}) {
                if (share < 1.0 && !moves.recompute) continue;
                for (const int lead : {0, 1, 2})
                    mixes_.push_back({share, copy, lead});
            }
        }
        if (moves.recompute) mixes_.push_back({0, Move::Offload});
        if (mixes_.empty()) mixes_.push_back({1, Move::Keep}); // fits only if no activations have to be moved
    }

    /// The best plan with one mix for all ranks, or the first mix that each accepts alone.
    Status start() {
        std::vector<std::size_t> own(ranks_.size());
        for (std::size_t mix = 0; mix < mixes_.size(); ++mix) {
            std::ranges::fill(own, mix);
            BUBBLESCOPE_TRY(judge(own));
        }
        // Ranks may need different mixes to fit at all: take the first that each accepts alone.
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            own[r] = 0;
            while (own[r] < mixes_.size() && !ranks_[r]->plan(mixes_[own[r]]))
                ++own[r];
            if (own[r] == mixes_.size())
                return inputError(
                    "schedule " + order_.name,
                    fmt::format("rank {} does not fit into {} with these moves", r, formatBytes(budgets_[r])),
                    "allow more moves, or use more memory or another order");
        }
        BUBBLESCOPE_TRY(judge(own));
        if (!best_)
            return inputError("schedule " + order_.name, "no combination of these moves fits all ranks into memory",
                              "allow more moves, or use more memory or another order");
        return {};
    }

    [[nodiscard]] const std::optional<MemoryPlan>& best() const { return best_; }

    /// Improves the mix of each rank in turn. Call it after start().
    Result<MemoryPlan> improve() {
        std::vector<std::size_t> own;
        constexpr int kPasses = 4;
        bool better = true;
        for (int pass = 0; better && pass < kPasses; ++pass) {
            better = false;
            for (std::size_t r = 0; r < ranks_.size(); ++r) {
                for (std::size_t mix = 0; mix < mixes_.size(); ++mix) {
                    own = best_mixes_;
                    if (own[r] == mix || !ranks_[r]->needsMoves()) continue;
                    own[r] = mix;
                    const TimeNs before = best_->makespan();
                    BUBBLESCOPE_TRY(judge(own));
                    better |= best_->makespan() < before;
                }
            }
        }
        for (const RankMemory& rank : memoryUse(order_, model_))
            best_->unmoved_peaks.push_back(rank.peak());
        return std::move(*best_);
    }

private:
    /// Simulates a mix for each rank, and keeps the plan if it fits and is the shortest.
    Status judge(const std::vector<std::size_t>& mixes) {
        if (control_.stopRequested()) return cancelledError();
        MemoryPlan plan;
        plan.lowered.order = order_;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            auto actions = ranks_[r]->plan(mixes_[mixes[r]]);
            if (!actions) return {};
            plan.lowered.actions.push_back(std::move(*actions));
            plan.offloaded += ranks_[r]->count(Move::Offload);
            plan.recomputed += ranks_[r]->count(Move::Recompute);
            plan.balanced += ranks_[r]->count(Move::Balance);
        }
        plan.lowered = withTransfers(std::move(plan.lowered));
        BUBBLESCOPE_ASSIGN(plan.step, simulateLowered(plan.lowered, costs_, {}, moves_.times));
        plan.memory = loweredMemory(plan.lowered, plan.step, model_);
        for (std::size_t r = 0; r < ranks_.size(); ++r) { // another rank's activations may not fit
            if (plan.memory[r].peak > budgets_[r]) return {};
        }
        const auto rank = [](const MemoryPlan& of) {
            return std::tuple(of.makespan(), of.recomputed, of.offloaded + of.balanced);
        };
        if (best_ && rank(plan) >= rank(*best_)) return {};
        best_ = std::move(plan);
        best_mixes_ = mixes;
        return {};
    }

    const Schedule& order_;
    const CostModel& costs_;
    const MemoryModel& model_;
    const std::vector<std::int64_t>& budgets_;
    const MemoryMoves& moves_;
    const JobControl& control_;
    std::vector<std::unique_ptr<RankPlanner>> ranks_;
    std::vector<Mix> mixes_;
    std::optional<MemoryPlan> best_;
    std::vector<std::size_t> best_mixes_;
};

Status checkOrder(const Schedule& order) {
    const bool sliced = std::ranges::any_of(order.ranks, [](const auto& ops) {
        return std::ranges::any_of(ops, [](const Op& op) { return op.sequence > 0 || op.overlapped; });
    });
    if (!sliced && routes(order.placement) == 1) return {};
    return usageError("moving activations requires one pipeline, whole sequences and no overlapped pairs",
                      "use another schedule");
}

/// The orders to plan: those of all families, and `found`.
std::vector<Schedule> candidates(const SearchRequest& request, const Schedule& found) {
    std::vector<Schedule> orders{found};
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : flavorsOf(family)) {
            ScheduleSpec spec{std::string(family.name), std::string(flavor), request.pp, request.microbatches,
                              request.vpp};
            spec.times = request.costs.times;
            auto made = makeSchedule(spec);
            if (!made.ok() || made.value().vpp != request.vpp || !checkOrder(made.value()).ok()) continue;
            const bool split = std::ranges::any_of(made.value().ranks, [](const std::vector<Op>& ops) {
                return std::ranges::any_of(ops, [](const Op& op) { return op.kind == OpKind::BackwardWeight; });
            });
            if (request.split != SplitBackward::Auto && split != (request.split == SplitBackward::On)) continue;
            const auto& placements = request.placements;
            const bool placed = placements.empty()
                                    ? request.vpp > 1 || made.value().placement == Placement::Loop
                                    : std::ranges::find(placements, made.value().placement) != placements.end();
            if (placed && validate(made.value()).empty()) orders.push_back(std::move(made).value());
        }
    }
    return orders;
}

} // namespace

Result<MemoryPlan> planMemory(const Schedule& order, const CostModel& costs, const MemoryModel& model,
                              const std::vector<std::int64_t>& budgets, const MemoryMoves& moves,
                              const JobControl& control) {
    BUBBLESCOPE_TRY(checkOrder(order));
    OrderPlanner planner(order, costs, model, budgets, moves, control);
    BUBBLESCOPE_TRY(planner.start());
    return planner.improve();
}

Result<FoundPlan> searchWithMoves(const SearchRequest& request, const MemoryMoves& moves, const JobControl& control) {
    if ((!request.model && !request.stages) || request.bytes.empty())
        return usageError("moving activations requires the model's tensor sizes and a memory budget", "specify both");
    const auto within = searchOrder(request, control);
    SearchRequest unlimited = request;
    unlimited.model.reset();
    unlimited.stages.reset();
    unlimited.bytes.clear();
    FoundPlan result;
    BUBBLESCOPE_ASSIGN(result.unlimited, searchOrder(unlimited, control));
    std::vector<std::int64_t> budgets = request.bytes;
    if (budgets.size() == 1) budgets.resize(static_cast<std::size_t>(request.pp), budgets.front());
    std::vector<Schedule> orders = candidates(request, result.unlimited.schedule);
    if (within.ok()) {
        result.without_moves = within.value().makespan;
        orders.push_back(within.value().schedule);
    }
    struct Candidate {
        MemoryModel model;
        std::unique_ptr<OrderPlanner> planner;
        [[nodiscard]] TimeNs makespan() const { return planner->best()->makespan(); }
    };
    std::vector<std::unique_ptr<Candidate>> started;
    std::optional<Error> why;
    for (const Schedule& order : orders) {
        const Status fitting = checkOrder(order);
        if (!fitting.ok()) {
            why = fitting.error();
            continue;
        }
        auto candidate = std::make_unique<Candidate>();
        candidate->model = request.stages.value_or(MemoryModel{});
        if (request.model) {
            BUBBLESCOPE_ASSIGN(candidate->model, memoryModel(*request.model, order));
        }
        candidate->planner =
            std::make_unique<OrderPlanner>(order, request.costs, candidate->model, budgets, moves, control);
        const Status start = candidate->planner->start();
        if (!start.ok() && start.error().kind == ErrorKind::Cancelled) return start.error();
        if (start.ok()) {
            started.push_back(std::move(candidate));
        } else {
            why = start.error();
        }
    }
    if (started.empty()) return *why;
    std::ranges::stable_sort(started, {}, [](const auto& candidate) { return candidate->makespan(); });
    constexpr std::size_t kImproved = 6;
    started.resize(std::min(started.size(), kImproved));
    std::optional<MemoryPlan> best;
    for (const auto& candidate : started) {
        BUBBLESCOPE_ASSIGN(MemoryPlan plan, candidate->planner->improve());
        if (!best || plan.makespan() < best->makespan()) best = std::move(plan);
    }
    result.plan = std::move(*best);
    return result;
}

} // namespace bubblescope
