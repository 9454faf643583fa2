#include "core/analysis/anomalies/changes_of_ranks.h"
#include "core/analysis/distributed.h"
#include "core/analysis/judge_steps.h"
#include "core/analysis/report.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/report/html.h"
#include "core/report/json.h"
#include "core/report/results/analysis.h"
#include "core/report/text.h"
#include "core/schedule/families/registry.h"
#include "tests/support/made_inputs.h"
#include "tests/support/shared_data.h"
#include "tests/support/thread_team.h"
#include "tests/unit/recognise/kineto_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

Schedule scheduleOf(const std::string& name, int pp, int microbatches) {
    ScheduleSpec spec;
    spec.name = name;
    spec.pp = pp;
    spec.microbatches = microbatches;
    return makeSchedule(spec).value();
}

/// Everything that `analyze` says of a run, or its error.
std::string sayOf(Result<Run> loaded, ClockUse use) {
    if (!loaded.ok()) return fmt::format("exit {}: {}", exitCode(loaded.error().kind), loaded.error().text());
    DiagnosisOptions options;
    options.clocks = use;
    options.memory_estimate.assign(static_cast<std::size_t>(loaded.value().schedule.pp), 1);
    const auto diagnosed = diagnoseRun(std::move(loaded).value(), options);
    if (!diagnosed.ok()) return fmt::format("exit {}: {}", exitCode(diagnosed.error().kind), diagnosed.error().text());
    const Run& run = diagnosed.value().run;
    const RunReport& report = diagnosed.value().report;
    const auto documentFor = [&](report::Reader reader) {
        report::AnalysisOptions content;
        content.reader = reader;
        return report::analysisDocument(run, report, content);
    };
    return report::toJson(documentFor(report::Reader::Programs)) + report::toText(documentFor(report::Reader::Text)) +
           report::toHtml(documentFor(report::Reader::Page));
}

std::string alone(const Paths& paths, const LoadOptions& options, ClockUse clocks) {
    JobControl control;
    return sayOf(loadRun(paths, control, options), clocks);
}

std::string together(std::size_t members, const Paths& paths, const LoadOptions& options, ClockUse clocks) {
    return test::asTeam(members, [&](ProcessTeam& team) {
        if (!team.isRoot()) {
            const Status served = servePartition(team, options.rules, analysisTasks());
            return served.ok() ? std::string{} : served.error().text();
        }
        Coordinator lead(team);
        JobControl control;
        return sayOf(loadRun(paths, control, options, lead), clocks);
    });
}

/// Where two texts differ first, with what stands there.
std::string difference(const std::string& a, const std::string& b) {
    const auto at = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
    const std::size_t from = at < 60 ? 0 : at - 60;
    return fmt::format("at {}:\n{}\nbut\n{}", at, a.substr(from, 160), b.substr(from, 160));
}

/// A single file belongs to the first member, however many there are.
void expectSame(const Paths& paths, const LoadOptions& options = {}, ClockUse clocks = ClockUse::Auto) {
    const std::string expected = alone(paths, options, clocks);
    const bool one_file = paths.size() == 1 && !fs::is_directory(paths.front());
    for (const std::size_t members :
         one_file ? std::vector<std::size_t>{1, 3} : std::vector<std::size_t>{1, 2, 3, 4, 5}) {
        const std::string seen = together(members, paths, options, clocks);
        EXPECT_TRUE(seen == expected) << paths.front() << " by " << members << ' ' << difference(expected, seen);
    }
}

/// Its files one by one, and each of its folders as a whole.
void expectSameBelow(const fs::path& folder) {
    expectSame({folder});
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        expectSame({entry.path()});
}

TEST(SpreadAnalysis, IsThatOfOneProcessForInputsOfOurOwn) {
    expectSameBelow(test::dataDir() / "traces");
    const test::ScratchFolder folder;
    for (const auto& entry : fs::directory_iterator(test::dataDir() / "traces")) {
        const std::string text = entry.is_regular_file() ? test::readAll(entry.path()) : std::string{};
        if (entry.path().extension() == ".sql")
            folder.write(entry.path().stem().string() + ".sqlite", test::databaseFromSql(test::ScratchFolder{}, text));
        if (entry.path().extension() == ".packets")
            folder.write(entry.path().stem().string() + ".pftrace", test::PacketText::bytes(text));
    }
    expectSameBelow(folder.path());
}

TEST(SpreadAnalysisOfOutsideTraces, IsThatOfOneProcess) {
    for (const char* const collection :
         {"bytedance-straggler", "hta", "kineto", "megatronapp-pp4", "nsys-ai", "param-dlrm-8rank", "tracelens"}) {
        BUBBLESCOPE_NEED_TRACES(collection);
        expectSameBelow(test::realTrace(collection));
    }
}

TEST(SpreadAnalysis, IsThatOfOneProcessForPyTorchJobs) {
    expectSameBelow(test::realTrace("torch-pp-cpu-gloo"));
    // By Gloo's collectives.
    expectSame({test::realTrace("torch-pp-cpu-gloo/1f1b_pp4_mb8")}, {}, ClockUse::Align);
}

/// What the framework states of a step lies in the files of two of the four ranks.
TEST(SpreadAnalysis, IsThatOfOneProcessForRecordedJobs) {
    const fs::path job = test::dataDir() / "recordings/torch-recorded/1f1b_dp2_pp2_mb4";
    const std::string said = alone({job}, {}, ClockUse::Auto);
    for (const char* const value : {R"("loss": 4.160748)", R"("loss": 4.174821)", R"("tokens": 128)", R"("samples": 8)",
                                    R"("sequence_length": 16)"})
        EXPECT_NE(said.find(value), std::string::npos) << value;
    expectSame({job});
}

