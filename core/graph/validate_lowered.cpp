#include "core/graph/validate_lowered.h"

#include "core/schedule/action_check.h"

#include <algorithm>
#include <string>

namespace bubblescope {
namespace {

Sentence hangText(const HangVerdict& verdict) {
    const Sentence cycle = cycleText(verdict.cycle);
    if (verdict.from_bytes == 0) return say("hangs with payloads of any size: {}", cycle);
    if (verdict.from_bytes == 1) return say("hangs with payloads of 1 byte or more: {}", cycle);
    return say("hangs with payloads of {} bytes or more: {}", verdict.from_bytes, cycle);
}

} // namespace

LoweredValidation validateLowered(const LoweredSchedule& lowered, const ValidateOptions& options,
                                  const QueueModel& queues) {
    LoweredValidation result;
    result.problems = validate(lowered.order, options);
    if (lowered.actions.size() != static_cast<std::size_t>(lowered.order.pp)) return result;
    for (ActionProblem& problem : checkActions(lowered))
        result.problems.push_back(
            {std::string(problem.kind), problem.rank, problem.action, std::move(problem.message)});
    const bool deadlock =
        std::ranges::any_of(result.problems, [](const ScheduleProblem& problem) { return problem.kind == "deadlock"; });
    if (deadlock || !lowered.hasTransfers()) return result;
    result.hang = hangVerdict(lowered, queues);
    if (!result.hang->hangs()) return result;
    for (const WrongPairing& wrong : wrongPairings(lowered, queues.communicators)) {
        result.problems.push_back(
            {"pairing", wrong.rank, wrong.action,
             say("{} would receive what rank {} sends with {}: their communicator matches sends and receives by order",
                 wrong.receive, wrong.from.value, wrong.send)});
    }
    // First, because reports list at most the first thousand.
    result.problems.insert(result.problems.begin(), {"hang", result.hang->cycle.front().rank,
                                                     result.hang->cycle.front().action, hangText(*result.hang)});
    return result;
}

std::vector<CommunicatorVerdict> verdictsOfAll(const LoweredSchedule& lowered, QueueModel queues) {
    std::vector<CommunicatorVerdict> verdicts;
    for (const CommunicatorKind kind : {CommunicatorKind::One, CommunicatorKind::Direction, CommunicatorKind::Pair,
                                        CommunicatorKind::Edge, CommunicatorKind::Tag}) {
        CommunicatorVerdict& each = verdicts.emplace_back();
        each.kind = kind;
        // A single queue imposes all orders that several queues impose. If one queue cannot hang, several cannot hang
        // either.
        if (kind != CommunicatorKind::One && !verdicts.front().verdict.hangs()) continue;
        queues.communicators = {kind, {}};
        each.verdict = hangVerdict(lowered, queues);
        each.pairs_wrongly = each.verdict.hangs() && !wrongPairings(lowered, queues.communicators).empty();
    }
    return verdicts;
}

} // namespace bubblescope
