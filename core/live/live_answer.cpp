#include "core/live/live_answer.h"

#include <utility>
#include <vector>

namespace bubblescope::live {
namespace {

Sentence nameOf(const LiveRank& rank) {
    return rank.replica == 0 ? say("rank {}", rank.rank.value)
                             : say("rank {} of replica {}", rank.rank.value, rank.replica);
}

/// Losses in the streams, reported in the same way as problems of loading files.
std::vector<Diagnostic> problemsOf(const LiveAnalyzer& analyzer) {
    DiagnosticLog log;
    for (const LiveRank& rank : analyzer.ranks()) {
        if (rank.state != RankState::Gone) continue;
        log.add("rank-ended", nameOf(rank),
                rank.reason.empty()
                    ? say("its process ended in step {} without finishing", rank.step)
                    : say("its process ended in step {} without finishing ({})", rank.step, rank.reason));
    }
    const LiveCounts counts = analyzer.counts();
    const auto tell = [&log](const char* kind, std::int64_t count, Sentence message) {
        if (count > 0) log.add(kind, {}, std::move(message), count);
    };
    tell("dropped", counts.dropped, say("ranks dropped records"));
    tell("lost-records", counts.undelivered, say("records written by ranks did not arrive"));
    tell("corrupt", counts.damaged, say("unreadable packets and events"));
    return log.take();
}

} // namespace

Answer answerOf(const LiveAnalyzer& analyzer) {
    constexpr std::size_t kMostOps = 200'000; // maximum number of ops in the steps that are analysed again
    std::vector<Diagnostic> problems = problemsOf(analyzer);
    std::optional<DiagnosedRun> latest = analyzer.latest(kMostOps);
    if (!latest) return {say("No step is complete yet."), statementsOf(problems), TimeNs{0}};
    for (Diagnostic& problem : problems)
        latest->run.problems.push_back(std::move(problem));
    return bubblescope::answerOf(latest->run, latest->report);
}

} // namespace bubblescope::live