TEST(SpreadAnalysis, IsThatOfOneProcessForSeveralPathsAndOptions) {
    const Paths megatron{test::dataDir() / "traces/megatron_pp2.json", test::dataDir() / "traces/small_chrome.json"};
    expectSame(megatron);
    expectSame({megatron[1], megatron[0], "does-not-exist"});
    expectSame(megatron, {}, ClockUse::Align);
    LoadOptions given;
    given.schedule = scheduleOf("fthenb", 2, 2);
    expectSame(megatron, given);
}

/// One file a rank, as our own runs write them, or all ranks in one.
class SpreadRun : public testing::Test {
protected:
    void write(const std::string& name, int pp, const std::function<bool(int rank)>& wanted, int count = 4) {
        const Schedule schedule = scheduleOf("1f1b", pp, 8);
        CostModel costs;
        std::vector<StepTimeline> steps;
        for (int index = 0; index < count; ++index) {
            costs.times.forward = TimeNs{1'000'000 + 7919 * index};
            costs.times.backward = TimeNs{2'000'000};
            steps.push_back(simulate(index % 7 > 4 ? scheduleOf("fthenb", pp, 8) : schedule, costs).value());
            steps.back().index = index;
            for (int rank = 0; rank < pp; ++rank) {
                if (wanted(rank)) continue;
                steps.back().ranks[static_cast<std::size_t>(rank)].clear();
                steps.back().comm[static_cast<std::size_t>(rank)].clear();
            }
        }
        ASSERT_TRUE(perfetto::writeTimeline(folder_.file(name), RunInfo::of("run", schedule), steps).ok());
    }
    test::ScratchFolder folder_;
};

TEST_F(SpreadRun, OfOneFileARankIsThatOfOneProcess) {
    for (int rank = 0; rank < 8; ++rank)
        write(fmt::format("rank{}.pftrace", rank), 8, [rank](int other) { return other == rank; });
    expectSame({folder_.path()});
    EXPECT_NE(alone({folder_.path()}, {}, ClockUse::Auto).find("\"pp\": 8"), std::string::npos);

    folder_.write("rank8.pftrace", "garbage");
    folder_.write("rank9.json", R"({"traceEvents": [{"ph": "X", )");
    expectSame({folder_.path()});
    expectSame({folder_.path() / "rank8.pftrace", folder_.path() / "rank9.json"});

    write("rank7.pftrace", 7, [](int) { return true; }); // another run's
    expectSame({folder_.path()});
}

/// All that a member is asked to judge and to search, one word a question.
std::string judgedBy(ProcessTeam& team, const LoadOptions& options) {
    JobControl control;
    TracePartition partition(static_cast<std::size_t>(team.rank()), options.rules, control);
    const PartitionTasks tasks = analysisTasks();
    std::string judged;
    const Status served = Coordinator::serve(team, [&](std::string_view request) {
        if (request.find(kJudgeSteps.name) != std::string_view::npos) judged += "judged ";
        if (request.find(kSearchChanges.name) != std::string_view::npos) judged += "searched ";
        return tasks.handle(partition, request);
    });
    return served.ok() ? judged : served.error().text();
}

TEST_F(SpreadRun, OfManyStepsIsJudgedByAllProcesses) {
    constexpr int kSteps = 24;
    for (int rank = 0; rank < 4; ++rank)
        write(
            fmt::format("rank{}.pftrace", rank), 4, [rank](int other) { return other == rank; }, kSteps);
    expectSame({folder_.path()});
    for (int member = 1; member < 3; ++member) {
        std::string judged;
        test::asTeam(3, [&](ProcessTeam& team) -> std::string {
            if (!team.isRoot()) {
                std::string own = judgedBy(team, {});
                if (team.rank() == member) judged = own;
                return own;
            }
            Coordinator lead(team);
            JobControl control;
            return sayOf(loadRun({folder_.path()}, control, {}, lead), ClockUse::Auto);
        });
        EXPECT_EQ(judged, "judged searched ") << member;
    }
}

TEST_F(SpreadRun, OfGpusWithSkewedClocksIsThatOfOneProcess) {
    const Schedule schedule = scheduleOf("1f1b", 4, 8);
    test::KinetoJob job;
    const auto writeJob = [&] {
        const test::KinetoTrace trace = test::traceJob(schedule, job);
        for (std::size_t rank = 0; rank < 4; ++rank)
            folder_.write(fmt::format("rank{}.json", rank), trace.file(rank, job));
    };
    writeJob();
    expectSame({folder_.path()});
    EXPECT_NE(alone({folder_.path()}, {}, ClockUse::Auto).find("inferred"), std::string::npos);
    job.skew = {TimeNs{0}, TimeNs{300'000}, TimeNs{-200'000}, TimeNs{50'000}};
    writeJob();
    for (const ClockUse use : {ClockUse::Auto, ClockUse::Align})
        expectSame({folder_.path()}, {}, use);
}

TEST(SpreadAnalysis, EndsWithTheErrorOfAProcessThatFails) {
    const std::string said = test::asTeam(3, [](ProcessTeam& team) {
        if (!team.isRoot()) {
            const Status served = Coordinator::serve(team, [&](std::string_view) -> Result<std::string> {
                if (team.rank() == 1) throw std::bad_alloc();
                return inputError("its folder", "cannot be listed");
            });
            return served.ok() ? std::string{} : served.error().text();
        }
        Coordinator lead(team);
        JobControl control;
        return sayOf(loadRun({test::dataDir() / "traces/megatron_pp2.json"}, control, {}, lead), ClockUse::Auto);
    });
    EXPECT_EQ(said, "exit 4: a process needs more memory than there is (use more processes, or more memory for each)");
}

} // namespace
} // namespace bubblescope
