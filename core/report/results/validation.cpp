#include "core/report/results/validation.h"

#include "core/base/bytes.h"
#include "core/report/svg/draw_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace bubblescope::report {
namespace {

Value cycleValue(const std::vector<WaitStep>& cycle) {
    Value::List steps;
    for (const WaitStep& step : cycle)
        steps.push_back(Value::Object{{"rank", step.rank}, {"call", step.call}, {"waits_for", step.waits_for}});
    return steps;
}

std::string verdictLine(const HangVerdict& verdict, const QueueModel& queues) {
    const std::string with =
        queues.communicators.kind == CommunicatorKind::Tag
            ? "with transfers matched by tag"
            : fmt::format("with communicators '{}'", communicatorKindName(queues.communicators.kind));
    if (!verdict.hangs()) return fmt::format("cannot hang {}, for any payload and any timing", with);
    return fmt::format("hangs {}: the wait cycle is above", with);
}

std::string namesOf(const std::vector<CommunicatorVerdict>& all, bool safe) {
    std::string names;
    for (const CommunicatorVerdict& each : all) {
        if ((each.verdict.hangs() || each.pairs_wrongly) == safe) continue;
        names += (names.empty() ? "" : ", ") + std::string(communicatorKindName(each.kind));
    }
    return names.empty() ? "none" : names;
}

} // namespace

Document validationDocument(const LoweredSchedule& schedule, const LoweredValidation& found) {
    constexpr std::size_t kListed = 1000; // nobody would read more
    const auto& problems = found.problems;
    Document document;
    document.data("valid", problems.empty());
    document.data("problem_count", problems.size());
    Table table("problems",
                {data("kind"), data("rank"), data("index"), data("message"), data("cycle"), data("from_bytes")});
    table.reader = Reader::Programs;
    for (const ScheduleProblem& problem : std::span(problems).first(std::min(problems.size(), kListed))) {
        const bool hang = problem.kind == "hang";
        table.row(problem.kind, problem.rank, problem.index, problem.message,
                  hang ? Cell(cycleValue(found.hang->cycle)) : absent(),
                  hang ? Cell(found.hang->from_bytes) : absent());
        const bool named = problem.message.text().starts_with(problem.kind + ":");
        document.line(fmt::format("rank {}, op {}: {}{}", problem.rank.value, problem.index,
                                  named ? "" : problem.kind + ": ", problem.message.text()));
    }
    if (problems.size() > kListed) document.line(fmt::format("… and {} more", problems.size() - kListed));
    document.add(std::move(table));
    if (problems.empty()) {
        document.line(fmt::format("valid: {} ops on {} ranks", schedule.order.opCount(), schedule.order.ranks.size()));
    }
    return document;
}

std::string cycleDrawing(const HangVerdict& hang) {
    std::vector<svg::CycleCall> calls;
    for (const WaitStep& step : hang.cycle) {
        std::string why; // the other end
        if (step.why == WaitStep::Why::Queue) why = fmt::format("behind, in {}", step.communicator);
        if (step.why == WaitStep::Why::NotPosted) why = "posted after";
        calls.push_back({step.rank.value, step.action, step.call, std::move(why)});
    }
    return svg::drawCycle(
        calls, hang.from_bytes == 0
                   ? "Hangs with payloads of any size. Arrows: waits for"
                   : fmt::format("Hangs with payloads of {} or more. Arrows: waits for", formatBytes(hang.from_bytes)));
}

std::string safeCommunicatorsLine(const std::vector<CommunicatorVerdict>& all) {
    return fmt::format("safe communicators: {}; unsafe: {}", namesOf(all, true), namesOf(all, false));
}

void addVerdicts(Document& document, const LoweredValidation& found, const QueueModel& queues,
                 const std::vector<CommunicatorVerdict>& all) {
    document.line(verdictLine(*found.hang, queues));
    document.line(safeCommunicatorsLine(all));
    document.data("communicators", communicatorKindName(queues.communicators.kind));
    document.data("eager_bytes", queues.eager_bytes);
    document.data("can_hang", found.hang->hangs());
    Table table("verdicts", {data("communicators"), data("can_hang"), data("from_bytes"), data("pairs_wrongly")});
    table.reader = Reader::Programs;
    for (const CommunicatorVerdict& each : all) {
        table.row(communicatorKindName(each.kind), each.verdict.hangs(),
                  each.verdict.hangs() ? Cell(each.verdict.from_bytes) : Cell(Value()), each.pairs_wrongly);
    }
    document.add(std::move(table));
}

} // namespace bubblescope::report
