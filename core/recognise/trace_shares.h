#pragma once

#include "core/base/process_team.h"
#include "core/base/wire.h"
#include "core/recognise/run.h"
#include "core/recognise/trace_share.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// All shares of a trace: one in this process, or one in each of a lead's. Made on the lead's root.
class TraceShares {
public:
    /// Reads files, and every trace file below folders, as readTraces() does; what is wrong with them goes to `log`.
    /// Several processes take neighbouring files of about as many bytes each. `lead` is null for this process alone;
    /// it, `own_rules` and `control` must outlive the result. Errors: as readTraces(), and Run where a process fails.
    [[nodiscard]] static Result<std::shared_ptr<TraceShares>> read(const std::vector<std::filesystem::path>& paths,
                                                                   JobControl& control,
                                                                   std::span<const RecognitionRule> own_rules,
                                                                   Coordinator* lead, DiagnosticLog& log);

    [[nodiscard]] std::span<const TraceFile> files() const { return files_; }
    [[nodiscard]] std::size_t sliceCount() const { return slices_; }
    [[nodiscard]] TimeNs span() const { return span_; }
    [[nodiscard]] bool spread() const { return lead_ != nullptr; }
    [[nodiscard]] TraceShare& own() { return own_; }

    /// The answers of all shares, in the order of their files.
    template <class Question>
    [[nodiscard]] Result<std::vector<AnswerTo<Question>>> ask(const Question& question);

    /// The first error of questions whose asker could not do anything about it; they were answered with nothing.
    [[nodiscard]] const Status& status() const { return status_; }
    void fail(Error error) {
        if (status_.ok()) status_ = std::move(error);
    }

private:
    TraceShares(std::span<const RecognitionRule> own_rules, JobControl& control, Coordinator* lead)
        : own_(0, own_rules, control), lead_(lead) {}

    TraceShare own_;
    Coordinator* lead_;
    std::vector<TraceFile> files_;
    std::size_t slices_ = 0;
    TimeNs span_{0};
    Status status_;
};

/// How a share answers a kind of question that comes as bytes.
using ShareResponder = Result<std::string> (*)(TraceShare& share, WireReader& question);
using ShareResponders = std::map<std::string, ShareResponder, std::less<>>;

template <class Question>
[[nodiscard]] Result<std::string> respond(TraceShare& share, WireReader& in) {
    Question question;
    in(question);
    if (!in.done()) return runError("a process was asked what it does not understand");
    BUBBLESCOPE_ASSIGN(const AnswerTo<Question> answer, question.answer(share));
    WireWriter out;
    out(answer);
    return out.take();
}

/// For a table of the questions that a process answers.
template <class... Questions>
void addResponders(ShareResponders& table) {
    (table.emplace(Questions::kName, &respond<Questions>), ...);
}

/// Those that loading a run asks.
void addLoadResponders(ShareResponders& table);

/// On the lead's other processes: holds a share and answers until dismissed. Errors: Run, when the team fails.
[[nodiscard]] Status serveShare(ProcessTeam& team, std::span<const RecognitionRule> own_rules,
                                const ShareResponders& responders);

template <class Question>
Result<std::vector<AnswerTo<Question>>> TraceShares::ask(const Question& question) {
    std::vector<AnswerTo<Question>> answers;
    if (lead_ == nullptr) {
        BUBBLESCOPE_ASSIGN(AnswerTo<Question> answer, question.answer(own_));
        if (own_.control().stopRequested()) return cancelledError();
        answers.push_back(std::move(answer));
        return answers;
    }
    WireWriter bytes;
    bytes(std::string(Question::kName), question);
    BUBBLESCOPE_ASSIGN(const auto replies, lead_->ask(bytes.take(), [&](std::string_view) -> Result<std::string> {
        BUBBLESCOPE_ASSIGN(const AnswerTo<Question> answer, question.answer(own_));
        WireWriter out;
        out(answer);
        return out.take();
    }));
    for (const std::string& reply : replies) {
        WireReader in(reply);
        in(answers.emplace_back());
        if (!in.done()) return runError("a process answered with bytes that nobody understands");
    }
    return answers;
}

/// The same for a loaded run, whose slices may be gone: then there are no answers, and none where a process failed,
/// which the run's shares remember.
template <class Question>
[[nodiscard]] std::vector<AnswerTo<Question>> askRun(const Run& run, const Question& question) {
    if (run.shares == nullptr && run.trace == nullptr) return {};
    if (run.shares == nullptr) {
        TraceShare whole(run.trace);
        auto answer = question.answer(whole);
        if (!answer.ok()) return {};
        std::vector<AnswerTo<Question>> answers;
        answers.push_back(std::move(answer).value());
        return answers;
    }
    auto answers = run.shares->ask(question);
    if (answers.ok()) return std::move(answers).value();
    run.shares->fail(std::move(answers).error());
    return {};
}

} // namespace bubblescope
