#include "core/optimize/search/noise_model.h"

#include "core/base/hash.h"
#include "core/optimize/search/critical_moves.h"
#include "core/optimize/search/order_evaluator.h"
#include "core/optimize/search/step_bound.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace bubblescope {
namespace {

/// A mixed hash of draw and op, as a uniform number from -1 to 1.
double evenDraw(std::uint64_t seed, std::uint64_t draw, std::uint64_t op) {
    const std::uint64_t x = mix64(seed + 0x9E3779B97F4A7C15U * (draw * 0x100000001B3U + op + 1));
    return static_cast<double>(x >> 11U) * 0x1p-52 - 1;
}

/// The times of all ops in one draw.
void drawTimes(const OrderProblem& problem, const NoiseModel& noise, int draw, std::vector<std::int64_t>& times) {
    times.resize(static_cast<std::size_t>(problem.size()));
    for (std::size_t i = 0; i < times.size(); ++i) {
        const double factor = 1 + noise.share * evenDraw(noise.seed, static_cast<std::uint64_t>(draw), i);
        times[i] = std::llround(static_cast<double>(problem.ops()[i].time) * factor);
    }
}

std::int64_t meanOf(const std::vector<std::int64_t>& times) {
    std::int64_t whole = 0;
    std::int64_t rest = 0;
    const auto count = static_cast<std::int64_t>(times.size());
    for (const std::int64_t time : times) {
        whole += time / count;
        rest += time % count;
    }
    return whole + rest / count;
}

constexpr int kDrawsInSearch = 24;
constexpr std::size_t kAcceptBy = 40;           ///< moves ago
constexpr std::int64_t kMostBound = 40'000'000; ///< ops of all draws

/// An order under several draws at once.
class NoisyClimb {
public:
    NoisyClimb(const OrderProblem& problem, const NoiseModel& noise, const ImproveOptions& options,
               const JobControl& control)
        : problem_(problem), options_(options), stop_(control, 16), random_(options.seed),
          rests_(static_cast<std::size_t>(problem.size()), 0) {
        const int count = std::min(kDrawsInSearch, noise.draws);
        problems_.reserve(static_cast<std::size_t>(count));
        std::vector<std::int64_t> times;
        for (int draw = 0; draw < count; ++draw) {
            drawTimes(problem, noise, draw, times);
            problems_.push_back(problem.withTimes(times));
            draws_.emplace_back(problems_.back());
        }
    }

    Improved run(const RankOrders& start) {
        Improved result;
        if (draws_.empty() || !assign(start)) return result;
        RankOrders best = start;
        std::int64_t best_sum = sum();
        std::vector<std::int64_t> history(kAcceptBy, best_sum);
        std::int64_t now = best_sum;
        for (; touched() < options_.effort && !stop_.requested(); ++turn_) {
            const std::optional<OrderMove> move = choose();
            if (!move) break;
            std::int64_t& before = history[static_cast<std::size_t>(turn_) % kAcceptBy];
            if (carryOut(*move)) {
                const std::int64_t after = sum();
                if (after <= std::max(before, now)) {
                    now = after;
                    ++moves_;
                } else {
                    carryOut({move->rank, move->to, move->from});
                }
            }
            before = now;
            if (now >= best_sum) continue;
            best_sum = now;
            best = draws_.front().orders();
        }
        OrderEvaluator plain(problem_);
        if (!plain.assign(best)) return {};
        result.orders = std::move(best);
        result.makespan = plain.makespan();
        result.moves = moves_;
        result.judged = judged_;
        result.touched = touched();
        return result;
    }

private:
    [[nodiscard]] bool assign(const RankOrders& orders) {
        return std::ranges::all_of(draws_, [&](OrderEvaluator& draw) { return draw.assign(orders); });
    }
    [[nodiscard]] std::int64_t sum() const {
        std::int64_t sum = 0;
        for (const OrderEvaluator& draw : draws_)
            sum += draw.makespan();
        return sum;
    }
    [[nodiscard]] std::int64_t touched() const {
        std::int64_t sum = 0;
        for (const OrderEvaluator& draw : draws_)
            sum += draw.touched();
        return sum;
    }
    /// Deadlocks depend on the order, so they are the same in all draws.
    bool carryOut(const OrderMove& move) {
        return std::ranges::all_of(draws_, [&](OrderEvaluator& draw) { return draw.apply(move); });
    }

