#include "bindings/bubblescope_aadiff.h"

#include "core/aadiff/compare.h"
#include "core/aadiff/digest.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMillisecond = 1'000'000;

bubblescope_aadiff_config configOf(const char* schedule, int rank, int pp, int microbatches) {
    bubblescope_aadiff_config config{};
    config.size = sizeof config;
    config.schedule = schedule;
    config.rank = rank;
    config.pp = pp;
    config.microbatches = microbatches;
    config.layers_per_stage = 2;
    return config;
}

bubblescope_aadiff_op_id idOf(const Op& op) {
    return {sizeof(bubblescope_aadiff_op_id), opLetter(op.kind), op.microbatch.value, op.chunk.value, op.sequence};
}

std::uint64_t numberOf(int step, const Op& op, int stage, int layer) {
    return digest::mix(
        static_cast<std::uint64_t>(((step * 64 + op.microbatch.value) * 8 + static_cast<int>(op.kind)) * 64 +
                                   stage * 2 + layer) +
        1);
}

/// A framework that runs a pipeline in invented time, and checks as requested.
class Framework {
public:
    explicit Framework(const Schedule& schedule) : schedule_(schedule) {}

    /// Which executions give another number.
    std::function<std::uint64_t(int step, int rank, const Op& op, int layer, bool again)> strike = {};
    int mismatches = 0;
    int asked = 0;
    std::map<int, bubblescope_aadiff_counts> counts;

    void run(const std::string& directory, int steps, bool times_given) {
        const StepTimeline plan = simulate(schedule_, costs()).value();
        for (int r = 0; r < schedule_.pp; ++r) {
            bubblescope_aadiff_config config =
                configOf(schedule_.name.c_str(), r, schedule_.pp, schedule_.microbatches);
            config.directory = directory.c_str();
            config.device = "GPU-42";
            if (times_given) {
                config.forward_ns = kMillisecond;
                config.backward_ns = 2 * kMillisecond;
            }
            bubblescope_aadiff* session = nullptr;
            ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0) << bubblescope_aadiff_error();
            const std::int64_t origin = bubblescope_aadiff_now();
            for (int step = 0; step < steps; ++step)
                runStep(session, plan, r, step, origin + step * 2 * plan.wall().count());
            bubblescope_aadiff_counts count{};
            count.size = sizeof count;
            ASSERT_EQ(bubblescope_aadiff_count(session, &count), 0);
            counts[r] = count;
            bubblescope_aadiff_close(session);
        }
    }

    [[nodiscard]] static CostModel costs() {
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{kMillisecond}, TimeNs{2 * kMillisecond}, {}, {}).value();
        return costs;
    }

private:
    std::uint64_t compute(int step, int rank, const Op& op, int layer, bool again) const {
        const std::uint64_t flip = strike ? strike(step, rank, op, layer, again) : 0;
        return numberOf(step, op, rank, layer) ^ flip;
    }

    void runStep(bubblescope_aadiff* session, const StepTimeline& plan, int rank, int step, std::int64_t origin) {
        ASSERT_EQ(bubblescope_aadiff_begin_step(session, step), 0) << bubblescope_aadiff_error();
        std::int64_t end = 0;
        for (const TimelineOp& timed : plan.ranks[static_cast<std::size_t>(rank)]) {
            fill(session, rank, step, timed.start.count() - end, origin + end);
            const bubblescope_aadiff_op_id op = idOf(timed.op);
            for (int layer = 0; layer < 2; ++layer) {
                ASSERT_EQ(bubblescope_aadiff_computed(session, &op, layer, "output",
                                                      compute(step, rank, timed.op, layer, false)),
                          0)
                    << bubblescope_aadiff_error();
            }
            ASSERT_EQ(bubblescope_aadiff_op(session, &op, origin + timed.start.count(), origin + timed.end.count()), 0);
            end = timed.end.count();
        }
        fill(session, rank, step, plan.wall().count() - end, origin + end);
        ASSERT_EQ(bubblescope_aadiff_end_step(session), 0) << bubblescope_aadiff_error();
    }

    void fill(bubblescope_aadiff* session, int rank, int step, std::int64_t free, std::int64_t at) {
        bubblescope_aadiff_task task{};
        task.size = sizeof task;
        while (free > 0 && bubblescope_aadiff_ask(session, free, &task) == 1) {
            ++asked;
            EXPECT_LE(task.cost_ns, task.free_ns);
            const Op op{*opKindFromLetter(task.op.kind), Microbatch{task.op.microbatch}, Chunk{task.op.chunk}};
            bubblescope_aadiff_op_id id = task.op;
            EXPECT_EQ(bubblescope_aadiff_wanted(session, &id, task.layer), 1);
            const std::uint64_t again = compute(step, rank, op, task.layer, true);
            const int outcome = bubblescope_aadiff_checked(session, &task, "output", again, at, at + task.cost_ns);
            at += task.cost_ns;
            free -= task.cost_ns;
            if (outcome != BUBBLESCOPE_AADIFF_MISMATCH) continue;
            ++mismatches;
            const std::array<float, 4> clean{1, 2, 3, 4};
            std::array<float, 4> wrong = clean;
            wrong[2] = std::nextafter(3.0F, 4.0F);
            EXPECT_EQ(bubblescope_aadiff_difference(session, clean.data(), wrong.data(), 4, BUBBLESCOPE_AADIFF_FLOAT32),
                      0);
            const std::array<std::uint64_t, 2> here{again, again};
            EXPECT_EQ(bubblescope_aadiff_repeated(session, here.data(), 2, nullptr, 0), BUBBLESCOPE_AADIFF_TRANSIENT);
        }
    }

    const Schedule& schedule_;
};

