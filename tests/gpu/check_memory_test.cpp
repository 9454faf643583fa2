// The memory that checks in bubbles add to ranks on a device: it is known before a run.

#include "runtime/checks/check_memory.h"
#include "tests/gpu/checked_device_run.h"
#include "tests/support/emulated_device.h"
#include "tests/unit/runtime/schedules.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

struct Peaks {
    std::vector<std::int64_t> measured;  ///< by rank
    std::vector<std::int64_t> predicted; ///< of checks
};

Peaks peaksOf(const Schedule& schedule, const std::optional<AadiffOptions>& checks) {
    DeviceRun made(schedule, Storage::Bf16);
    ModelConfig& model = made.run.model;
    model.width = 64;
    model.sequence = 48;
    made.run.aadiff = checks;
    std::mutex mutex;
    std::vector<std::shared_ptr<RankQueue>> queues(schedule.ranks.size());
    auto& make = made.run.devices->make_stage;
    make = [&, stage = make](RankQueue& rank, const StageTask& task) {
        const std::lock_guard lock(mutex);
        queues[locate(schedule.placement, schedule.pp, Stage{task.place}).rank.index()] = rank.shared();
        return stage(rank, task);
    };
    made.train(2);
    Peaks peaks;
    for (std::size_t rank = 0; rank < queues.size(); ++rank) {
        std::int64_t bytes = queues[rank]->peakBytes();
        if (checks) {
            bytes += queues[rank]->checks().pool().peak();
            peaks.predicted.push_back(checkMemoryOf(*made.run.checks, schedule, model, Rank{rank}, 2));
        }
        peaks.measured.push_back(bytes);
    }
    return peaks;
}

TEST(CheckMemory, IsAtMostWhatIsPredicted) {
    for (const auto& [name, vpp] : {std::pair{"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"zb-v", 2}}) {
        const Schedule schedule = scheduleOf(name, 4, 8, vpp);
        const Peaks plain = peaksOf(schedule, std::nullopt);
        for (const bool digests : {true, false}) {
            SCOPED_TRACE(std::string(name) + (digests ? " with digests" : ""));
            AadiffOptions options;
            options.digests = digests;
            const Peaks checked = peaksOf(schedule, options);
            for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
                const std::int64_t added = checked.measured[rank] - plain.measured[rank];
                EXPECT_GT(added, 0) << rank;
                EXPECT_LE(added, checked.predicted[rank]) << rank;
                EXPECT_LE(checked.predicted[rank], 3 * added) << rank << ": not out of proportion";
            }
        }
    }
}

TEST(CheckMemory, IsLimitedByTheOption) {
    const Schedule schedule = scheduleOf("1f1b", 4, 8);
    const Peaks all = peaksOf(schedule, AadiffOptions());
    AadiffOptions options;
    options.memory = 1 << 18;
    const Peaks limited = peaksOf(schedule, options);
    const Peaks plain = peaksOf(schedule, std::nullopt);
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        EXPECT_LT(limited.predicted[rank], all.predicted[rank]) << rank;
        EXPECT_LE(limited.measured[rank] - plain.measured[rank], limited.predicted[rank]) << rank;
    }
}

} // namespace
} // namespace bubblescope::runtime::test
