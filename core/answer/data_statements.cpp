#include "core/answer/answer.h"
#include "core/recognise/lost_records.h"

#include <algorithm>
#include <array>
#include <string_view>

// The consequences of loading problems for the result.
namespace bubblescope {
namespace {

/// Problems that may make the result describe other data than the reader expects.
struct DoubtKind {
    std::string_view kind;
    Severity severity;
    Sentence (*action)();
};

Sentence loadAllRanks() {
    return say("Load the files of all ranks of one run together, or a folder that contains only these files.");
}

Sentence loadOneRun() {
    return say("Give the files or the folder of one run; 'bubblescope diff' compares two runs.");
}

Sentence seeWhyItEnded() {
    return say("Find the cause: a killed process, an error in the job's log, or a truncated file. Only the complete "
               "steps before that point are analysed.");
}

Sentence seeWhyItWasKilled() {
    return say("Check the job's log and the kernel log (dmesg): SIGKILL often means that memory ran out. Only the "
               "complete steps before that point are analysed.");
}

Sentence copyAgain() {
    return say("If the job is still running or the file is a copy, copy it again; otherwise find out why its process "
               "ended early.");
}

Sentence recordWithRoom() {
    return say("Times near the lost records may be wrong. Record with larger buffers, and let the recorder finish "
               "before the job ends.");
}

Sentence recordMoreSteps() {
    return say("To analyse other steps too, record kernels in more steps.");
}

Sentence stateRanks() {
    return say("Check that the files are in rank order, or put the rank in their names.");
}

Sentence seeProblems() {
    return say("'bubblescope info' lists all problems in the files.");
}

Sentence seeWhereItStood() {
    return say("If the job hung, it hung in this slice: check what the slice waits for. Otherwise the recording ended "
               "before the slice did.");
}

const DoubtKind* findDoubt(std::string_view kind) {
    static constexpr std::array kKinds{
        DoubtKind{"missing-ranks", Severity::Serious, loadAllRanks},
        DoubtKind{"absent-ranks", Severity::Notice, loadAllRanks},
        DoubtKind{"mixed-runs", Severity::Serious, loadOneRun},
        DoubtKind{"different-jobs", Severity::Serious, loadOneRun},
        DoubtKind{"rank-killed", Severity::Serious, seeWhyItWasKilled},
        DoubtKind{"rank-ended", Severity::Serious, seeWhyItEnded},
        DoubtKind{"run-ended", Severity::Serious, seeWhyItEnded},
        DoubtKind{"unfinished", Severity::Serious, seeWhyItEnded},
        DoubtKind{"truncated", Severity::Warning, copyAgain},
        DoubtKind{"unmatched-begin", Severity::Warning, seeWhereItStood},
        DoubtKind{"file-changed", Severity::Warning, copyAgain},
        DoubtKind{"guessed-ranks", Severity::Warning, stateRanks},
        DoubtKind{"unknown-rank", Severity::Warning, stateRanks},
        DoubtKind{"rank-contradiction", Severity::Warning, stateRanks},
        DoubtKind{"duplicate-rank", Severity::Warning, loadOneRun},
        DoubtKind{"sampled-kernels", Severity::Notice, recordMoreSteps},
        DoubtKind{"step-marks", Severity::Notice, seeProblems},
        DoubtKind{"stray-check", Severity::Warning, seeProblems},
    };
    const auto* const found = std::ranges::find(kKinds, kind, &DoubtKind::kind);
    return found == kKinds.end() ? nullptr : found;
}

/// True if another problem is the cause: of several problems with the same cause, only the cause is reported.
bool isConsequence(std::string_view kind, const std::vector<Diagnostic>& problems) {
    const auto holds = [&](std::string_view cause) {
        return std::ranges::find(problems, cause, &Diagnostic::kind) != problems.end();
    };
    const bool is_end = kind == "unfinished" || kind == "truncated";
    if (is_end && holds("rank-ended")) return true;
    return (is_end || kind == "rank-ended" || kind == "unmatched-begin") && holds("rank-killed");
}

} // namespace

std::vector<Statement> statementsOf(const std::vector<Diagnostic>& problems) {
    std::vector<Statement> out;
    for (const Diagnostic& problem : problems) {
        const bool is_told =
            problem.kind == "mixed-runs" && std::ranges::find(out, problem.kind, &Statement::kind) != out.end();
        if (is_told || isConsequence(problem.kind, problems)) continue;
        const DoubtKind* const doubt = findDoubt(problem.kind);
        if (doubt == nullptr && !meansLostRecords(problem)) continue;
        Statement statement;
        statement.concern = Concern::Data;
        statement.severity = doubt == nullptr ? Severity::Warning : doubt->severity;
        statement.kind = problem.kind;
        statement.what = problem.count > 1 && !problem.where.empty()
                             ? say("{}: {} ({} times).", problem.where, problem.message, problem.count)
                         : problem.where.empty() ? say("{}.", problem.message)
                                                 : say("{}: {}.", problem.where, problem.message);
        statement.action = doubt == nullptr ? recordWithRoom() : doubt->action();
        out.push_back(std::move(statement));
    }
    return out;
}

} // namespace bubblescope