Schedule scheduleOf(const std::string& name) {
    return makeSchedule({name, "", 4, 8, 1}).value();
}

TEST(CInterface, RunsAPipelineThatNobodyHereKnows) {
    const Schedule schedule = scheduleOf("1f1b");
    const test::ScratchFolder folder;
    Framework framework(schedule);
    framework.run(folder.file("run"), 4, true);
    EXPECT_GT(framework.asked, 0);
    EXPECT_EQ(framework.mismatches, 0);
    for (const auto& [rank, count] : framework.counts) {
        EXPECT_EQ(count.units, 4) << rank; // F and B of two layers
        // Half a backward with its margin is longer than the first rank's bubbles after its first backward.
        EXPECT_EQ(count.units_covered, rank == 0 ? 2 : 4) << rank;
        EXPECT_EQ(count.planned, count.equal + count.skipped) << rank;
    }
    JobControl control;
    auto run = loadRun({folder.file("run")}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().schedule.name, "1f1b");
    EXPECT_EQ(run.value().steps.size(), 4U);
    EXPECT_TRUE(run.value().problems.empty());
    const RunReport report = diagnoseRun(run.value()).value().report;
    ASSERT_TRUE(report.coverage);
    EXPECT_EQ(report.coverage->unitsThatAre(Covered::Yes), 14);
    EXPECT_EQ(report.coverage->unitsThatAre(Covered::Never), 2);
    EXPECT_EQ(report.coverage->of(CheckKind::Replay).done(), framework.asked);
    TimeNs replayed{0};
    for (const StepAnalysis& step : report.steps) {
        for (const RankAccount& rank : step.ranks)
            replayed += rank.replay;
    }
    EXPECT_GT(replayed, TimeNs{0});
}

