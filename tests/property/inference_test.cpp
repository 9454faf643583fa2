// Schedules are found again in made-up GPU traces that name no op, over sizes, jitter and what the profiler recorded;
// and where events are missing the answer is never both confident and wrong.

#include "core/families/registry.h"
#include "core/recognise/run.h"
#include "core/schedule/dependency.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/recognise/kineto_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace bubblescope {
namespace {

using test::KinetoEvent;
using test::KinetoJob;
using test::KinetoTrace;
using Keep = std::function<bool(std::size_t rank, const KinetoEvent&)>;

constexpr double kSure = 0.8;

Schedule make(const std::string& family, int pp, int microbatches, int vpp) {
    return makeSchedule({family, "", pp, microbatches, vpp}).value();
}

Result<Run> load(const KinetoTrace& trace, const KinetoJob& job, const Keep& keep = {},
                 const LoadOptions& options = {}) {
    const test::ScratchFolder folder;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const auto wanted = [&](const KinetoEvent& event) { return !keep || keep(r, event); };
        folder.write(fmt::format("rank{}.json", r), trace.file(r, job, wanted));
    }
    JobControl control;
    return loadRun({folder.path()}, control, options);
}

/// Whether each step ran the schedule's ops at the times they really had.
void expectTruth(const Run& run, const KinetoTrace& trace) {
    ASSERT_EQ(run.steps.size(), trace.truth.size());
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        const StepTimeline& seen = run.steps[i];
        const StepTimeline& truth = trace.truth[i];
        ASSERT_TRUE(executedOrder(seen).ranks == executedOrder(truth).ranks) << "step " << i;
        for (std::size_t r = 0; r < truth.ranks.size(); ++r) {
            for (std::size_t k = 0; k < truth.ranks[r].size(); ++k) {
                const TimeNs late = seen.ranks[r][k].duration() - truth.ranks[r][k].duration();
                EXPECT_LE(std::abs(late.count()), 2000) << "step " << i << ", rank " << r << ", op " << k;
            }
        }
    }
}

