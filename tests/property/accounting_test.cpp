// The accounting of every step is exact, and every cause has its own entry.

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/analysis/whatif/scenario.h"
#include "core/recognise/run.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"
#include "tests/property/measured_steps.h"
#include "tests/support/shared_data.h"

#include <algorithm>

namespace bubblescope {
namespace {

TimeNs cause(const RankAccounting& rank, Cause which) {
    return rank.causes[static_cast<std::size_t>(which)];
}

const WaterfallStep& waterfallStep(const StepAccounting& account, Cause which) {
    return account.waterfall[static_cast<std::size_t>(which) - 1];
}

StepAccounting accountOf(const StepTimeline& step, const UsualTimes& usual, const Schedule* plan = nullptr,
                         const StepKnowledge& known = {}) {
    const ObservedStep observed(step, known);
    StepReplay replay(observed.graph);
    PlannedReplay planned(step, observed.graph, plan);
    return accountStep(step, observed, replay, planned, UnitTimes(usual, step, observed.graph));
}
StepAccounting accountOf(const StepTimeline& step, const Schedule* plan = nullptr, const StepKnowledge& known = {}) {
    return accountOf(step, UsualTimes({&step, 1}), plan, known);
}

void expectExact(const StepTimeline& step, const StepAccounting& account, const std::string& where) {
    ASSERT_EQ(account.ranks.size(), step.ranks.size());
    const auto bubbles = findBubbles(step);
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        EXPECT_EQ(account.ranks[r].total(), step.wall()) << where << ", rank " << r;
        TimeNs idle{0};
        for (const TimeNs time : account.ranks[r].causes)
            idle += time;
        for (const Bubble& bubble : bubbles[r])
            idle -= bubble.duration();
        TimeNs gaps{0};
        for (const TimelineOp& op : step.ranks[r])
            gaps += step.detailsOf(op).device_idle + step.detailsOf(op).exposed_comm;
        if (gaps == TimeNs{0}) {
            EXPECT_EQ(idle, TimeNs{0}) << where << ": the causes are the bubble of rank " << r;
        }
    }
    TimeNs length = account.ideal;
    for (const WaterfallStep& each : account.waterfall)
        length += each.adds;
    EXPECT_EQ(length, step.wall()) << where;
    EXPECT_LE(account.ideal, step.wall()) << where;
}

TEST(Accounting, IsExactForEveryFamilyWithJitterAndTransfers) {
    unsigned seed = 1;
    for (const Schedule& order : test::familyOrders()) {
        const std::string where = order.name + " " + order.flavor;
        const StepTimeline step = test::measuredStep(order, test::randomTimes(order, seed++));
        const StepAccounting account = accountOf(step, &order);
        expectExact(step, account, where);
        EXPECT_TRUE(account.planned_order) << where;
        EXPECT_EQ(account.early_starts, 0) << where;
        EXPECT_EQ(account.ignored_inputs, 0) << where;
        EXPECT_EQ(account.estimated_transfers, 0) << where;
        for (const Cause none :
             {Cause::Gaps, Cause::Order, Cause::Peer, Cause::Replay, Cause::LateStart, Cause::Unknown})
            EXPECT_EQ(waterfallStep(account, none).adds, TimeNs{0}) << where << ": " << causeName(none);
    }
}

TEST(Accounting, IsExactForHostileTimelines) {
    for (unsigned seed = 0; seed < 3000; ++seed) {
        const StepTimeline step = test::hostileStep(seed);
        const StepTimeline other = test::hostileStep(seed + 1);
        const std::string where = "seed " + std::to_string(seed);
        // Usual times of other steps, too, whose shape is another one.
        const std::vector<StepTimeline> both{step, other};
        expectExact(step, accountOf(step, UsualTimes(both)), where);
        const Schedule plan = executedOrder(other);
        const std::vector<std::vector<std::pair<TimeNs, TimeNs>>> replays(
            step.ranks.size(), {{TimeNs{10}, TimeNs{30}}, {TimeNs{100}, TimeNs{170}}});
        expectExact(step, accountOf(step, &plan, {TimeNs{5}, seed % 2 == 0, replays}), where);
    }
}

/// How many of the steps' ops have other usual times by the samples of the steps than by the steps themselves.
int differentBySamples(const std::vector<StepTimeline>& steps) {
    const StepSelection selection = selectSteps(steps);
    const std::vector<StepSamples> samples(steps.begin(), steps.end());
    const UsualTimes by_steps(steps, selection);
    const UsualTimes by_samples(steps, samples, selection);
    int different = 0;
    for (const StepTimeline& step : steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (std::size_t i = 0; i < step.ranks[r].size(); ++i) {
                const auto expected = by_steps.of(step, Rank{r}, i);
                const auto found = by_samples.of(step, Rank{r}, i);
                different +=
                    found.usual != expected.usual || found.typical != expected.typical || found.known != expected.known;
            }
        }
    }
    return different;
}