TEST(CInterface, TellsAFlippedBitAndItsPlace) {
    const Schedule schedule = scheduleOf("1f1b");
    const test::ScratchFolder folder;
    Framework clean(schedule);
    clean.run(folder.file("clean"), 3, true);
    Framework struck(schedule);
    bool hit = false;
    struck.strike = [&](int step, int rank, const Op& op, int layer, bool again) -> std::uint64_t {
        const bool here = step == 1 && rank == 2 && op.kind == OpKind::Forward && layer == 1 && !again;
        hit = hit || here;
        return here ? 1U << 7 : 0; // all of the layer's forwards in that step
    };
    struck.run(folder.file("struck"), 3, true);
    EXPECT_TRUE(hit);
    EXPECT_GT(struck.mismatches, 0);

    JobControl control;
    auto run = loadRun({folder.file("struck")}, control);
    ASSERT_TRUE(run.ok());
    const RunReport report = diagnoseRun(run.value()).value().report;
    const auto found = std::ranges::find(report.anomalies, AnomalyKind::AadiffMismatch, &Anomaly::kind);
    ASSERT_NE(found, report.anomalies.end());
    EXPECT_THAT(found->message.text(), HasSubstr("step 1, rank 2 (device GPU-42"));
    EXPECT_THAT(found->message.text(), HasSubstr("of layer 5, output"));
    EXPECT_THAT(found->message.text(),
                HasSubstr("1 of 4 elements differ, the first at 2: 40400000 and 40400001, bit 0 flipped, 1 ulp"));
    EXPECT_THAT(found->message.text(), HasSubstr("transient"));

    const auto a = loadChecks({folder.file("clean")}, control);
    const auto b = loadChecks({folder.file("struck")}, control);
    ASSERT_TRUE(a.ok() && b.ok());
    const DigestComparison compared =
        compareDigests({a.value().log.digests, a.value().info}, {b.value().log.digests, b.value().info});
    EXPECT_EQ(compared.differing, 8); // one for each micro-batch
    ASSERT_FALSE(compared.roots.empty());
    EXPECT_EQ(compared.roots.front().a.layer, 5);
    EXPECT_EQ(compared.roots.front().a.step, 1);
}

TEST(CInterface, LearnsOpTimesWhereNoneAreGiven) {
    const Schedule schedule = scheduleOf("zb-h1");
    Framework framework(schedule);
    const test::ScratchFolder folder;
    framework.run(folder.file("run"), 6, false);
    EXPECT_GT(framework.asked, 0);
    EXPECT_EQ(framework.counts.at(0).units, 6); // F, I and W of two layers
}

/// The data that a session passes to its receiver.
struct Received {
    std::string name;
    std::int64_t start;
    std::int64_t end;
    std::map<std::string, std::string> args;
};
std::vector<Received> received; // a receiver is a function without a context

void receive(const char* track, const char* category, const char* name, std::int64_t start, std::int64_t end,
             const bubblescope_aadiff_arg* args, std::size_t count) {
    EXPECT_STREQ(track, "replay");
    EXPECT_STREQ(category, "check");
    Received one{name, start, end, {}};
    for (std::size_t i = 0; i < count; ++i)
        one.args[args[i].name] = args[i].text != nullptr ? args[i].text : std::to_string(args[i].number);
    received.push_back(std::move(one));
}

