#include "core/recognise/ended_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

using testing::ElementsAre;

constexpr TimeNs kStep{1000};

/// A rank of a recorded job whose steps 10 to 12 last 1 us each; the last one lasts until the end of the trace.
ProfilerMarks rankThat(const std::string& signal, TimeNs ended, bool has_end = false) {
    ProfilerMarks marks;
    for (int step = 0; step < 3; ++step)
        marks.steps.push_back({10 + step, step * kStep, step == 2 ? TimeNs::max() : (step + 1) * kStep});
    marks.is_captured = true;
    marks.has_end = has_end;
    marks.signal = signal;
    marks.ended = ended;
    return marks;
}

/// "kind: where: message" of each problem.
std::vector<std::string> reported(const std::vector<ProfilerMarks>& marks) {
    std::vector<TraceFile> files(marks.size());
    for (std::size_t rank = 0; rank < files.size(); ++rank) {
        files[rank].path = "rank" + std::to_string(rank);
        files[rank].rank = static_cast<std::int32_t>(rank);
    }
    DiagnosticLog log;
    reportEndedProcesses(files, marks, log);
    std::vector<std::string> texts;
    for (const Diagnostic& problem : log.entries())
        texts.push_back(problem.kind + ": " + problem.where.text() + ": " + problem.message.text());
    return texts;
}

TEST(EndedProcesses, NamesTheFirstRankThatASignalEnded) {
    const auto texts = reported(
        {rankThat("SIGTERM", TimeNs{2600}), rankThat("SIGKILL", TimeNs{1500}), rankThat("SIGTERM", TimeNs{2601})});
    EXPECT_THAT(texts, ElementsAre("rank-killed: rank 1: killed by SIGKILL in step 11"));
}

TEST(EndedProcesses, NamesARankThatExitedBeforeTheLauncherEndedTheOthers) {
    const auto texts = reported({rankThat("SIGTERM", TimeNs{2600}), rankThat("", TimeNs{2500}, true)});
    EXPECT_THAT(texts, ElementsAre("rank-killed: rank 1: exited in step 12; others were then killed by SIGTERM"));
}

TEST(EndedProcesses, NamesAKilledRankThoughItsEndWasNotedAfterExitsOfOthers) {
    const auto texts = reported({rankThat("", TimeNs{2500}, true), rankThat("SIGSEGV", TimeNs{2600})});
    EXPECT_THAT(texts, ElementsAre("rank-killed: rank 1: killed by SIGSEGV in step 12"));
    const TimeNs much_later = TimeNs{2500} + std::chrono::seconds(30);
    EXPECT_THAT(reported({rankThat("", TimeNs{2500}, true), rankThat("SIGKILL", much_later)}),
                ElementsAre("rank-killed: rank 0: exited in step 12; others were then killed by SIGKILL"));
}

TEST(EndedProcesses, ReportsNothingIfAllRanksExited) {
    EXPECT_THAT(reported({rankThat("", TimeNs{2600}, true), rankThat("", TimeNs{2500}, true)}), ElementsAre());
}

TEST(EndedProcesses, ReportsAFileWithoutEndIfItsSignalIsUnknown) {
    EXPECT_THAT(
        reported({rankThat("", TimeNs{2600}, true), rankThat("", TimeNs{0})}),
        ElementsAre("unfinished: rank1: the file has no end mark: its process was killed, or the file was truncated"));
    EXPECT_THAT(reported({rankThat("", TimeNs{0}), rankThat("", TimeNs{0})}), ElementsAre()) << "may still be running";
}

TEST(EndedProcesses, IgnoresProcessesWithoutSteps) {
    ProfilerMarks helper = rankThat("SIGTERM", TimeNs{500});
    helper.steps.clear();
    EXPECT_THAT(reported({rankThat("", TimeNs{2600}, true), helper}), ElementsAre());
}

} // namespace
} // namespace bubblescope
