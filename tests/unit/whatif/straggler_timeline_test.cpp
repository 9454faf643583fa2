// Timelines in the form of the straggler study, written from simulated steps: with several chunks, which the published
// sample does not have, and with what goes wrong.

#include "core/analysis/whatif/run_model.h"
#include "core/analysis/whatif/straggler_study.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/whatif/runs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>

namespace bubblescope::test {
namespace {

using Json = nlohmann::json;

double microseconds(TimeNs time) {
    return static_cast<double>(time.count()) / 1000;
}

/// Writes pipelines as replicas of one step, transfers taking no time, and data-parallel work of 1 ms around them.
class Timeline {
public:
    void add(const StepTimeline& step, int replica, TimeNs later = 0ns) {
        for (int rank = 0; rank < step.pp; ++rank) {
            const int tid = 100 * replica + 5 * rank;
            events_.push_back({{"name", "thread_name"},
                               {"ph", "M"},
                               {"pid", replica},
                               {"tid", tid},
                               {"args", {{"name", fmt::format("PP rank {}, TP rank 0, compute", rank)}}}});
            events_.push_back({{"name", "process_name"},
                               {"ph", "M"},
                               {"pid", replica},
                               {"args", {{"name", fmt::format("DP rank [{}]", replica)}}}});
            slice(replica, tid, "params-all-gather", 0ms, 1ms, 0, -1);
            std::map<OpKind, TimeNs> previous{{OpKind::Forward, 0ms}, {OpKind::Backward, 0ms}};
            for (const TimelineOp& op : step.ranks[Rank{rank}.index()]) {
                const bool forward = op.op.kind == OpKind::Forward;
                const TimeNs start = 1ms + op.start;
                const TimeNs end = 1ms + op.end;
                const int stage = step.stageOf(Rank{rank}, op.op.chunk).value;
                const int stages = step.pp * step.vpp;
                const bool receives = forward ? stage > 0 : stage + 1 < stages;
                const bool sends = forward ? stage + 1 < stages : stage > 0;
                const char* const way = forward ? "forward" : "backward";
                if (receives) slice(replica, tid, fmt::format("{}-recv", way), previous[op.op.kind], start, -1, -1);
                slice(replica, tid, fmt::format("{}-compute", way), start, end, op.op.chunk.value,
                      op.op.microbatch.value);
                if (sends) slice(replica, tid, fmt::format("{}-send", way), end, end, -1, -1);
                previous[op.op.kind] = end;
            }
            const TimeNs done = 1ms + step.ranks[Rank{rank}.index()].back().end;
            const TimeNs all = 1ms + step.end + later;
            slice(replica, tid, "gc", done, done, -1, -1);
            slice(replica, tid, "optimizer-clip-main-grad", done, all + 1ms, -1, -1);
            slice(replica, tid, "optimizer", all + 1ms, all + 2ms, -1, -1);
        }
    }
    void drop(const std::string& name) {
        const auto found =
            std::find_if(events_.begin(), events_.end(), [&](const Json& e) { return e["name"] == name; });
        events_.erase(found);
    }
    [[nodiscard]] Run load(const ScratchFolder& scratch) const {
        const auto path = scratch.path() / "timeline.json";
        std::ofstream(path) << events_.dump();
        JobControl control;
        auto run = loadRun({path}, control);
        EXPECT_TRUE(run.ok()) << run.error().text();
        return std::move(run).value();
    }

private:
    void slice(int replica, int tid, const std::string& name, TimeNs start, TimeNs end, int chunk, int microbatch) {
        events_.push_back({{"name", name},
                           {"cat", name},
                           {"ph", "X"},
                           {"pid", replica},
                           {"tid", tid},
                           {"ts", microseconds(start)},
                           {"dur", microseconds(end - start)},
                           {"args", {{"step", 4}, {"model_chunk", chunk}, {"mb_id", microbatch}, {"seq_id", 0}}}});
    }

    Json events_ = Json::array();
};

StepTimeline stepOf(const Schedule& schedule, OpTimes times) {
    return simulate(schedule, CostModel{times, {}, {}, {}, {}, {}, {}}).value();
}

TEST(StragglerTimeline, WithSeveralChunksIsReplayedExactly) {
    const StepTimeline step = stepOf(scheduleOf("interleaved", 4, 8, 2), unitTimes());
    Timeline timeline;
    timeline.add(step, 0);
    timeline.add(step, 1);
    const ScratchFolder scratch;
    const auto run = timeline.load(scratch);
    ASSERT_EQ(run.annotation, kStragglerRule);
    ASSERT_EQ(run.schedule.vpp, 2);
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_TRUE(model.value().has_streams);
    const auto study = studyStragglers(model.value());
    EXPECT_EQ(study.fit.observed, step.wall() + 3ms);
    EXPECT_EQ(study.fit.simulated, step.wall() + 3ms);
    EXPECT_DOUBLE_EQ(study.slowdown, 1);
}

TEST(StragglerTimeline, ASlowReplicaKeepsTheOthersWaitingAtTheCollective) {
    const Schedule schedule = scheduleOf("1f1b", 2, 4);
    const StepTimeline fast = stepOf(schedule, unitTimes());
    const StepTimeline slow = stepOf(schedule, opTimes(2ms, 2ms, 2ms));
    Timeline timeline;
    timeline.add(fast, 0, slow.wall() - fast.wall());
    timeline.add(slow, 1);
    const ScratchFolder scratch;
    const auto run = timeline.load(scratch);
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    const StragglerStudy& s = study;
    EXPECT_EQ(s.fit.simulated, 3ms + 30ms);
    EXPECT_EQ(s.ideal, 3ms + 22'500us);
    EXPECT_DOUBLE_EQ(s.by_dp[0], 1); // replica 0 waits for the ideal one
    EXPECT_DOUBLE_EQ(s.by_dp[1], 33 / 25.5);
}

TEST(StragglerTimeline, TransfersThatFitNoOpsAreAnError) {
    Timeline timeline;
    timeline.add(stepOf(scheduleOf("1f1b", 4, 8), unitTimes()), 0);
    timeline.drop("backward-send");
    const ScratchFolder scratch;
    const auto model = runModel(timeline.load(scratch));
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().kind, ErrorKind::Input);
    EXPECT_NE(model.error().message.find("backward-send"), std::string::npos) << model.error().message;
    EXPECT_NE(model.error().message.find("step 4"), std::string::npos);
}

} // namespace
} // namespace bubblescope::test