TEST(UsualTimes, AreTheSameBySamplesOfSteps) {
    unsigned seed = 500;
    for (const Schedule& order : test::familyOrders()) {
        std::vector<StepTimeline> steps;
        for (int index = 0; index < 6; ++index) { // one of them is slow and set aside
            const bool slow = index == 3;
            steps.push_back(
                test::measuredStep(order, test::randomTimes(order, seed++, slow ? 900 : 50, slow ? 999 : 150)));
            steps.back().index = index;
        }
        EXPECT_EQ(differentBySamples(steps), 0) << order.name << ' ' << order.flavor;
    }
    for (unsigned hostile = 0; hostile < 1000; ++hostile)
        EXPECT_EQ(differentBySamples({test::hostileStep(hostile), test::hostileStep(hostile + 1)}), 0) << hostile;
}

/// Pairs of two forwards, with a weight gradient and with a backward take different times, and all of them usual ones.
TEST(Accounting, PairsOfSeveralKindsAreNoImbalance) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{700}, {}, TimeNs{900}, TimeNs{400}).value();
    const Schedule order = makeSchedule({"stp", "", 4, 12, 2}).value();
    const StepTimeline step = simulate(order, costs).value();
    const StepAccounting account = accountOf(step, &order);
    expectExact(step, account, order.name);
    for (const RankAccounting& rank : account.ranks) {
        for (const Cause none : {Cause::Imbalance, Cause::Slowdown, Cause::Jitter, Cause::Order})
            EXPECT_EQ(cause(rank, none), TimeNs{0}) << causeName(none);
    }
}

TEST(Accounting, SchedulesBubbleIsTheClosedFormWhereOneHolds) {
    int exact = 0;
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{700}, {}, TimeNs{900}, TimeNs{400}).value();
    for (const Schedule& order : test::familyOrders()) {
        const StepTimeline step = simulate(order, costs).value();
        const StepAccounting account = accountOf(step, &order);
        EXPECT_EQ(account.ideal, step.wall());
        const auto form = closedForm(order, costs);
        if (!form.ok() || !form.value().exact()) continue;
        ++exact;
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            EXPECT_EQ(cause(account.ranks[r], Cause::Schedule), form.value().bubble[r]) << order.name << ", rank " << r;
    }
    EXPECT_GT(exact, 30);
}

TEST(Accounting, ReplayOnTheObservedTimesIsTheStep) {
    unsigned seed = 100;
    for (const Schedule& order : test::familyOrders()) {
        const StepTimeline step = test::measuredStep(order, test::randomTimes(order, seed++));
        const StepGraph graph(step);
        std::vector<TimeNs> durations;
        for (UnitIndex unit = 0; unit < graph.size(); ++unit)
            durations.push_back(graph.duration(unit));
        StepReplay replay(graph);
        EXPECT_EQ(replay.run({durations, &graph.transfer, graph.delay}), step.wall());
        for (UnitIndex unit = 0; unit < graph.size(); ++unit)
            ASSERT_EQ(replay.end(unit), graph.end[StepGraph::at(unit)]) << order.name;
    }
}

/// Four ranks; some of the ops, or transfers, have different times.
class PlantedCause : public testing::Test {
protected:
    PlantedCause() {
        costs_.times = makeOpTimes(TimeNs{1000}, TimeNs{2000}, {}, {}).value();
        known_ = std::make_shared<MeasuredTimes>();
        costs_.measured = known_;
    }

    StepTimeline run(const Schedule& order) const { return simulate(order, costs_).value(); }
    StepAccounting account(const StepTimeline& step) const { return accountOf(step, &order_); }

