// A thousand steps must not need more memory than the first ones.

#include "tests/support/child_process.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <malloc.h>
#include <string>

namespace bubblescope::runtime {
namespace {

constexpr int kSteps = 1000;
constexpr int kWarmUp = 100;

/// The memory that all threads have allocated and not freed.
std::int64_t heldBytes() {
    const auto info = ::mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

TEST(Endurance, AThousandStepsDoNotGrow) {
    if (bubblescope::test::kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    const auto child = bubblescope::test::inChild([] {
        test::EngineRun run(test::scheduleOf("zb-h1", 3, 6), test::someTimes(TimeNs{0}));
        run.paced = false;
        run.steps = kSteps;
        run.faults = {parseFault("slow:rank=1,factor=1.5").value(), parseFault("stall:0>1,for=1ns").value()};
        int step = 0;
        std::int64_t begin = 0;
        std::int64_t end = 0;
        run.after_step = [&]() -> Status {
            ++step;
            if (step == kWarmUp) begin = heldBytes();
            if (step == kSteps) end = heldBytes();
            return {};
        };
        const Result<EngineResult> result = run.run();
        return result.ok() ? std::to_string(end - begin) : result.error().text();
    });
    ASSERT_EQ(child.exit_code, 0) << child.said;
    // Other ranks are already in the next step, and hold what they hold there.
    constexpr long kNoise = 32 * 1024;
    EXPECT_LT(std::stol(child.said), kNoise) << "bytes in " << kSteps - kWarmUp << " steps";
}

} // namespace
} // namespace bubblescope::runtime
