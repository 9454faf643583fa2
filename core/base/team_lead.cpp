#include "core/base/team_lead.h"

#include "core/base/wire.h"

#include <exception>
#include <new>
#include <utility>

namespace bubblescope {

namespace {

// The first byte of what the root sends: the last of a lead's messages is this alone.
constexpr char kDismissed = 'd';
constexpr char kQuestion = 'q';

std::string packed(Result<std::string> answer) {
    WireWriter out;
    out(answer.ok());
    if (answer.ok())
        out(answer.value());
    else
        out(answer.error());
    return out.take();
}

Result<std::string> unpacked(const std::string& bytes) {
    WireReader in(bytes);
    bool ok = false;
    std::string answer;
    Error error;
    in(ok);
    if (ok)
        in(answer);
    else
        in(error);
    if (!in.done()) return runError("a process answered with bytes that nobody understands");
    if (!ok) return error;
    return answer;
}

Result<std::string> respondTo(const Responder& respond, std::string_view question) {
    try {
        return respond(question);
    } catch (const std::bad_alloc&) {
        return runError("a process needs more memory than there is", "use more processes, or more memory for each");
    } catch (const std::exception& error) {
        return runError(std::string("a process stopped unexpectedly: ") + error.what());
    }
}

} // namespace

TeamLead::~TeamLead() {
    (void)team_.broadcast(std::string(1, kDismissed)); // a team that failed has nobody left to tell
}

Result<std::vector<std::string>> TeamLead::ask(const std::string& question, const Responder& own) {
    const auto sent = team_.broadcast(kQuestion + question);
    if (!sent.ok()) return sent.error();
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team_.gather(packed(respondTo(own, question))));
    std::vector<std::string> answers;
    for (const std::string& bytes : all) {
        BUBBLESCOPE_ASSIGN(std::string answer, unpacked(bytes));
        answers.push_back(std::move(answer));
    }
    return answers;
}

Status TeamLead::serve(ProcessTeam& team, const Responder& respond) {
    while (true) {
        BUBBLESCOPE_ASSIGN(const std::string told, team.broadcast({}));
        if (told.empty() || told.front() != kQuestion) return {};
        const auto sent = team.gather(packed(respondTo(respond, std::string_view(told).substr(1))));
        if (!sent.ok()) return sent.error();
    }
}

} // namespace bubblescope
