#pragma once

#include "core/families/registry.h"
#include "runtime/backend/backend.h"
#include "runtime/checks/rank_checker.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Runs whose times a report tells.

namespace bubblescope::runtime {

struct Measured {
    std::vector<StepTimeline> steps; ///< without the optimizer ops
    std::vector<TimeNs> whole;       ///< per step, from the start of its first op to the end of its last optimizer op
    std::vector<TimeNs> periods;     ///< from the start of each step to the start of the next
    std::vector<double> losses;
    std::int64_t peak = 0; ///< bytes that the ranks allocated on the GPU
    // Results of the run's checks:
    std::vector<CheckRecord> mismatches;
    std::vector<bool> checked; ///< by step: true if the step had checks
    std::int64_t equal = 0;    ///< number of checks without a difference
    std::int64_t left_out = 0; ///< number of aborted and skipped checks
};

inline Schedule scheduleOf(std::string name, int pp, int microbatches, int vpp) {
    ScheduleSpec spec;
    spec.name = std::move(name);
    spec.pp = pp;
    spec.microbatches = microbatches;
    spec.vpp = vpp;
    Result<Schedule> made = makeSchedule(spec);
    if (!made.ok()) throw std::runtime_error(made.error().text());
    return std::move(made).value();
}

/// A run on a GPU, once.
class Run {
public:
    Run(const std::shared_ptr<Accelerator>& gpu, Schedule schedule, ModelConfig model, CostModel times, bool paced)
        : backend_("cuda", gpu, Storage::Bf16, std::make_shared<MonotonicClock>()), schedule_(std::move(schedule)),
          model_(std::move(model)), times_(std::move(times)), paced_(paced) {}

    /// Gives each rank separate processors, so that a waiting rank leaves some of them unused. If the device does not
    /// support this, prints the reason on stderr, and all ranks share the device.
    void divide() {
        Result<std::unique_ptr<DividedDevice>> made = backend_.divide(schedule_.pp);
        if (made.ok()) {
            divided_ = std::move(made).value();
        } else {
            std::fprintf(stderr, "not divided: %s\n", made.error().text().c_str());
        }
    }

    /// Enables checks. If ops are not paced, checks may use a fraction `cost` of the time.
    void check(double cost, std::vector<Fault> faults = {}) {
        AadiffOptions options;
        options.cost = cost;
        faults_ = std::move(faults);
        Result<std::unique_ptr<CheckSetup>> made =
            CheckSetup::make({schedule_, times_, model_, paced_, false, 1, {}}, options);
        if (!made.ok()) throw std::runtime_error(made.error().text());
        checks_ = std::move(made).value();
        checks_->write = [this](Rank, const CheckRecord& check) {
            const std::lock_guard lock(mutex_);
            mismatches_.push_back(check);
        };
    }
    [[nodiscard]] const CheckSetup& checks() const { return *checks_; }

    Measured measure(int steps) {
        for (int r = 0; r < schedule_.pp; ++r)
            rings_.push_back(std::make_unique<profiler::RecordRing>(1 << 16));
        InProcessTransports transports(schedule_.pp, clock_, std::nullopt);
        EngineConfig config;
        config.schedule = schedule_;
        config.times = times_;
        config.steps = steps;
        config.paced = paced_;
        config.faults = faults_;
        EngineParts parts{.clock = clock_,
                          .make_stage = {},
                          .devices = EngineParts::Devices{[this] { return open(); },
                                                          [this](RankQueue& device, const StageTask& task) {
                                                              return backend_.makeStage(device, model_, task);
                                                          }},
                          .ranks = transports.ends(),
                          .attach = attachChecks(checks_.get())};
        for (const auto& ring : rings_)
            parts.rings.push_back(ring.get());
        JobControl control;
        Result<EngineResult> ran = runEngine(config, parts, control);
        if (!ran.ok()) throw std::runtime_error(ran.error().text());
        Measured measured;
        for (const std::vector<double>& shares : ran.value().losses)
            measured.losses.push_back(std::accumulate(shares.begin(), shares.end(), 0.0));
        for (const auto& queue : queues_)
            measured.peak += queue->reservedBytes();
        collect(measured, steps);
        measured.mismatches = mismatches_;
        return measured;
    }

private:
    std::shared_ptr<RankQueue> open() {
        std::shared_ptr<RankQueue> rank = divided_ ? divided_->openRank() : backend_.openRank();
        const std::lock_guard lock(mutex_);
        queues_.push_back(std::dynamic_pointer_cast<RankQueue>(rank));
        return rank;
    }

