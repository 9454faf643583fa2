#include "core/report/results/validation.h"

#include <fmt/format.h>

namespace bubblescope::report {

Document validationDocument(const Schedule& schedule, const std::vector<ScheduleProblem>& problems) {
    Document document;
    document.data("valid", problems.empty());
    Table table("problems", {data("kind"), data("rank"), data("index"), data("message")});
    table.reader = Reader::Programs;
    for (const ScheduleProblem& problem : problems) {
        table.row(problem.kind, problem.rank, problem.index, problem.message);
        document.line(fmt::format("rank {}, op {}: {}: {}", problem.rank.value, problem.index, problem.kind,
                                  problem.message.text()));
    }
    document.add(std::move(table));
    if (problems.empty())
        document.line(fmt::format("valid: {} ops on {} ranks", schedule.opCount(), schedule.ranks.size()));
    return document;
}

} // namespace bubblescope::report
