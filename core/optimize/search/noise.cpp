#include "core/optimize/search/noise.h"

#include "core/optimize/search/order_evaluator.h"

#include <algorithm>
#include <cmath>

namespace bubblescope {
namespace {

/// A mixed hash of draw and op (the finaliser of SplitMix64), as an even draw from -1 to 1.
double evenDraw(std::uint64_t seed, std::uint64_t draw, std::uint64_t op) {
    std::uint64_t x = seed + 0x9E3779B97F4A7C15U * (draw * 0x100000001B3U + op + 1);
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    x ^= x >> 31U;
    return static_cast<double>(x >> 11U) * 0x1p-52 - 1;
}

} // namespace

NoisySteps noisySteps(const OrderProblem& problem, const RankOrders& orders, const std::vector<char>& fused,
                      const NoiseModel& noise) {
    OrderEvaluator evaluator(problem);
    if (noise.draws < 1 || !evaluator.assign(orders)) return {};
    const auto count = static_cast<std::size_t>(problem.size());
    std::vector<std::int64_t> time(count);
    std::vector<std::int64_t> end(count); // of the op
    std::vector<std::int64_t> free(static_cast<std::size_t>(problem.sizes().pp));
    std::vector<std::int64_t> steps;
    for (int draw = 0; draw < noise.draws; ++draw) {
        for (std::size_t i = 0; i < count; ++i) {
            const double factor = 1 + noise.share * evenDraw(noise.seed, static_cast<std::uint64_t>(draw), i);
            time[i] = std::llround(static_cast<double>(problem.ops()[i].time) * factor);
        }
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
    std::int64_t whole = 0;
    std::int64_t rest = 0;
    for (const std::int64_t step : steps) {
        whole += step / noise.draws;
        rest += step % noise.draws;
    }
    const auto late = static_cast<std::ptrdiff_t>((steps.size() * 95 + 99) / 100 - 1);
    std::nth_element(steps.begin(), steps.begin() + late, steps.end());
    return {whole + rest / noise.draws, steps[static_cast<std::size_t>(late)]};
}

} // namespace bubblescope
