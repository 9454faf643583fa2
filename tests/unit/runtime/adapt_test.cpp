// A run that changes its order when a rank, a link or jitter makes it slower: how much time it recovers, that it never
// loses any, and that its weights stay those of training without a pipeline. Steps are simulated with the run's faults,
// which a paced run equals to the nanosecond (FaultyCosts.AreThoseOfAPacedRun).

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "runtime/adapt/order_adapter.h"
#include "runtime/faulty_times.h"
#include "tests/unit/runtime/trained_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bubblescope::runtime {
namespace {

CostModel adaptTimes() {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{5'000'000}, TimeNs{10'000'000}, {}, {}).value();
    costs.comm = TimeNs{500'000};
    return costs;
}

std::vector<Fault> parsed(const std::vector<std::string>& texts) {
    std::vector<Fault> faults;
    for (const std::string& text : texts)
        faults.push_back(parseFault(text).value());
    return faults;
}

struct AdaptedSteps {
    TimeNs healthy{0};
    TimeNs faulty{0};  ///< mean of the last steps without a change
    TimeNs adapted{0}; ///< mean of the same steps with changes
    double worst = 0;  ///< largest loss in a step, as a fraction
    std::vector<OrderChange> changes;
    int peak = 0; ///< activations on any rank in any step

    [[nodiscard]] double recovered() const {
        return static_cast<double>((faulty - adapted).count()) / static_cast<double>((faulty - healthy).count());
    }
};

AdaptedSteps adapt(const Schedule& schedule, const std::vector<Fault>& faults, int steps) {
    constexpr int kCounted = 8; // the last ones
    const CostModel costs = adaptTimes();
    OrderAdapter adapter({schedule, {}}, costs, true);
    AdaptedSteps result;
    result.healthy = simulate(schedule, costs).value().wall();
    RunOrder now{schedule, {}};
    std::optional<RunOrder> next;
    for (int n = 0; n < steps; ++n) {
        const CostModel here = faultyCosts(now.schedule, costs, faults, n).value();
        const Schedule order =
            now.dispatch.dynamic() ? dispatched(now.schedule, here, now.dispatch).value() : now.schedule;
        result.peak = std::max(result.peak, std::ranges::max(peakActivations(order)));
        StepTimeline step = simulate(order, here).value();
        step.index = n;
        const TimeNs nothing = simulate(schedule, faultyCosts(schedule, costs, faults, n).value()).value().wall();
        result.worst = std::max(result.worst, static_cast<double>((step.wall() - nothing).count()) /
                                                  static_cast<double>(nothing.count()));
        if (n >= steps - kCounted) {
            result.adapted += step.wall() / kCounted;
            result.faulty += nothing / kCounted;
        }
        if (next) now = std::move(*next); // takes effect one step later, as in a run
        next = adapter.learn(step);
    }
    result.changes = adapter.changes();
    return result;
}

TEST(OrderAdapter, RecoversFromLateLinks) {
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 16, 1}).value();
    for (const char* const link : {"link:1>2,latency=10ms", "link:2>3,latency=20ms"}) {
        const AdaptedSteps ran = adapt(schedule, parsed({link}), 16);
        EXPECT_GT(ran.recovered(), 0.589) << link;
        EXPECT_LE(ran.worst, 0.01) << link;
        EXPECT_LE(ran.peak, 4) << "no more memory than before";
        ASSERT_FALSE(ran.changes.empty());
        EXPECT_NE(ran.changes.front().cause.find("transfers from rank"), std::string::npos)
            << ran.changes.front().cause;
    }
}

TEST(OrderAdapter, NeverLosesToDoingNothing) {
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 16, 1}).value();
    for (const auto& faults :
         {std::vector<std::string>{}, {"slow:rank=2,factor=1.5"}, {"jitter:sigma=20%"}, {"slow:rank=0,factor=1.2"}}) {
        const AdaptedSteps ran = adapt(schedule, parsed(faults), 16);
        EXPECT_LE(ran.adapted, ran.faulty + ran.faulty / 100);
        EXPECT_LE(ran.peak, 4);
    }
}

TEST(OrderAdapter, NamesTheCause) {
    const Schedule schedule = makeSchedule({"interleaved", "", 4, 8, 2}).value();
    const AdaptedSteps late = adapt(schedule, parsed({"link:3>0,latency=40ms"}), 4);
    ASSERT_FALSE(late.changes.empty());
    EXPECT_NE(late.changes.front().cause.find("from rank 3 to 0"), std::string::npos) << late.changes.front().cause;
    const AdaptedSteps slow = adapt(schedule, parsed({"slow:rank=1,factor=2"}), 4);
    ASSERT_FALSE(slow.changes.empty());
    EXPECT_EQ(slow.changes.front().cause, "rank 1 takes 2.00 × its expected time");
}

TEST(OrderAdapter, LosesNothingWhenTheFaultHasPassed) {
    const Schedule schedule = makeSchedule({"zb-h1", "", 4, 16, 1}).value();
    const AdaptedSteps ran = adapt(schedule, parsed({"link:1>2,latency=10ms,to=4"}), 20);
    EXPECT_FALSE(ran.changes.empty());
    EXPECT_LE(ran.adapted, ran.healthy + ran.healthy / 100);
}

TEST(AdaptedRun, TrainsToTheReferencesWeights) {
    RunConfig config = test::smallRun(makeSchedule({"1f1b", "", 4, 8, 1}).value());
    config.paced = true;
    config.steps = 8;
    config.times.times = makeOpTimes(TimeNs{1'000'000}, TimeNs{2'000'000}, {}, {}).value();
    config.pace_tolerance = TimeNs{3'600'000'000'000};
    config.faults = parsed({"link:1>2,latency=6ms"});
    config.adapt = true;
    config.adapt_waits = true;
    EXPECT_FALSE(test::expectTheReferencesWeights(config).order_changes.empty());
}

} // namespace
} // namespace bubblescope::runtime