    /// Only the schedule and this cause; alone, last and in the waterfall its cost is equal if it is the only one.
    void expectOnly(const StepTimeline& step, const StepAccounting& account, Cause which) const {
        expectExact(step, account, std::string(causeName(which)));
        const TimeNs ideal = simulate(order_, ideal_).value().wall();
        EXPECT_EQ(account.ideal, ideal);
        EXPECT_GT(step.wall(), ideal);
        for (const WaterfallStep& each : account.waterfall)
            EXPECT_EQ(each.adds, each.cause == which ? step.wall() - ideal : TimeNs{0}) << causeName(each.cause);
        EXPECT_EQ(waterfallStep(account, which).alone, step.wall() - ideal);
        EXPECT_EQ(waterfallStep(account, which).without, step.wall() - ideal);
    }

    Schedule order_ = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    std::shared_ptr<MeasuredTimes> known_;
    CostModel costs_;
    CostModel ideal_ = [] {
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{1000}, TimeNs{2000}, {}, {}).value();
        return costs;
    }();
};

TEST_F(PlantedCause, ASlowStageIsImbalance) {
    for (const Op& op : order_.ranks[2])
        known_->setOp(Rank{2}, op, op.kind == OpKind::Forward ? TimeNs{1400} : TimeNs{2600});
    const StepTimeline step = run(order_);
    const StepAccounting account = this->account(step);
    expectOnly(step, account, Cause::Imbalance);
    // The slow rank works while the others wait for it.
    EXPECT_EQ(account.ranks[2].compute[0], TimeNs{8 * 1400});
    EXPECT_EQ(cause(account.ranks[2], Cause::Imbalance),
              waterfallStep(account, Cause::Imbalance).adds - TimeNs{8 * (400 + 600)});
    for (const std::size_t r : {0U, 1U, 3U})
        EXPECT_EQ(cause(account.ranks[r], Cause::Imbalance), waterfallStep(account, Cause::Imbalance).adds);
}

TEST_F(PlantedCause, OneSlowOpIsJitter) {
    known_->setOp(Rank{1}, order_.ranks[1][7], TimeNs{9000});
    const StepTimeline step = run(order_);
    expectOnly(step, account(step), Cause::Jitter);
}

TEST_F(PlantedCause, ASlowLinkIsExposedCommunication) {
    for (int m = 0; m < 8; ++m)
        known_->setTransfer(Payload::Activation, Microbatch{m}, Stage{2}, 0, TimeNs{800});
    const StepTimeline step = run(order_);
    expectOnly(step, account(step), Cause::Communication);
}

TEST_F(PlantedCause, ASwappedOrderIsOrderDepartures) {
    Schedule swapped = order_;
    auto& ops = swapped.ranks[2];
    std::swap(ops[3], ops[4]); // a backward that others wait for after the forward that should follow it
    const StepTimeline step = run(swapped);
    expectOnly(step, account(step), Cause::Order);
}

TEST_F(PlantedCause, AnIdleDeviceWithinOpsIsGaps) {
    for (const Op& op : order_.ranks[1])
        known_->setOp(Rank{1}, op, op.kind == OpKind::Forward ? TimeNs{1500} : TimeNs{2500});
    StepTimeline step = run(order_);
    for (TimelineOp& op : step.ranks[1])
        step.setDetails(op, {TimeNs{0}, TimeNs{500}, TimeNs{0}});
    const StepAccounting account = this->account(step);
    expectOnly(step, account, Cause::Gaps);
    EXPECT_EQ(account.ranks[1].compute[0], TimeNs{8 * 1000});
    EXPECT_EQ(cause(account.ranks[1], Cause::Gaps), waterfallStep(account, Cause::Gaps).adds)
        << "its own and its waits";
}

TEST_F(PlantedCause, CollectivesWithinOpsAreExposedCommunication) {
    for (const Op& op : order_.ranks[1])
        known_->setOp(Rank{1}, op, op.kind == OpKind::Forward ? TimeNs{1500} : TimeNs{2500});
    StepTimeline step = run(order_);
    for (TimelineOp& op : step.ranks[1])
        step.setDetails(op, {TimeNs{0}, TimeNs{0}, TimeNs{500}});
    const StepAccounting account = this->account(step);
    expectOnly(step, account, Cause::Communication);
    EXPECT_EQ(account.ranks[1].compute[0], TimeNs{8 * 1000});
    EXPECT_EQ(cause(account.ranks[1], Cause::Communication), waterfallStep(account, Cause::Communication).adds)
        << "its own and its waits";
}

