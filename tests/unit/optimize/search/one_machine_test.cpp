#include "core/optimize/search/one_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace bubblescope::test {
namespace {

/// The largest of least head, work and least tail over all sets.
std::int64_t overAllSets(const std::vector<MachineJob>& jobs) {
    std::int64_t longest = std::numeric_limits<std::int64_t>::min();
    for (unsigned set = 1; set < 1U << jobs.size(); ++set) {
        std::int64_t head = std::numeric_limits<std::int64_t>::max();
        std::int64_t after = head;
        std::int64_t work = 0;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if ((set >> i & 1U) == 0) continue;
            head = std::min(head, jobs[i].head);
            after = std::min(after, jobs[i].after);
            work += jobs[i].work;
        }
        longest = std::max(longest, head + work + after);
    }
    return longest;
}

TEST(OneMachine, FindsTheSetThatTakesLongest) {
    std::mt19937_64 random(3);
    const auto below = [&random](int most) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
    };
    for (int draw = 0; draw < 300; ++draw) {
        std::vector<MachineJob> jobs(1 + random() % 9);
        for (MachineJob& job : jobs)
            job = {below(40), 1 + below(10), below(40)};
        const MachineBound bound = machineBound(jobs);
        EXPECT_EQ(bound.time, overAllSets(jobs));
        EXPECT_EQ(bound.time, bound.head + bound.work + bound.after);
    }
}

TEST(OneMachine, IsNothingWithoutJobs) {
    EXPECT_EQ(machineBound({}).time, 0);
}

} // namespace
} // namespace bubblescope::test