TEST(CInterface, TakesAnOrderOfItsOwnAndLayersByChunk) {
    received.clear();
    // Rank 0 waits between its forwards and its backwards.
    const char* const order = "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3F1,3B0,3B1,1B0,1B1\n";
    const std::array<std::int32_t, 2> layers{1, 3};
    bubblescope_aadiff_config config = configOf("none", 0, 2, 2);
    config.vpp = 2;
    config.order = order;
    config.layers = layers.data();
    config.kinds = "F";
    config.event = receive;
    bubblescope_aadiff* session = nullptr;
    ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0) << bubblescope_aadiff_error();
    EXPECT_EQ(bubblescope_aadiff_leave_out(session, 1, 2), 0);
    EXPECT_EQ(bubblescope_aadiff_leave_out(session, 0, 1), BUBBLESCOPE_AADIFF_ERROR) << "chunk 0 has one layer";
    const std::string_view own = "F00F10F01F11B01B11B00B10";
    std::int64_t now = bubblescope_aadiff_now();
    int planned = 0;
    for (int step = 0; step < 6; ++step) {
        ASSERT_EQ(bubblescope_aadiff_begin_step(session, step), 0);
        std::array<bubblescope_aadiff_task, 64> tasks{};
        for (bubblescope_aadiff_task& task : tasks)
            task.size = sizeof task;
        const int count = bubblescope_aadiff_planned(session, tasks.data(), tasks.size());
        ASSERT_EQ(bubblescope_aadiff_planned(session, nullptr, 0), count);
        ASSERT_LE(count, 64);
        planned += count;
        for (int i = 0; i < count; ++i) {
            const bubblescope_aadiff_task& task = tasks.at(static_cast<std::size_t>(i));
            EXPECT_EQ(task.op.kind, 'F');
            EXPECT_LT(task.layer, task.op.chunk == 0 ? 1 : 2) << "layer 2 of chunk 1 is left out";
            EXPECT_EQ(bubblescope_aadiff_wanted(session, &task.op, task.layer), 1);
        }
        if (step % 2 == 1 && count > 0) { // one check is left out
            const bubblescope_aadiff_task& task = tasks.front();
            EXPECT_EQ(bubblescope_aadiff_move(session, &task.op, task.layer, task.op.microbatch),
                      BUBBLESCOPE_AADIFF_ERROR);
            EXPECT_THAT(bubblescope_aadiff_error(), testing::HasSubstr("is planned already"));
            EXPECT_EQ(bubblescope_aadiff_withdraw(session, &task.op, task.layer), 0);
            EXPECT_EQ(bubblescope_aadiff_wanted(session, &task.op, task.layer), 0);
            EXPECT_EQ(bubblescope_aadiff_withdraw(session, &task.op, task.layer), BUBBLESCOPE_AADIFF_ERROR) << "twice";
            --planned;
        }
        for (std::size_t at = 0; at < own.size(); at += 3) {
            bubblescope_aadiff_op_id op{sizeof op, own[at], own[at + 1] - '0', own[at + 2] - '0', 0};
            for (int layer = 0; op.kind == 'F' && layer < layers.at(static_cast<std::size_t>(op.chunk)); ++layer)
                ASSERT_EQ(bubblescope_aadiff_computed(session, &op, layer, "output", 7), 0);
            if (at == 12) { // before the first backward
                bubblescope_aadiff_task task{};
                task.size = sizeof task;
                while (bubblescope_aadiff_ask(session, 1000 * kMillisecond, &task) == 1)
                    EXPECT_EQ(bubblescope_aadiff_checked(session, &task, "output", 7, now, now + 5), 0);
            }
            const std::int64_t lasts = (op.kind == 'F' ? 1 : 2) * kMillisecond;
            ASSERT_EQ(bubblescope_aadiff_op(session, &op, now, now + lasts), 0);
            now += lasts;
        }
        ASSERT_EQ(bubblescope_aadiff_end_step(session), 0) << bubblescope_aadiff_error();
    }
    EXPECT_GT(planned, 0);
    bubblescope_aadiff_counts counts{};
    counts.size = sizeof counts;
    ASSERT_EQ(bubblescope_aadiff_count(session, &counts), 0);
    EXPECT_EQ(counts.units, 3) << "F of one layer, and of two of three";
    EXPECT_EQ(counts.equal, planned);
    EXPECT_EQ(counts.planned, planned);
    EXPECT_EQ(counts.skipped, 0) << "what is withdrawn was not planned";
    ASSERT_EQ(received.size(), static_cast<std::size_t>(planned));
    for (const Received& one : received) {
        EXPECT_EQ(one.args.at("outcome"), "equal");
        EXPECT_EQ(one.args.at("rank"), "0");
        EXPECT_EQ(one.args.at("stage"), one.args.at("chunk") == "0" ? "0" : "2");
        EXPECT_LT(std::stoi(one.args.at("layer")), 2) << "counted in their stage";
        EXPECT_EQ(one.end, one.start + 5);
    }
    EXPECT_EQ(bubblescope_aadiff_leave_out(session, 1, 1), BUBBLESCOPE_AADIFF_ERROR) << "the plan is made";
    bubblescope_aadiff_close(session);
}

