#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/clocks/line_set.h"
#include "core/analysis/clocks/solve.h"
#include "core/formats/read_trace.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bubblescope {
namespace {

using test::sharedDir;

/// A clock that shows T + offset + drift * T.
struct TrueClock {
    double offset = 0;
    double drift = 0;
    [[nodiscard]] TimeNs show(double time) const { return TimeNs{std::llround(time + offset + drift * time)}; }
};

double distance(const ClockFit& fit, const TrueClock& clock, double time) {
    const double estimate =
        static_cast<double>(fit.offset.count()) + fit.drift * (time - static_cast<double>(fit.origin.count()));
    return std::abs(estimate - (clock.offset + clock.drift * time));
}

TEST(LineSet, IsThePolygonOfItsInequalities) {
    LineSet lines(10);
    lines.keepBelow(0, 5);
    lines.keepAbove(0, -5);
    EXPECT_NEAR(lines.atEnd().high, 15, 1);
    lines.keepBelow(0.5, 0);
    EXPECT_NEAR(lines.atBegin().high, 5, 1e-3);
    EXPECT_NEAR(lines.atEnd().high, 5, 0.5) << "a line from -5 to 5 is 0 in the middle";
    lines.keepAbove(1, 6);
    EXPECT_TRUE(lines.empty());
}

TEST(LineSet, KeepsOnlyBoundsThatCanTouch) {
    const auto upper = tightestUpper({{0, 1}, {0.5, 3}, {1, 1}, {0, 2}, {0.25, 0}});
    ASSERT_EQ(upper.size(), 3U);
    EXPECT_EQ(upper[1].place, 0.25);
    EXPECT_EQ(tightestLower({{0, 1}, {0.5, 3}, {1, 1}}).size(), 3U);
    EXPECT_EQ(tightestLower({{0, 1}, {0.5, -3}, {1, 1}}).size(), 2U);
}

/// Three clocks that exchange messages for two seconds; one of them is set ahead in the middle.
struct SetAhead {
    int clock = 0;
    double size = 0;
    double at = 1.0e9;
    double drift = 0; ///< of the third clock

