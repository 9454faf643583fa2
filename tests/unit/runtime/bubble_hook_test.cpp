// Hooks in bubbles: at every one that the schedule has, and after the rank's sends.

#include "runtime/engine/bubble_hook.h"

#include "core/graph/validate.h"
#include "runtime/run.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using Seen = std::tuple<int, Position, TimeNs>; ///< step, position, length

TEST(BubbleHook, IsCalledAtEveryBubbleOfEveryFamily) {
    int families = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const int vpp : {1, 2}) {
            auto made = makeSchedule({std::string(family.name), "", 4, 8, vpp});
            if (!made.ok() || !validate(made.value()).empty() || made.value().vpp != vpp) continue;
            ++families;
            test::EngineRun run(made.value(), test::someTimes(1ms));
            std::mutex mutex;
            std::vector<std::vector<Seen>> seen(4);
            run.bubble_hook = [&](const BubbleMoment& moment) {
                const std::lock_guard lock(mutex);
                EXPECT_EQ(moment.rank, moment.world_rank);
                seen[moment.rank.index()].emplace_back(moment.step, moment.place.position, moment.place.expected);
            };
            const Result<EngineResult> result = run.run();
            ASSERT_TRUE(result.ok()) << result.error().text();
            const auto bubbles = findBubbles(simulate(run.schedule, run.times).value());
            for (std::size_t r = 0; r < seen.size(); ++r) {
                std::vector<Seen> expected;
                for (int step = 0; step < run.steps; ++step) {
                    for (const Bubble& bubble : bubbles[r])
                        expected.emplace_back(step, bubble.position, bubble.duration());
                }
                EXPECT_EQ(seen[r], expected) << family.name << " v=" << vpp << ", rank " << r;
            }
        }
    }
    EXPECT_GT(families, 15);
}

/// A bubble before its op's data is waited for: the data that another rank needs must be on its way, whatever the hook
/// does.
TEST(BubbleHook, ComesAfterTheSends) {
    class Signal {
    public:
        void set() {
            {
                const std::lock_guard lock(mutex_);
                set_ = true;
            }
            changed_.notify_all();
        }
        [[nodiscard]] bool waitFor(std::chrono::seconds most) {
            std::unique_lock lock(mutex_);
            return changed_.wait_for(lock, most, [this] { return set_; });
        }

    private:
        std::mutex mutex_;
        std::condition_variable changed_;
        bool set_ = false;
    };
    // Rank 1 reaches its last bubble when it has run the backward of everything that rank 0 sent before its own.
    RunConfig config;
    config.schedule = test::scheduleOf("fthenb", 2, 3);
    config.paced = false;
    config.steps = 1;
    Signal second_is_through;
    bool heard = false;
    config.bubble_hook = [&](const BubbleMoment& moment) {
        if (moment.rank == Rank{1} && moment.place.position == Position::AfterCooldown) second_is_through.set();
        if (moment.rank == Rank{0} && moment.place.position == Position::ForwardToBackward)
            heard = second_is_through.waitFor(30s);
    };
    JobControl control;
    const auto ran = runPipeline(config, control);
    ASSERT_TRUE(ran.ok()) << ran.error().text();
    EXPECT_TRUE(heard) << "rank 0's forwards were kept back by its hook";
}

TEST(BubbleHook, ThatThrowsEndsTheRun) {
    RunConfig config;
    config.schedule = test::scheduleOf("1f1b", 2, 2);
    config.paced = false;
    config.bubble_hook = [](const BubbleMoment& moment) {
        if (moment.rank == Rank{1}) throw std::runtime_error("no more");
    };
    JobControl control;
    const auto ran = runPipeline(config, control);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().kind, ErrorKind::Run);
    EXPECT_THAT(ran.error().message, ::testing::HasSubstr("rank 1"));
    EXPECT_THAT(ran.error().message, ::testing::HasSubstr("no more"));
}

} // namespace
} // namespace bubblescope::runtime