/// Whether each transfer between ranks exists once at each end: it begins when its payload was made, and ends when
/// the op begins that takes it.
void expectTransfers(const Run& run) {
    constexpr static TimeNs kTolerance{2000};
    const auto near = [](TimeNs a, TimeNs b) { return a - b <= kTolerance && b - a <= kTolerance; };
    for (const StepTimeline& step : run.steps) {
        const OpGraph graph(executedOrder(step));
        const auto at = [&](OpIndex op) {
            return step.ranks[graph.rank(op).index()][static_cast<std::size_t>(op - graph.firstOf(graph.rank(op)))];
        };
        std::vector<std::size_t> expected(step.ranks.size());
        const auto expectEnd = [&](CommKind kind, OpIndex here, OpIndex there, OpIndex consumer) {
            const std::size_t rank = graph.rank(here).index();
            ++expected[rank];
            const auto& spans = step.comm[rank];
            const auto found = std::count_if(spans.begin(), spans.end(), [&](const CommSpan& span) {
                const bool right_time =
                    kind == CommKind::Send ? near(span.start, at(here).end) : near(span.end, at(here).start);
                return span.kind == kind && span.payload == payloadOf(graph.op(consumer).kind) &&
                       span.microbatch == graph.op(consumer).microbatch && span.stage == graph.stage(consumer) &&
                       span.peer == graph.rank(there) && right_time;
            });
            EXPECT_EQ(found, 1) << "step " << step.index << ", rank " << rank << ", " << opName(graph.op(here));
        };
        for (OpIndex op = 0; op < graph.size(); ++op) {
            if (!graph.receives(op)) continue;
            const OpIndex producer = graph.producers(op).stage;
            expectEnd(CommKind::Receive, op, producer, op);
            expectEnd(CommKind::Send, producer, op, op);
        }
        for (std::size_t r = 0; r < step.comm.size(); ++r)
            EXPECT_EQ(step.comm[r].size(), expected[r]) << "step " << step.index << ", rank " << r;
    }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

TEST(Inference, KnowsTheCategoriesOfOtherAccelerators) {
    for (const auto& [launch, kernel] :
         {std::pair{"mtia_runtime", "mtia_ccp_events"}, std::pair{"hip_runtime", "kernel"},
          std::pair{"xpu_driver", "kernel"}, std::pair{"privateuse1_driver", "kernel"}}) {
        const KinetoJob job;
        KinetoTrace trace = test::traceJob(make("1f1b", 2, 4, 1), job);
        for (auto& rank : trace.ranks) {
            for (KinetoEvent& event : rank) {
                event.json = replaced(event.json, R"("cuda_runtime")", fmt::format(R"("{}")", launch));
                event.json = replaced(event.json, R"("kernel")", fmt::format(R"("{}")", kernel));
            }
        }
        SCOPED_TRACE(launch);
        const auto run = load(trace, job);
        ASSERT_TRUE(run.ok()) << run.error().text();
        EXPECT_EQ(run.value().schedule.name, "1f1b");
        expectTruth(run.value(), trace);
    }
}

TEST(Inference, FindsSchedulesOverSizesAndJitter) {
    struct Case {
        std::string family;
        int pp, microbatches, vpp;
    };
    const std::vector<Case> cases{{"1f1b", 2, 4, 1},        {"1f1b", 3, 7, 1},        {"1f1b", 4, 8, 1},
                                  {"1f1b", 8, 16, 1},       {"fthenb", 2, 4, 1},      {"fthenb", 4, 6, 1},
                                  {"interleaved", 2, 4, 2}, {"interleaved", 4, 8, 2}, {"interleaved", 4, 8, 3},
                                  {"interleaved", 3, 6, 4}, {"eager-1f1b", 4, 8, 1}};
    unsigned seed = 1;
    for (const Case& c : cases) {
        const Schedule schedule = make(c.family, c.pp, c.microbatches, c.vpp);
        for (const double jitter : {0.0, 0.05, 0.2}) {
            KinetoJob job;
            job.jitter = jitter;
            job.seed = seed++;
            const KinetoTrace trace = test::traceJob(schedule, job);
            const auto run = load(trace, job);
            SCOPED_TRACE(fmt::format("{} p={} m={} v={} jitter={}", c.family, c.pp, c.microbatches, c.vpp, jitter));
            ASSERT_TRUE(run.ok()) << run.error().text();
            EXPECT_EQ(run.value().schedule.name, schedule.name);
            EXPECT_EQ(run.value().schedule.vpp, c.vpp);
            EXPECT_EQ(run.value().schedule.microbatches, c.microbatches);
            EXPECT_EQ(run.value().explanation.source, "inferred");
            EXPECT_GE(run.value().explanation.confidence, kSure);
            expectTruth(run.value(), trace);
            expectTransfers(run.value());
        }
    }
}

/// The process group is stated by the calls, and the stream by the kernels.
TEST(Inference, TransfersHaveTheirCommunicator) {
    const KinetoJob job;
    const auto run = load(traceJob(make("1f1b", 4, 8, 1), job), job);
    ASSERT_TRUE(run.ok()) << run.error().text();
    std::size_t transfers = 0;
    for (const StepTimeline& step : run.value().steps) {
        for (const auto& spans : step.comm) {
            for (const CommSpan& span : spans) {
                EXPECT_EQ(run.value().communicatorOf(span), "2, stream 20");
                ++transfers;
            }
        }
    }
    EXPECT_EQ(transfers, 3U * 2 * 2 * 3 * 8); // steps, directions, ends, links, micro-batches
    KinetoJob unstated;
    unstated.peers = false;
    const auto other = load(traceJob(make("1f1b", 4, 8, 1), unstated), unstated);
    EXPECT_TRUE(!other.ok() || other.value().communicators.empty());
}

TEST(Inference, LeavesTransfersOutWhereSomeAreMissing) {
    const KinetoJob job;
    const KinetoTrace trace = test::traceJob(make("1f1b", 4, 8, 1), job);
    int left_out = 0;
    const auto keep = [&](std::size_t rank, const KinetoEvent& event) {
        const bool lost =
            rank == 1 && event.step == 1 && event.op == 5 && event.json.find("Src Rank") < event.json.size();
        left_out += lost ? 1 : 0;
        return !lost;
    };
    const auto run = load(trace, job, keep);
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(left_out, 1);
    const auto& problems = run.value().problems;
    const auto told = std::find_if(problems.begin(), problems.end(),
                                   [](const Diagnostic& problem) { return problem.kind == "unmatched-transfers"; });
    ASSERT_NE(told, problems.end());
    EXPECT_EQ(told->count, 7) << "the other receives of that step and peer";
    EXPECT_EQ(run.value().steps[0].comm[1].size(), 32U);
    EXPECT_EQ(run.value().steps[1].comm[1].size(), 24U);
    EXPECT_EQ(run.value().steps[1].comm[2].size(), 32U);
}

// If the profiler did not record some data, the answer does not need it, or states that it is not certain.
TEST(Inference, DoesWithLess) {
    for (const auto& [family, vpp] : {std::pair<std::string, int>{"1f1b", 1}, {"fthenb", 1}, {"interleaved", 2}}) {
        const Schedule schedule = make(family, 4, 8, vpp);
        int sure = 0;
        for (int bits = 0; bits < 32; ++bits) {
            KinetoJob job;
            job.flows = (bits & 1) != 0;
            job.operators = (bits & 2) != 0;
            job.peers = (bits & 4) != 0;
            job.combined = (bits & 8) != 0;
            job.tensor_parallel = (bits & 16) != 0;
            job.seed = static_cast<unsigned>(bits);
            const KinetoTrace trace = test::traceJob(schedule, job);
            const auto run = load(trace, job);
            SCOPED_TRACE(fmt::format("{} flows={} operators={} peers={} combined={}", family, job.flows, job.operators,
                                     job.peers, job.combined));
            ASSERT_TRUE(run.ok()) << run.error().text();
            const Explanation& how = run.value().explanation;
            if (how.confidence < kSure) {
                EXPECT_FALSE(how.alternatives.empty());
                continue;
            }
            ++sure;
            expectTruth(run.value(), trace);
        }
        // Without flows, all forwards and then all backwards do not show in which order the backwards come.
        EXPECT_GE(sure, family == "fthenb" ? 8 : 16) << family;
    }
}

TEST(Inference, ClocksOfHostsMayDiffer) {
    const Schedule schedule = make("1f1b", 4, 8, 1);
    KinetoJob job;
    job.skew = {TimeNs{0}, TimeNs{700'000}, TimeNs{-900'000}, TimeNs{300'000}};
    const KinetoTrace trace = test::traceJob(schedule, job);
    const auto run = load(trace, job);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_GE(run.value().explanation.confidence, kSure);
    expectTruth(run.value(), trace);
}

TEST(Inference, ATraceMayBeginAndEndWithinAStep) {
    const Schedule schedule = make("1f1b", 3, 6, 1);
    KinetoJob job;
    job.steps = 5;
    const KinetoTrace trace = test::traceJob(schedule, job);
    const auto run = load(trace, job, [](std::size_t, const KinetoEvent& event) {
        return (event.step != 0 || event.op >= 5) && (event.step != 4 || event.op < 4);
    });
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().steps.size(), 3U);
    EXPECT_GE(run.value().explanation.confidence, kSure)
        << fmt::format("{}", fmt::join(run.value().explanation.evidence, "; "));
    EXPECT_EQ(run.value().schedule.name, "1f1b");
}

/// Steps with a lost event may be left out; those that are kept are right, or the answer is not sure.
void expectNeverSureAndWrong(const Result<Run>& run, const Schedule& schedule, int& told, int& unsure) {
    if (!run.ok()) {
        EXPECT_EQ(run.error().kind, ErrorKind::Input);
        ++unsure;
        return;
    }
    if (run.value().explanation.confidence < kSure) {
        ++unsure;
        return;
    }
    ++told;
    EXPECT_EQ(run.value().schedule.pp, schedule.pp);
    for (const StepTimeline& step : run.value().steps)
        EXPECT_TRUE(executedOrder(step).ranks == schedule.ranks) << "step " << step.index;
}

TEST(Inference, LostEventsNeverLeadToASureWrongAnswer) {
    std::mt19937 random(7);
    int told = 0;
    int unsure = 0;
    for (const auto& [family, vpp] : {std::pair<std::string, int>{"1f1b", 1}, {"fthenb", 1}, {"interleaved", 2}}) {
        const Schedule schedule = make(family, 4, 8, vpp);
        for (int round = 0; round < 40; ++round) {
            KinetoJob job;
            job.flows = round % 2 == 0;
            job.peers = round % 3 != 0;
            job.combined = round % 5 != 0;
            job.steps = 4;
            job.seed = static_cast<unsigned>(round);
            const KinetoTrace trace = test::traceJob(schedule, job);
            // A few whole ops, or transfers, or any events at all are lost; in the worst rounds in every step.
            const auto lost_rank = std::uniform_int_distribution<std::size_t>(0, 3)(random);
            const auto lost_op = std::uniform_int_distribution<std::size_t>(0, 15)(random);
            const int lost_step = std::uniform_int_distribution<int>(-1, 3)(random);
            const int way = round % 4;
            std::uniform_real_distribution<double> dice(0, 1);
            const auto run = load(trace, job, [&](std::size_t rank, const KinetoEvent& event) {
                const bool here =
                    rank == lost_rank && event.op == lost_op && (lost_step < 0 || event.step == lost_step);
                if (way == 0) return !(here && event.what == KinetoEvent::What::Compute);
                if (way == 1) return !(here && event.what == KinetoEvent::What::Transfer);
                if (way == 2) return dice(random) > 0.02;
                return !(here || (rank == lost_rank && event.op == lost_op + 1));
            });
            SCOPED_TRACE(fmt::format("{} round {}", family, round));
            expectNeverSureAndWrong(run, schedule, told, unsure);
        }
    }
    EXPECT_GT(told, 0);
    EXPECT_GT(unsure, 0);
}

TEST(Inference, LostRanksNeverLeadToASureWrongAnswer) {
    int told = 0;
    int unsure = 0;
    for (const auto& [family, vpp] : {std::pair<std::string, int>{"1f1b", 1}, {"fthenb", 1}, {"interleaved", 2}}) {
        const Schedule schedule = make(family, 4, 12, vpp);
        for (std::size_t lost = 0; lost < 4; ++lost) {
            for (const bool peers : {true, false}) {
                KinetoJob job;
                job.peers = peers;
                job.flows = peers;
                KinetoTrace trace = test::traceJob(schedule, job);
                const auto run = load(trace, job, [&](std::size_t rank, const KinetoEvent&) { return rank != lost; });
                SCOPED_TRACE(fmt::format("{} without rank {}, peers {}", family, lost, peers));
                expectNeverSureAndWrong(run, schedule, told, unsure);
            }
        }
    }
    EXPECT_EQ(told, 0);
}

TEST(Inference, TellsPipelinesOfReplicasApart) {
    const Schedule schedule = make("1f1b", 2, 4, 1);
    const test::ScratchFolder folder;
    for (const int first : {0, 2}) {
        KinetoJob job;
        job.first_rank = first;
        job.seed = static_cast<unsigned>(first);
        const KinetoTrace trace = test::traceJob(schedule, job);
        for (std::size_t r = 0; r < 2; ++r)
            folder.write(fmt::format("rank{}.json", static_cast<std::size_t>(first) + r), trace.file(r, job));
    }
    JobControl control;
    const auto run = loadRun({folder.path()}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().schedule.pp, 2);
    EXPECT_EQ(run.value().schedule.name, "1f1b");
    ASSERT_EQ(run.value().steps.size(), 6U);
    EXPECT_EQ(run.value().steps[0].replica, 0);
    EXPECT_EQ(run.value().steps[1].replica, 1);
}

TEST(Inference, AGivenScheduleSettlesWhatTheTraceLeavesOpen) {
    const Schedule schedule = make("fthenb", 2, 4, 1);
    KinetoJob job;
    job.flows = job.peers = false;
    const KinetoTrace trace = test::traceJob(schedule, job);
    LoadOptions options;
    options.family = ScheduleSpec{"fthenb", "", 0, 0, 1};
    const auto run = load(trace, job, {}, options);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().explanation.source, "given");
    EXPECT_FALSE(run.value().departure.has_value());
    expectTruth(run.value(), trace);

    options.family->name = "1f1b";
    const auto other = load(trace, job, {}, options);
    ASSERT_TRUE(other.ok()) << other.error().text();
    ASSERT_TRUE(other.value().departure.has_value());
    EXPECT_EQ(other.value().closest, "1f1b");
    EXPECT_EQ(opName(other.value().departure->expected), "B0.0");
    EXPECT_EQ(opName(other.value().departure->observed), "F1.0");
}

} // namespace
} // namespace bubblescope
