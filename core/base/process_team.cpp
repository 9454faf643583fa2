#include "core/base/process_team.h"

#include "core/base/wire.h"

#include <exception>
#include <new>
#include <utility>

namespace bubblescope {

namespace {

// The first byte of the root's messages. kDismissed is the last message and consists of this byte only.
constexpr char kDismissed = 'd';
constexpr char kRequest = 'q';

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

Result<std::string> handled(const RequestHandler& handle, std::string_view request) {
    try {
        return handle(request);
    } catch (const std::bad_alloc&) {
        return runError("a process needs more memory than there is", "use more processes, or more memory for each");
    } catch (const std::exception& error) {
        return runError(std::string("a process stopped unexpectedly: ") + error.what());
    }
}

} // namespace

Coordinator::~Coordinator() {
    (void)team_.broadcast(std::string(1, kDismissed)); // in a failed team there is nobody left to dismiss
}

Result<std::vector<std::string>> Coordinator::ask(const std::string& request, const RequestHandler& own) {
    const auto sent = team_.broadcast(kRequest + request);
    if (!sent.ok()) return sent.error();
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team_.gather(packed(handled(own, request))));
    std::vector<std::string> answers;
    for (const std::string& bytes : all) {
        BUBBLESCOPE_ASSIGN(std::string answer, unpacked(bytes));
        answers.push_back(std::move(answer));
    }
    return answers;
}

Status Coordinator::serve(ProcessTeam& team, const RequestHandler& handle) {
    while (true) {
        BUBBLESCOPE_ASSIGN(const std::string message, team.broadcast({}));
        if (message.empty() || message.front() != kRequest) return {};
        const auto sent = team.gather(packed(handled(handle, std::string_view(message).substr(1))));
        if (!sent.ok()) return sent.error();
    }
}

} // namespace bubblescope