    /// The move with the smallest estimate over all draws, among those proposed by the longest chain of a random draw.
    std::optional<OrderMove> choose() {
        OrderEvaluator& draw = draws_[random_() % draws_.size()];
        std::optional<OrderMove> best;
        std::pair<std::int64_t, std::int64_t> least;
        OpNumber moved = kNoNumber;
        for (const OrderMove& move : critical_.propose(draw, random_)) {
            const OpNumber op = draw.orders()[static_cast<std::size_t>(move.rank)][static_cast<std::size_t>(move.from)];
            if (rests_[static_cast<std::size_t>(op)] > turn_ || !draw.allowed(move)) continue;
            const std::int64_t here = draw.estimate(move);
            std::int64_t all = 0;
            for (OrderEvaluator& other : draws_)
                all += std::max(other.makespan(), &other == &draw ? here : other.estimate(move));
            ++judged_;
            if (best && std::pair(all, here) >= least) continue;
            best = move;
            least = {all, here};
            moved = op;
        }
        if (best) {
            rests_[static_cast<std::size_t>(moved)] = turn_ + 5 + static_cast<std::int64_t>(random_() % 20);
            idle_ = 0;
        }
        if (best || ++idle_ > 50) return best;
        turn_ += 5; // all ops are excluded for now, so advance the turn
        return choose();
    }

    const OrderProblem& problem_;
    const ImproveOptions& options_;
    StopCheck stop_;
    std::mt19937_64 random_;
    std::vector<OrderProblem> problems_;
    std::vector<OrderEvaluator> draws_;
    CriticalMoves critical_;
    std::vector<std::int64_t> rests_; ///< per op: turn until which the op must not be moved
    std::int64_t turn_ = 0;
    int idle_ = 0; ///< consecutive calls without a move
    std::int64_t moves_ = 0;
    std::int64_t judged_ = 0;
};

} // namespace

NoisySteps noisySteps(const OrderProblem& problem, const RankOrders& orders, const std::vector<char>& fused,
                      const NoiseModel& noise) {
    OrderEvaluator evaluator(problem);
    if (noise.draws < 1 || !evaluator.assign(orders)) return {};
    const auto count = static_cast<std::size_t>(problem.size());
    std::vector<std::int64_t> time;
    std::vector<std::int64_t> end(count); // end of the op
    std::vector<std::int64_t> free(static_cast<std::size_t>(problem.sizes().pp));
    std::vector<std::int64_t> steps;
    for (int draw = 0; draw < noise.draws; ++draw) {
        drawTimes(problem, noise, draw, time);
        std::fill(free.begin(), free.end(), 0);
        std::int64_t longest = 0;
        for (const OpNumber number : evaluator.sorted()) {
            const NeededOp& op = problem.op(number);
            const auto at = static_cast<std::size_t>(number);
            std::int64_t start = free[op.rank.index()];
            if (op.input != kNoNumber) {
                const auto input = static_cast<std::size_t>(op.input);
                std::int64_t arrives = end[input] + problem.op(op.input).arrival;
                if (!fused.empty() && fused[input] != 0)
                    arrives += time[static_cast<std::size_t>(problem.op(op.input).own_next)];
                start = std::max(start, arrives);
            }
            end[at] = start + time[at];
            free[op.rank.index()] = end[at] + op.busy - op.time;
            longest = std::max(longest, end[at] + problem.after(op.rank));
        }
        steps.push_back(longest);
    }
    const std::int64_t mean = meanOf(steps);
    const auto late = static_cast<std::ptrdiff_t>((steps.size() * 95 + 99) / 100 - 1);
    std::nth_element(steps.begin(), steps.begin() + late, steps.end());
    return {mean, steps[static_cast<std::size_t>(late)]};
}

std::optional<std::int64_t> noisyBound(const OrderProblem& problem, const NoiseModel& noise,
                                       const JobControl& control) {
    if (noise.draws < 1 || problem.size() > kMostBound / noise.draws) return std::nullopt;
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> bounds;
    for (int draw = 0; draw < noise.draws; ++draw) {
        if (control.stopRequested()) return std::nullopt;
        drawTimes(problem, noise, draw, times);
        bounds.push_back(stepBound(problem.withTimes(times)).time);
    }
    return meanOf(bounds);
}

Improved improveUnderNoise(const OrderProblem& problem, const RankOrders& start, const NoiseModel& noise,
                           const ImproveOptions& options, const JobControl& control) {
    return NoisyClimb(problem, noise, options, control).run(start);
}

} // namespace bubblescope