/// Backwards of four layers that are asked for in a bubble of 0.8 ms, where one takes 0.5 ms and its forward 0.25 ms.
int backwardsAskedFor(bool forward_again, std::set<std::string>& planned) {
    bubblescope_aadiff_config config = configOf("1f1b", 0, 2, 4);
    config.layers_per_stage = 4;
    config.kinds = "FB";
    config.forward_again = forward_again ? 1 : 0;
    bubblescope_aadiff* session = nullptr;
    EXPECT_EQ(bubblescope_aadiff_open(&config, &session), 0) << bubblescope_aadiff_error();
    EXPECT_EQ(bubblescope_aadiff_leave_out_kinds(session, 0, 2, "B"), 0);
    EXPECT_EQ(bubblescope_aadiff_leave_out_kinds(session, 0, 2, "X"), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_EQ(bubblescope_aadiff_leave_out(session, 0, 3), 0);
    std::int64_t now = bubblescope_aadiff_now();
    int asked = 0;
    for (int step = 0; step < 6; ++step) {
        EXPECT_EQ(bubblescope_aadiff_begin_step(session, step), 0);
        std::array<bubblescope_aadiff_task, 64> tasks{};
        for (bubblescope_aadiff_task& task : tasks)
            task.size = sizeof task;
        const int count = bubblescope_aadiff_planned(session, tasks.data(), tasks.size());
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            planned.insert(tasks.at(i).op.kind + std::to_string(tasks.at(i).layer));
        for (const std::string_view ran : {"F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"}) {
            const bubblescope_aadiff_op_id op{sizeof op, ran[0], ran[1] - '0', 0, 0};
            bubblescope_aadiff_task task{};
            task.size = sizeof task;
            while (ran == "B3" && bubblescope_aadiff_ask(session, 4 * kMillisecond / 5, &task) == 1) {
                asked += task.op.kind == 'B' ? 1 : 0;
                EXPECT_EQ(bubblescope_aadiff_given_up(session, &task, now, now), 0);
            }
            const std::int64_t lasts = (op.kind == 'F' ? 1 : 2) * kMillisecond;
            EXPECT_EQ(bubblescope_aadiff_op(session, &op, now, now + lasts), 0);
            now += lasts;
            for (int layer = 0; op.kind == 'B' && layer < 4; ++layer)
                EXPECT_EQ(bubblescope_aadiff_computed(session, &op, layer, "input gradient", 7), 0);
        }
        EXPECT_EQ(bubblescope_aadiff_end_step(session), 0);
    }
    bubblescope_aadiff_counts counts{};
    counts.size = sizeof counts;
    EXPECT_EQ(bubblescope_aadiff_count(session, &counts), 0);
    EXPECT_EQ(counts.units, 5) << "F of three layers, B of two";
    bubblescope_aadiff_close(session);
    return asked;
}

TEST(CInterface, LeavesOutKindsOfOpsAndCountsForwardsBeforeBackwards) {
    std::set<std::string> planned;
    EXPECT_GT(backwardsAskedFor(false, planned), 0);
    EXPECT_TRUE(planned.contains("F2"));
    EXPECT_TRUE(planned.contains("B0"));
    EXPECT_FALSE(planned.contains("B2"));
    EXPECT_FALSE(planned.contains("F3"));
    EXPECT_EQ(backwardsAskedFor(true, planned), 0) << "0.75 ms and the margin do not fit";
}

TEST(CInterface, AsksForNothingWhereRanksLeaveTheirSchedule) {
    bubblescope_aadiff_config config = configOf("1f1b", 0, 2, 2);
    config.forward_ns = kMillisecond;
    config.backward_ns = 2 * kMillisecond;
    bubblescope_aadiff* session = nullptr;
    ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0) << bubblescope_aadiff_error();
    ASSERT_EQ(bubblescope_aadiff_begin_step(session, 0), 0);
    bubblescope_aadiff_task task{};
    task.size = sizeof task;
    bubblescope_aadiff_op_id op{sizeof op, 'F', 1, 0, 0}; // micro-batch 0 is due
    ASSERT_EQ(bubblescope_aadiff_computed(session, &op, 0, "output", 1), 0);
    ASSERT_EQ(bubblescope_aadiff_op(session, &op, 0, 10), 0);
    EXPECT_EQ(bubblescope_aadiff_ask(session, 1000 * kMillisecond, &task), 0);
    EXPECT_EQ(bubblescope_aadiff_end_step(session), 0);
    bubblescope_aadiff_close(session);
}

