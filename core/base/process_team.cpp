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
constexpr char kRequestEach = 'e'; ///< the requests follow by an exchange

// The last byte of an answer, so that long ones need not be moved to be read.
constexpr char kAnswered = 'a';
constexpr char kFailed = 'f';

std::string packed(Result<std::string> answer) {
    if (answer.ok()) {
        std::string bytes = std::move(answer).value();
        bytes += kAnswered;
        return bytes;
    }
    WireWriter out;
    out(answer.error(), kFailed);
    return out.take();
}

Result<std::string> unpacked(std::string bytes) {
    if (bytes.ends_with(kAnswered)) {
        bytes.pop_back();
        return bytes;
    }
    WireReader in(bytes);
    Error error;
    char last = 0;
    in(error, last);
    if (!in.done() || last != kFailed) return runError("a process answered with bytes that nobody understands");
    return error;
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
    return answers(handled(own, request));
}

Result<std::vector<std::string>> Coordinator::askEach(std::vector<std::string> requests,
                                                      const std::function<Result<std::string>()>& own) {
    const auto sent = team_.broadcast(std::string(1, kRequestEach));
    if (!sent.ok()) return sent.error();
    const auto exchanged = team_.exchange(std::move(requests));
    if (!exchanged.ok()) return exchanged.error();
    return answers(handled([&own](std::string_view) { return own(); }, {}));
}

Result<std::vector<std::string>> Coordinator::answers(Result<std::string> own) {
    BUBBLESCOPE_ASSIGN(std::vector<std::string> all, team_.gather(packed(std::move(own))));
    std::vector<std::string> answers;
    for (std::string& bytes : all) {
        BUBBLESCOPE_ASSIGN(std::string answer, unpacked(std::move(bytes)));
        answers.push_back(std::move(answer));
    }
    return answers;
}

Status Coordinator::serve(ProcessTeam& team, const RequestHandler& handle) {
    while (true) {
        BUBBLESCOPE_ASSIGN(const std::string message, team.broadcast({}));
        std::string request;
        if (!message.empty() && message.front() == kRequestEach) {
            BUBBLESCOPE_ASSIGN(std::vector<std::string> each,
                               team.exchange(std::vector<std::string>(static_cast<std::size_t>(team.size()))));
            request = std::move(each.front());
        } else if (!message.empty() && message.front() == kRequest) {
            request = message.substr(1);
        } else {
            return {};
        }
        const auto sent = team.gather(packed(handled(handle, request)));
        if (!sent.ok()) return sent.error();
    }
}

} // namespace bubblescope