    void collect(Measured& measured, int steps) {
        measured.steps.resize(static_cast<std::size_t>(steps));
        measured.checked.resize(measured.steps.size());
        std::vector<TimeNs> ends(measured.steps.size(), TimeNs::min());
        for (StepTimeline& step : measured.steps) {
            step.pp = schedule_.pp;
            step.microbatches = schedule_.microbatches;
            step.vpp = schedule_.vpp;
            step.placement = schedule_.placement;
            step.ranks.resize(rings_.size());
            step.comm.resize(rings_.size());
        }
        for (std::size_t r = 0; r < rings_.size(); ++r) {
            std::vector<profiler::SliceRecord> records;
            rings_[r]->drain(records);
            for (const profiler::SliceRecord& record : records) {
                if (record.category == profiler::SliceRecord::Category::Check) {
                    ++(record.asCheck().outcome == CheckOutcome::Equal ? measured.equal : measured.left_out);
                    measured.checked[static_cast<std::size_t>(record.step)] = true;
                }
                if (record.category != profiler::SliceRecord::Category::Op) continue;
                const auto at = static_cast<std::size_t>(record.step);
                ends[at] = std::max(ends[at], record.end);
                if (record.kind == OpKind::Optimizer) continue;
                TimelineOp& op = measured.steps[at].ranks[r].emplace_back(record.asOp());
                measured.steps[at].setDetails(op, record.opDetails());
            }
        }
        for (std::size_t i = 0; i < measured.steps.size(); ++i) {
            measured.steps[i].index = static_cast<int>(i);
            measured.steps[i].fitWindow();
            measured.whole.push_back(ends[i] - measured.steps[i].begin);
            if (i > 0) measured.periods.push_back(measured.steps[i].begin - measured.steps[i - 1].begin);
        }
    }

    Backend backend_;
    std::unique_ptr<DividedDevice> divided_;
    Schedule schedule_;
    ModelConfig model_;
    CostModel times_;
    bool paced_;
    std::vector<Fault> faults_;
    std::unique_ptr<CheckSetup> checks_;
    std::vector<CheckRecord> mismatches_;
    MonotonicClock clock_;
    std::mutex mutex_;
    std::vector<std::shared_ptr<RankQueue>> queues_;
    std::vector<std::unique_ptr<profiler::RecordRing>> rings_;
};

/// Time after which no new work may start.
class Budget {
public:
    explicit Budget(std::optional<int> seconds) {
        if (seconds) end_ = std::chrono::steady_clock::now() + std::chrono::seconds(*seconds);
    }
    [[nodiscard]] bool left() const { return !end_ || std::chrono::steady_clock::now() < *end_; }

private:
    std::optional<std::chrono::steady_clock::time_point> end_;
};

inline double seconds(TimeNs time) {
    return static_cast<double>(time.count()) * 1e-9;
}

/// Median of all steps except the first, which loads kernels and allocates memory.
inline TimeNs median(std::vector<TimeNs> times) {
    times.erase(times.begin());
    std::ranges::sort(times);
    return times[times.size() / 2];
}

/// Measures the cost of checks in bubbles: steps of one run with and without checks, for a model of this width. Ops
/// take as long as their kernels.
void reportCheckedSteps(const std::shared_ptr<Accelerator>& gpu, const Budget& budget, bool graphs, int width);

/// A small campaign: flips one bit in a checked value in the second step of each run.
void reportCampaign(const std::shared_ptr<Accelerator>& gpu, const Budget& budget, int width);

} // namespace bubblescope::runtime