/// Delays everything after `from` on all ranks.
StepTimeline shifted(StepTimeline step, TimeNs from, TimeNs by) {
    for (auto& ops : step.ranks) {
        for (TimelineOp& op : ops) {
            if (op.start < from) continue;
            op.start += by;
            op.end += by;
        }
    }
    for (auto& spans : step.comm) {
        for (CommSpan& span : spans) {
            if (span.start < from) continue;
            span.start += by;
            span.end += by;
        }
    }
    step.fitWindow();
    return step;
}

TEST_F(PlantedCause, ALateStartIsThat) {
    // All wait for rank 3's last backward, which begins late.
    const StepTimeline on_time = run(order_);
    const StepTimeline step = shifted(on_time, on_time.ranks[3].back().start, TimeNs{700});
    expectOnly(step, account(step), Cause::LateStart);

    // Also with less time than the clock resolves, and with lost records.
    const StepAccounting unsure = accountOf(step, &order_, {.clock_error = TimeNs{700}});
    expectExact(step, unsure, "clock");
    EXPECT_EQ(waterfallStep(unsure, Cause::LateStart).adds, TimeNs{0});
    EXPECT_EQ(waterfallStep(unsure, Cause::Unknown).adds, TimeNs{700});
    const StepAccounting lost = accountOf(step, &order_, {.records_lost = true});
    EXPECT_EQ(waterfallStep(lost, Cause::Unknown).adds, TimeNs{700});
}

TEST_F(PlantedCause, ReplayedWorkThatDelaysAnOpIsThat) {
    const StepTimeline on_time = run(order_);
    const TimeNs from = on_time.ranks[3].back().start;
    const StepTimeline step = shifted(on_time, from, TimeNs{700});
    std::vector<std::vector<std::pair<TimeNs, TimeNs>>> replays(4);
    replays[3] = {{from, from + TimeNs{700}}};
    replays[0] = {{TimeNs{5000}, TimeNs{5100}}}; // inside a bubble, where it costs nothing
    const StepAccounting account = accountOf(step, &order_, {.replays = replays});
    expectExact(step, account, "replay");
    EXPECT_EQ(waterfallStep(account, Cause::Replay).adds, TimeNs{700});
    EXPECT_EQ(waterfallStep(account, Cause::LateStart).adds, TimeNs{0});
}

TEST_F(PlantedCause, BlockingSendsAreCommunicationAndThePeer) {
    costs_.comm = TimeNs{300};
    costs_.transfers.sends = SendMode::Paired;
    const StepTimeline step = run(order_);
    const StepAccounting account = this->account(step);
    expectExact(step, account, "paired");
    EXPECT_GT(waterfallStep(account, Cause::Communication).adds, TimeNs{0});
    for (const Cause none : {Cause::Imbalance, Cause::Jitter, Cause::LateStart, Cause::Unknown})
        EXPECT_EQ(waterfallStep(account, none).adds, TimeNs{0}) << causeName(none);
}

/// A step without its records of transfers.
StepTimeline withoutRecords(StepTimeline step) {
    for (auto& spans : step.comm)
        spans.clear();
    return step;
}

TEST_F(PlantedCause, WithoutRecordsTransfersAreEstimated) {
    costs_.comm = TimeNs{300};
    const StepAccounting recorded = account(run(order_));
    const StepTimeline step = withoutRecords(run(order_));
    const StepAccounting estimated = account(step);
    expectExact(step, estimated, "estimated");
    EXPECT_EQ(recorded.estimated_transfers, 0);
    EXPECT_EQ(estimated.recorded_transfers, 0);
    EXPECT_EQ(estimated.estimated_transfers, 2 * 3 * 8);
    EXPECT_EQ(waterfallStep(estimated, Cause::Communication).adds, waterfallStep(recorded, Cause::Communication).adds);
}

// Sends that block until the receiver posts them make ranks begin late because another one is slow. Even if no record
// shows it, the saving of a fast one must still be reported: it is compared with a simulation in which it is fast.
TEST_F(PlantedCause, UnrecordedWaitsForASlowStageGoWithIt) {
    for (const char* schedule : {"1f1b", "fthenb"}) {
        order_ = makeSchedule({schedule, "", 4, 16, 1}).value();
        for (const int slow : {0, 1, 2, 3}) {
            costs_.comm = TimeNs{50};
            costs_.transfers.sends = SendMode::Paired;
            known_ = std::make_shared<MeasuredTimes>();
            costs_.measured = known_;
            const StepTimeline even = run(order_);
            for (const Op& op : order_.ranks[static_cast<std::size_t>(slow)])
                known_->setOp(Rank{slow}, op, op.kind == OpKind::Forward ? TimeNs{1500} : TimeNs{3000});
            const StepTimeline step = withoutRecords(run(order_));
            const StepAccounting account = this->account(step);
            expectExact(step, account, schedule);
            const auto truth = static_cast<double>((step.wall() - even.wall()).count());
            const auto told = static_cast<double>(waterfallStep(account, Cause::Imbalance).without.count());
            EXPECT_NEAR(told / truth, 1, 0.15) << schedule << ", rank " << slow;
        }
    }
}

