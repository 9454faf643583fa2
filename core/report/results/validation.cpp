#include "core/report/results/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace bubblescope::report {

Document validationDocument(const Schedule& schedule, const std::vector<ScheduleProblem>& problems) {
    constexpr std::size_t kListed = 1000; // nobody reads more of them
    Document document;
    document.data("valid", problems.empty());
    document.data("problem_count", problems.size());
    Table table("problems", {data("kind"), data("rank"), data("index"), data("message")});
    table.reader = Reader::Programs;
    for (const ScheduleProblem& problem : std::span(problems).first(std::min(problems.size(), kListed))) {
        table.row(problem.kind, problem.rank, problem.index, problem.message);
        document.line(fmt::format("rank {}, op {}: {}: {}", problem.rank.value, problem.index, problem.kind,
                                  problem.message.text()));
    }
    if (problems.size() > kListed) document.line(fmt::format("… and {} more", problems.size() - kListed));
    document.add(std::move(table));
    if (problems.empty())
        document.line(fmt::format("valid: {} ops on {} ranks", schedule.opCount(), schedule.ranks.size()));
    return document;
}

} // namespace bubblescope::report
