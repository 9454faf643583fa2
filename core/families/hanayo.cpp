// Hanayo's waves (Liu et al., 2023): V placement with v = 2W chunks per rank. A micro-batch runs down and up the ranks
// W times, and its gradient runs back as often. The order is greedy, on a clock that ticks once per op: a free rank
// runs a backward if one is ready, otherwise a forward, and the oldest micro-batch comes first. There is no published
// program of the authors for comparison.

#include "core/families/families.h"

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace bubblescope {
namespace {

/// A step on a micro-batch's path: forwards are steps 0 to S−1, backwards S to 2S−1, for S stages.
struct WaveStep {
    bool forward;
    int microbatch;
    int step;
    /// Smaller steps run first.
    friend auto operator<=>(const WaveStep&, const WaveStep&) = default;
};

class GreedyWaves {
public:
    explicit GreedyWaves(const Schedule& schedule)
        : pp_(schedule.pp), stages_(schedule.stages()), ready_(static_cast<std::size_t>(pp_)) {
        for (int m = 0; m < schedule.microbatches; ++m)
            ready_.front().push({true, m, 0});
        left_ = std::int64_t{schedule.microbatches} * stages_ * 2;
    }

    std::vector<std::vector<Op>> run() {
        std::vector<std::vector<Op>> ranks(ready_.size());
        std::vector<WaveStep> done;
        while (left_ > 0) {
            done.clear();
            for (std::size_t r = 0; r < ready_.size(); ++r) {
                if (ready_[r].empty()) continue;
                done.push_back(ready_[r].top());
                ready_[r].pop();
                ranks[r].push_back(opOf(done.back()));
            }
            for (const WaveStep& step : done)
                passOn(step);
            left_ -= static_cast<std::int64_t>(done.size());
        }
        return ranks;
    }

private:
    using Ready = std::priority_queue<WaveStep, std::vector<WaveStep>, std::greater<>>;

    [[nodiscard]] Location at(const WaveStep& step) const {
        const int stage = step.forward ? step.step : 2 * stages_ - 1 - step.step;
        return locate(Placement::V, pp_, Stage{stage});
    }

    [[nodiscard]] Op opOf(const WaveStep& step) const {
        return {step.forward ? OpKind::Forward : OpKind::Backward, Microbatch{step.microbatch}, at(step).chunk};
    }

    void passOn(const WaveStep& step) {
        const int next = step.step + 1;
        if (next == 2 * stages_) return;
        const WaveStep following{next < stages_, step.microbatch, next};
        ready_[at(following).rank.index()].push(following);
    }

    int pp_;
    int stages_;
    std::int64_t left_ = 0;
    std::vector<Ready> ready_; ///< per rank
};

Result<Schedule> generateHanayo(const ScheduleSpec& spec) {
    if (spec.vpp % 2 != 0) {
        return usageError(fmt::format("hanayo needs two chunks per rank for each wave, not {} in total", spec.vpp),
                          fmt::format("use {} for one wave, 4 for two, …", Field("vpp").is(2)));
    }
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = GreedyWaves(schedule).run();
    return schedule;
}

} // namespace

ScheduleFamily hanayoFamily() {
    return {.name = "hanayo",
            .title = "Hanayo (waves)",
            .placement = Placement::V,
            .limits = "m ≥ 1, v even (two per wave)",
            .generate = generateHanayo};
}

} // namespace bubblescope