TEST_F(PlantedCause, OptimizerOpsFillTheBubbleAndChangeNothingElse) {
    const StepTimeline without = run(order_);
    StepTimeline step = without;
    for (auto& ops : step.ranks) {
        const TimeNs from = ops.back().end + TimeNs{100};
        ops.push_back({{OpKind::Optimizer, {}, {}}, from, from + TimeNs{1500}});
    }
    step.fitWindow();
    ASSERT_EQ(step.wall(), without.wall());
    const StepAccounting account = this->account(step);
    expectExact(step, account, "optimizer");
    for (std::size_t r = 0; r < 4; ++r) {
        const TimeNs optimizer = account.ranks[r].compute[static_cast<std::size_t>(OpKind::Optimizer)];
        EXPECT_EQ(optimizer,
                  std::min(TimeNs{1500}, std::max(TimeNs{0}, TimeNs{2000} * static_cast<int>(r) - TimeNs{100})));
        EXPECT_EQ(cause(account.ranks[r], Cause::Schedule) + optimizer, TimeNs{9000});
    }
}

// A step in which all ops take a third longer, but for one that takes three times as long: the clock rate and the one
// op are distinguished, also if stages differ, and never cancel each other.
TEST(Accounting, OpsThatAreSlowTogetherAreACommonSlowdown) {
    const Schedule order = makeSchedule({"1f1b", "", 4, 16, 1}).value();
    const auto stepOf = [&](int percent, bool hiccup) {
        auto times = std::make_shared<MeasuredTimes>();
        for (std::size_t r = 0; r < order.ranks.size(); ++r) {
            for (const Op& op : order.ranks[r]) {
                const int base = (op.kind == OpKind::Forward ? 1000 : 2000) + (r == 3 ? 500 : 0);
                const bool stuck = hiccup && r == 1 && op.kind == OpKind::Forward && op.microbatch.value == 9;
                times->setOp(Rank{r}, op, TimeNs{base * percent / 100 * (stuck ? 3 : 1)});
            }
        }
        CostModel costs;
        costs.measured = times;
        return simulate(order, costs).value();
    };
    std::vector<StepTimeline> steps;
    for (int i = 0; i < 5; ++i) {
        steps.push_back(stepOf(i == 3 ? 133 : 100, i == 3));
        steps.back().index = i;
    }
    const UsualTimes usual(steps);
    const StepAccounting slow = accountOf(steps[3], usual, &order);
    expectExact(steps[3], slow, "slow together");
    const TimeNs longer = stepOf(133, false).wall() - steps[0].wall();
    EXPECT_EQ(waterfallStep(slow, Cause::Slowdown).adds, longer);
    EXPECT_EQ(waterfallStep(slow, Cause::Jitter).adds, steps[3].wall() - stepOf(133, false).wall());
    EXPECT_EQ(waterfallStep(slow, Cause::Imbalance).adds,
              waterfallStep(accountOf(steps[0], usual, &order), Cause::Imbalance).adds);
    for (const RankAccounting& rank : slow.ranks)
        EXPECT_GE(cause(rank, Cause::Jitter), TimeNs{-2660}) << "no more than the stuck op's own time";
    const StepAccounting usually = accountOf(steps[0], usual, &order);
    EXPECT_EQ(waterfallStep(usually, Cause::Slowdown).adds, TimeNs{0});
    EXPECT_EQ(waterfallStep(usually, Cause::Jitter).adds, TimeNs{0});
}