TEST(CInterface, SaysWhatIsWrong) {
    bubblescope_aadiff* session = nullptr;
    const auto refuses = [&](bubblescope_aadiff_config config, const char* why) {
        EXPECT_EQ(bubblescope_aadiff_open(&config, &session), BUBBLESCOPE_AADIFF_ERROR);
        EXPECT_EQ(session, nullptr);
        EXPECT_THAT(bubblescope_aadiff_error(), HasSubstr(why));
    };
    refuses(configOf("no-such-thing", 0, 2, 4), "no-such-thing");
    refuses(configOf("1f1b", 2, 2, 4), "there is no rank 2");
    refuses(configOf("1f1b", -1, 2, 4), "there is no rank -1");
    bubblescope_aadiff_config config = configOf("1f1b", 0, 2, 4);
    config.size = 0;
    refuses(config, "size");
    config = configOf(nullptr, 0, 2, 4);
    refuses(config, "no schedule");
    config = configOf("1f1b", 0, 2, 4);
    config.layers_per_stage = -3;
    refuses(config, "layers");
    config = configOf("1f1b", 0, 2, 4);
    config.margin = std::numeric_limits<double>::quiet_NaN();
    refuses(config, "margin");
    config = configOf("1f1b", 0, 2, 4);
    config.directory = "/proc/nowhere";
    refuses(config, "/proc/nowhere");
    EXPECT_EQ(bubblescope_aadiff_open(nullptr, &session), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_EQ(bubblescope_aadiff_open(&config, nullptr), BUBBLESCOPE_AADIFF_ERROR);

    config = configOf("1f1b", 0, 2, 4);
    ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0) << bubblescope_aadiff_error();
    bubblescope_aadiff_op_id op{sizeof op, 'F', 0, 0, 0};
    bubblescope_aadiff_task task{};
    task.size = sizeof task;
    task.op = op;
    EXPECT_EQ(bubblescope_aadiff_op(session, &op, 0, 1), BUBBLESCOPE_AADIFF_ERROR) << "outside of a step";
    EXPECT_EQ(bubblescope_aadiff_end_step(session), BUBBLESCOPE_AADIFF_ERROR);
    ASSERT_EQ(bubblescope_aadiff_begin_step(session, 0), 0);
    EXPECT_EQ(bubblescope_aadiff_begin_step(session, 1), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_EQ(bubblescope_aadiff_op(session, &op, 2, 1), BUBBLESCOPE_AADIFF_ERROR) << "ends before it starts";
    EXPECT_EQ(bubblescope_aadiff_checked(session, &task, "output", 1, 0, 1), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_THAT(bubblescope_aadiff_error(), HasSubstr("was not reported when it was first computed"));
    EXPECT_EQ(bubblescope_aadiff_given_up(session, &task, 0, 1), BUBBLESCOPE_AADIFF_ERROR) << "was not requested";
    const std::uint64_t number = 1;
    EXPECT_EQ(bubblescope_aadiff_repeated(session, &number, 1, nullptr, 0), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_EQ(bubblescope_aadiff_difference(session, &number, &number, 1, 99), BUBBLESCOPE_AADIFF_ERROR);
    op.kind = 'X';
    EXPECT_EQ(bubblescope_aadiff_computed(session, &op, 0, "output", 1), BUBBLESCOPE_AADIFF_ERROR);
    op = {sizeof op, 'F', 4, 0, 0};
    EXPECT_EQ(bubblescope_aadiff_computed(session, &op, 0, "output", 1), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_THAT(bubblescope_aadiff_error(), HasSubstr("micro-batches are 0 to 3"));
    EXPECT_EQ(bubblescope_aadiff_computed(session, nullptr, 0, "output", 1), BUBBLESCOPE_AADIFF_ERROR);
    EXPECT_EQ(bubblescope_aadiff_ask(session, 0, nullptr), 0) << "no plan yet, so nothing to give";
    EXPECT_EQ(bubblescope_aadiff_ask(nullptr, 0, &task), BUBBLESCOPE_AADIFF_ERROR);
    bubblescope_aadiff_close(session);
    bubblescope_aadiff_close(nullptr);
}

TEST(CInterface, HoldsVerdictsToTheirDefinition) {
    bubblescope_aadiff_config config = configOf("1f1b", 0, 2, 2);
    bubblescope_aadiff* session = nullptr;
    ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0);
    ASSERT_EQ(bubblescope_aadiff_begin_step(session, 0), 0);
    bubblescope_aadiff_op_id op{sizeof op, 'F', 0, 0, 0};
    bubblescope_aadiff_task task{};
    task.size = sizeof task;
    task.op = op;
    ASSERT_EQ(bubblescope_aadiff_computed(session, &op, 0, "output", 5), 0);
    ASSERT_EQ(bubblescope_aadiff_checked(session, &task, "output", 5, 0, 1), BUBBLESCOPE_AADIFF_EQUAL);
    ASSERT_EQ(bubblescope_aadiff_checked(session, &task, "output", 6, 0, 1), BUBBLESCOPE_AADIFF_MISMATCH);
    const auto verdict = [&](std::vector<std::uint64_t> here, std::vector<std::uint64_t> there) {
        return bubblescope_aadiff_repeated(session, here.data(), here.size(), there.data(), there.size());
    };
    EXPECT_EQ(verdict({5, 5}, {}), BUBBLESCOPE_AADIFF_TRANSIENT);
    EXPECT_EQ(verdict({5, 5}, {5, 5}), BUBBLESCOPE_AADIFF_TRANSIENT);
    EXPECT_EQ(verdict({5, 6}, {}), BUBBLESCOPE_AADIFF_OPEN);
    EXPECT_EQ(verdict({5, 6}, {5, 5}), BUBBLESCOPE_AADIFF_DEVICE);
    EXPECT_EQ(verdict({6, 6}, {5, 5}), BUBBLESCOPE_AADIFF_DEVICE) << "it repeats its fault bit by bit";
    EXPECT_EQ(verdict({5, 6}, {5, 6}), BUBBLESCOPE_AADIFF_EVERYWHERE);
    EXPECT_EQ(verdict({5, 6}, {5}), BUBBLESCOPE_AADIFF_ERROR);
    bubblescope_aadiff_close(session);
}

// A caller of an older header gives and takes shorter structs.
TEST(CInterface, TakesStructsOfOtherSizes) {
    std::array<unsigned char, sizeof(bubblescope_aadiff_config) + 64> room{};
    bubblescope_aadiff_config config = configOf("1f1b", 0, 2, 2);
    config.device = reinterpret_cast<const char*>(0x1); // beyond what the older one knows
    config.size = offsetof(bubblescope_aadiff_config, device);
    bubblescope_aadiff* session = nullptr;
    ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0) << bubblescope_aadiff_error();
    bubblescope_aadiff_counts counts{};
    counts.size = offsetof(bubblescope_aadiff_counts, skipped);
    counts.skipped = 77;
    ASSERT_EQ(bubblescope_aadiff_count(session, &counts), 0);
    EXPECT_EQ(counts.skipped, 77);
    EXPECT_EQ(counts.size, offsetof(bubblescope_aadiff_counts, skipped));
    bubblescope_aadiff_close(session);

    config = configOf("1f1b", 0, 2, 2); // and a newer one longer ones
    config.size = room.size();
    std::memcpy(room.data(), &config, sizeof config);
    ASSERT_EQ(bubblescope_aadiff_open(reinterpret_cast<bubblescope_aadiff_config*>(room.data()), &session), 0);
    bubblescope_aadiff_close(session);
}

TEST(CInterface, DigestsAsTheRuntimeDoes) {
    std::vector<unsigned char> bytes(1003);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<unsigned char>(i * 7);
    EXPECT_EQ(bubblescope_aadiff_digest(bytes.data(), bytes.size()), digest::of(bytes.data(), bytes.size()));
    const std::uint64_t sum = bubblescope_aadiff_digest_sum(bytes.data() + 512, bytes.size() - 512, 64) +
                              bubblescope_aadiff_digest_sum(bytes.data(), 512, 0);
    EXPECT_EQ(bubblescope_aadiff_digest_finish(sum, bytes.size()), digest::of(bytes.data(), bytes.size()));
    EXPECT_EQ(bubblescope_aadiff_version(), static_cast<std::uint32_t>(BUBBLESCOPE_AADIFF_VERSION));
}

TEST(CInterface, MayBeCalledByAnyThread) {
    bubblescope_aadiff_config config = configOf("1f1b", 0, 2, 2);
    bubblescope_aadiff* session = nullptr;
    ASSERT_EQ(bubblescope_aadiff_open(&config, &session), 0);
    ASSERT_EQ(bubblescope_aadiff_begin_step(session, 0), 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            bubblescope_aadiff_op_id op{sizeof op, 'F', t % 2, 0, 0};
            for (std::uint64_t i = 0; i < 500; ++i)
                EXPECT_EQ(bubblescope_aadiff_computed(session, &op, 0, "output", i), 0);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(bubblescope_aadiff_end_step(session), 0);
    bubblescope_aadiff_close(session);
}

} // namespace
} // namespace bubblescope