    [[nodiscard]] TimeNs show(int which, double time) const {
        const double offset = 3e6 * which + (which == 2 ? drift * time : 0);
        return TimeNs{std::llround(time + offset + (which == clock && time >= at ? size : 0))};
    }
    [[nodiscard]] std::vector<Precedence> events(std::uint64_t seed) const {
        std::mt19937_64 random(seed);
        std::exponential_distribution<double> delay(1.0 / 20e3);
        std::vector<Precedence> events;
        for (double time = 0; time < 2e9; time += 2e6) {
            for (int from = 0; from < 3; ++from) {
                for (const int to : {(from + 1) % 3, (from + 2) % 3}) {
                    const double sent = time + from * 0.3e6 + to * 0.1e6;
                    events.push_back({from, to, show(from, sent), show(to, sent + 4'000 + delay(random))});
                }
            }
        }
        return events;
    }
};

constexpr TimeNs kTolerance{10'000};

TEST(SteppedClocks, FindsWhichClockWasSetWhenAndByHowMuch) {
    for (const int clock : {0, 1, 2}) {
        for (const double size : {-0.1e6, 0.1e6, 0.5e6, 2.2e6, -2.2e6, 50e6}) {
            const SetAhead truth{clock, size};
            const auto events = truth.events(7);
            EXPECT_GT(solveClocks(3, events, {})[1].residual, kTolerance);
            const auto fits = solveSteppedClocks(3, events, {}, {}, kTolerance);
            for (int c = 0; c < 3; ++c) {
                const ClockFit& fit = fits[static_cast<std::size_t>(c)];
                ASSERT_EQ(fit.later.size(), c == clock ? 1U : 0U) << clock << " " << size << " " << c;
                EXPECT_LE(fit.residual, kTolerance);
                if (c != clock) continue;
                const ClockSpan& span = fit.later.front();
                const double found = static_cast<double>((span.offset - fit.offset).count());
                EXPECT_NEAR(found, size, 2 * static_cast<double>(fit.bound.count())) << clock << " " << size;
                const double at = static_cast<double>(fit.toReference(span.from).count());
                EXPECT_NEAR(at, truth.at, static_cast<double>(span.within.count()) + 10e6) << clock << " " << size;
            }
            // Times on both sides are converted back to the first clock as it was before.
            for (const double time : {0.2e9, 0.9e9, 1.1e9, 1.9e9}) {
                for (int c = 0; c < 3; ++c) {
                    const ClockFit& fit = fits[static_cast<std::size_t>(c)];
                    EXPECT_NEAR(static_cast<double>(fit.toReference(truth.show(c, time)).count()), time,
                                static_cast<double>(fit.bound.count()) + 10)
                        << clock << " " << size << " " << c << " " << time;
                }
            }
        }
    }
}

TEST(SteppedClocks, LeavesClocksAloneThatNobodySet) {
    const auto events = SetAhead{1, 0}.events(3);
    for (const ClockFit& fit : solveSteppedClocks(3, events, {}, {}, kTolerance))
        EXPECT_TRUE(fit.later.empty());
    // One wrong event is not a step.
    auto wrong = events;
    wrong[1000].after -= TimeNs{5'000'000};
    const auto fits = solveSteppedClocks(3, wrong, {}, {}, kTolerance);
    const auto plain = solveClocks(3, wrong, {});
    for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_TRUE(fits[c].later.empty()) << c;
        EXPECT_EQ(fits[c].offset, plain[c].offset);
    }
}

TEST(SteppedClocks, FindsSeveralSteps) {
    SetAhead truth{1, 1e6, 0.5e9};
    auto events = truth.events(11);
    for (Precedence& event : events) { // and back later
        if (event.before_clock == 1 && event.before >= TimeNs{1'404'000'000}) event.before -= TimeNs{700'000};
        if (event.after_clock == 1 && event.after >= TimeNs{1'404'000'000}) event.after -= TimeNs{700'000};
    }
    const auto fits = solveSteppedClocks(3, events, {}, {}, kTolerance);
    ASSERT_EQ(fits[1].later.size(), 2U);
    EXPECT_NEAR(static_cast<double>((fits[1].later[0].offset - fits[1].offset).count()), 1e6, 30e3);
    EXPECT_NEAR(static_cast<double>((fits[1].later[1].offset - fits[1].later[0].offset).count()), -0.7e6, 30e3);
}

TEST(SolveClocks, ErrorsHoldForClocksThatDriftByAThousandthPart) {
    for (const double ppm : {100.0, 300.0, 1000.0, -1000.0}) {
        const SetAhead truth{0, 0, 0, ppm * 1e-6};
        const auto fits = solveClocks(3, truth.events(5), {});
        EXPECT_LE(fits[2].residual, TimeNs{100}) << ppm;
        for (const double time : {0.0, 0.7e9, 1.9e9}) {
            EXPECT_NEAR(static_cast<double>(fits[2].toReference(truth.show(2, time)).count()), time,
                        static_cast<double>(fits[2].bound.count()) + 10)
                << ppm;
        }
    }
}

TEST(SolveClocks, APingIsOffByHalfItsRoundTripAtMost) {
    std::vector<Precedence> events;
    // The replier shows 1000 more; 30 there, 10 back.
    addPing({0, 1, TimeNs{100}, TimeNs{1130}, TimeNs{1150}, TimeNs{160}}, events);
    const auto fits = solveClocks(2, events, {});
    EXPECT_EQ(fits[1].group, 0);
    EXPECT_EQ(fits[1].offset.count(), 1010);
    EXPECT_GE(fits[1].bound.count(), 20);
    EXPECT_LE(fits[1].bound.count(), 22);
    EXPECT_EQ(fits[1].toReference(TimeNs{1130}).count(), 120);
}

TEST(SolveClocks, RelatesNoClocksThatShareNothingOrHearOneWayOnly) {
    const std::vector<Precedence> events{
        {0, 1, TimeNs{5}, TimeNs{9}}, {2, 3, TimeNs{5}, TimeNs{9}}, {3, 2, TimeNs{15}, TimeNs{19}}};
    const auto fits = solveClocks(5, events, {});
    EXPECT_EQ(fits[1].group, 1) << "nothing came back";
    EXPECT_EQ(fits[2].group, 2);
    EXPECT_EQ(fits[3].group, 2);
    EXPECT_EQ(fits[4].group, 4);
}

/// Random clocks, topologies and delays: the truth is within the stated bound at all times of the events.
TEST(SolveClocks, HoldsItsBoundOnRandomClocks) {
    std::mt19937_64 random(20);
    const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (int round = 0; round < 60; ++round) {
        const int clocks = 2 + round % 7;
        const double length = round % 3 == 0 ? 5e7 : 3e9;
        std::vector<TrueClock> truth(static_cast<std::size_t>(clocks));
        for (std::size_t i = 1; i < truth.size(); ++i)
            truth[i] = {uniform(-2e9, 2e9), round % 2 == 0 ? 0 : uniform(-90e-6, 90e-6)};
        std::vector<Precedence> events;
        double fastest = 1e18;
        for (int i = 0; i < 400; ++i) {
            const int from = static_cast<int>(uniform(0, clocks - 1e-9));
            // A chain of neighbours, as in a pipeline; some talk beyond it.
            const int step = i % 2 == 0 ? 1 : -1;
            const int to = i % 10 == 9 ? (from + 1) % clocks : from + step;
            if (to < 0 || to >= clocks || to == from) continue;
            const double sent = uniform(0, length);
            const double delay = 8'000 + std::exponential_distribution<double>(1.0 / 40'000)(random);
            fastest = std::min(fastest, delay);
            events.push_back({from, to, truth[static_cast<std::size_t>(from)].show(sent),
                              truth[static_cast<std::size_t>(to)].show(sent + delay)});
        }
        const auto fits = solveClocks(clocks, events, {});
        for (std::size_t i = 0; i < truth.size(); ++i) {
            ASSERT_EQ(fits[i].group, 0) << round;
            EXPECT_LE(fits[i].residual.count(), 2) << "only rounding to nanoseconds is to be eased";
            const auto bound = static_cast<double>(fits[i].bound.count()) + 2;
            for (const double time : {0.05 * length, 0.5 * length, 0.95 * length})
                EXPECT_LE(distance(fits[i], truth[i], time), bound) << round << " clock " << i;
            EXPECT_LT(bound, 1e6) << "hundreds of messages tell more";
        }
    }
}

TEST(SolveClocks, FindsADriftWhereNoOffsetWillDo) {
    const TrueClock drifting{5e6, 40e-6};
    std::vector<Precedence> events;
    for (int i = 0; i < 2000; ++i) {
        const double time = 1e6 * i;
        events.push_back({0, 1, TimeNs{static_cast<std::int64_t>(time)}, drifting.show(time + 5'000)});
        events.push_back({1, 0, drifting.show(time + 20'000), TimeNs{static_cast<std::int64_t>(time) + 26'000}});
    }
    const auto fits = solveClocks(2, events, {});
    EXPECT_NEAR(fits[1].drift * 1e6, 40, 3);
    EXPECT_LE(fits[1].bound.count(), 12'000);
    EXPECT_LE(distance(fits[1], drifting, 1e9), static_cast<double>(fits[1].bound.count()));
    // A time of the drifting clock is converted back to the time of the reference.
    EXPECT_NEAR(static_cast<double>(fits[1].toReference(drifting.show(1.5e9)).count()), 1.5e9,
                static_cast<double>(fits[1].bound.count()));
}

TEST(SolveClocks, SaysByHowMuchEventsContradictEachOther) {
    std::vector<Precedence> events;
    addPing({0, 1, TimeNs{0}, TimeNs{50}, TimeNs{60}, TimeNs{100}}, events);
    addPing({0, 1, TimeNs{200}, TimeNs{10'250}, TimeNs{10'260}, TimeNs{300}}, events); // 10 us later on the clock
    const auto fits = solveClocks(2, events, {});
    EXPECT_NEAR(static_cast<double>(fits[1].residual.count()), 4955, 100);
    EXPECT_GE(fits[1].bound, fits[1].residual);
}

TEST(SolveClocksOfOutsideTraces, RecoversSkewsFromCollectives) {
    BUBBLESCOPE_NEED_TRACES("param-dlrm-8rank");
    JobControl control;
    const auto read = readTraces({test::realTrace("param-dlrm-8rank")}, control);
    ASSERT_TRUE(read.ok());
    RawTrace whole(read.value().trace);
    auto collectives = matchCollectives(extractCollectives(whole).value());
    ASSERT_EQ(collectives.size(), 8U) << "5 all-to-alls, 3 all-reduces";
    std::mt19937_64 random(3);
    for (int round = 0; round < 20; ++round) {
        std::vector<TrueClock> truth(8);
        for (std::size_t i = 1; i < truth.size(); ++i) {
            truth[i].offset = std::uniform_real_distribution<double>(-5e8, 5e8)(random);
            truth[i].drift = std::uniform_real_distribution<double>(-50e-6, 50e-6)(random);
        }
        auto skewed = collectives;
        std::vector<int> clock_of_file;
        for (int f = 0; f < 8; ++f)
            clock_of_file.push_back(f);
        for (MatchedCollective& collective : skewed) {
            ASSERT_EQ(collective.members.size(), 8U);
            for (CollectiveSpan& span : collective.members) {
                span.start = truth[span.file].show(static_cast<double>(span.start.count()));
                span.end = truth[span.file].show(static_cast<double>(span.end.count()));
            }
        }
        std::vector<Precedence> precedences;
        std::vector<Coincidence> coincidences;
        addCollectives(skewed, clock_of_file, TimeNs{20'000}, precedences, coincidences);
        const auto fits = solveClocks(8, precedences, coincidences);
        for (std::size_t i = 1; i < truth.size(); ++i) {
            EXPECT_EQ(fits[i].group, 0);
            EXPECT_LE(fits[i].bound.count(), 40'000);
            EXPECT_LE(distance(fits[i], truth[i], 12e6), 10'000) << "collectives end together";
            for (const double time : {8e6, 15e6})
                EXPECT_LE(distance(fits[i], truth[i], time), static_cast<double>(fits[i].bound.count()) + 2) << i;
        }
    }
}

} // namespace
} // namespace bubblescope