TEST(Accounting, CausesThatHideEachOtherShowInTheOtherFigures) {
    // Two of three parallel delays: removing one of two equally slow stages saves little, either alone costs much.
    const Schedule order = makeSchedule({"1f1b", "", 4, 32, 1}).value();
    auto times = std::make_shared<MeasuredTimes>();
    std::vector<StepTimeline> steps;
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{1000}, TimeNs{2000}, {}, {}).value();
    for (const Op& op : order.ranks[1])
        times->setOp(Rank{1}, op, op.kind == OpKind::Forward ? TimeNs{1500} : TimeNs{2500});
    costs.measured = times;
    steps.push_back(simulate(order, costs).value());
    steps.push_back(steps.front());
    auto slow = std::make_shared<MeasuredTimes>(*times);
    for (const Op& op : order.ranks[2])
        slow->setOp(Rank{2}, op, op.kind == OpKind::Forward ? TimeNs{1500} : TimeNs{2500});
    costs.measured = slow;
    steps.push_back(simulate(order, costs).value());
    const StepTimeline& step = steps.back();
    const StepAccounting account = accountOf(step, UsualTimes(steps), &order);
    expectExact(step, account, "two slow ranks");
    const WaterfallStep& imbalance = waterfallStep(account, Cause::Imbalance);
    const WaterfallStep& jitter = waterfallStep(account, Cause::Jitter);
    EXPECT_GT(jitter.alone, TimeNs{30'000});
    EXPECT_LT(jitter.adds, jitter.alone / 5);
    EXPECT_LT(imbalance.without, imbalance.adds / 5);
}

// The trace has no transfers, and ranks that wait for the slow last chunk show late starts alone. Emulating the
// framework's blocking transfers on its times says that a step of 677 ms would save 200 to 206 ms.
TEST(AccountingOfOutsideTraces, WhatIfAndFindingsSayTheSameOfMegatronsSlowLastChunk) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    const auto file = test::realTrace("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json");
    JobControl control;
    auto run = loadRun({file}, control).value();
    const RunReport report = diagnoseRun(run).value().report;
    const auto milliseconds = [](TimeNs time) { return static_cast<double>(time.count()) / 1e6; };
    const StepDiagnosis& typical = report.typical;
    EXPECT_NEAR(milliseconds(waterfallStep(typical.accounting, Cause::Imbalance).without), 203, 10);
    const auto last = std::ranges::find(report.anomalies, AnomalyKind::LastStageImbalance, &Anomaly::kind);
    ASSERT_NE(last, report.anomalies.end());
    EXPECT_NEAR(milliseconds(last->cost), 203, 5);
    ASSERT_FALSE(typical.attribution.ranking.empty());
    EXPECT_EQ(typical.attribution.ranking[0].kind, RootCauseKind::SlowStage);
    EXPECT_EQ(typical.attribution.ranking[0].rank, Rank{3});
    EXPECT_NEAR(milliseconds(typical.attribution.ranking[0].saves), 203, 5);

    const int step = run.steps[report.typicalStep()].index;
    const RunModel model = runModel(run, selectSteps(run.steps, {{{step, step, {}}}, {}, {}}).value()).value();
    const auto change = parseScenario(std::vector<std::string>{"stage:15=usual"});
    const Prediction prediction = predict(model, run.schedule, change.value()).value();
    EXPECT_EQ(prediction.before, run.steps[report.typicalStep()].wall());
    EXPECT_NEAR(-milliseconds(prediction.change()), 203, 5);
}

/// Accounts for every step of a real trace; returns how many.
int expectExactSteps(const std::string& name) {
    JobControl control;
    const auto run = loadRun({test::realTrace(name)}, control);
    EXPECT_TRUE(run.ok()) << run.error().text();
    if (!run.ok()) return 0;
    const UsualTimes usual(run.value().steps);
    for (const StepTimeline& step : run.value().steps)
        expectExact(step, accountOf(step, usual, &run.value().schedule), name.c_str());
    return static_cast<int>(run.value().steps.size());
}

TEST(Accounting, IsExactForEveryRecordingWithAPipeline) {
    for (const char* const name : {"1f1b_pp4_mb8", "gpipe_pp2_mb4", "interleaved1f1b_pp4_mb8_v2", "zbv_pp2_mb4_v2"})
        EXPECT_EQ(expectExactSteps(std::string("torch-pp-cpu-gloo/") + name), 2);
}

TEST(AccountingOfOutsideTraces, IsExact) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    EXPECT_EQ(expectExactSteps("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json"), 20);
    EXPECT_EQ(expectExactSteps("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated-iter10.json"), 1);
    EXPECT_EQ(expectExactSteps("bytedance-straggler/timeline-ST.json.gz"), 64);
}

} // namespace
} // namespace bubblescope
