#include "core/answer/statement.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// Lower values come first.
int orderOf(const Statement& statement) {
    if (statement.concern == Concern::Fine) return 3;
    if (statement.concern == Concern::Time) return 2;
    if (!isDoubt(statement)) return 4;
    return statement.concern == Concern::Data ? 0 : 1;
}

/// "Communication costs time" is less useful than naming the link, or the lack of cores, that causes most of the cost.
void putLinksFirst(std::vector<Statement>& statements) {
    const auto general = std::ranges::find(statements, "exposed-communication", &Statement::kind);
    if (general == statements.end()) return;
    const auto isMostOfIt = [&](const Statement& each) {
        const bool of_link = each.kind == "slow-link" || each.kind == "degrading-link" || each.kind == "host-starved";
        return of_link && 2 * each.worth() >= general->worth();
    };
    const auto link = std::find_if(general, statements.end(), isMostOfIt);
    if (link != statements.end()) std::rotate(general, link, std::next(link));
}

} // namespace

bool isDoubt(const Statement& statement) {
    const bool about_result = statement.concern == Concern::Data || statement.concern == Concern::Computation;
    return about_result && statement.severity != Severity::Notice;
}

std::string_view concernName(Concern concern) {
    switch (concern) {
    case Concern::Data: return "data";
    case Concern::Computation: return "computation";
    case Concern::Time: return "time";
    case Concern::Fine: return "fine";
    }
    return "";
}

bool Answer::isInDoubt() const {
    return std::ranges::any_of(statements, isDoubt);
}

void settle(Answer& answer, Statement nothing) {
    const bool costs =
        std::ranges::any_of(answer.statements, [](const Statement& each) { return each.concern == Concern::Time; });
    if (!costs) {
        if (answer.isInDoubt()) nothing.action = {};
        answer.statements.push_back(std::move(nothing));
    }
    std::ranges::stable_sort(answer.statements, {}, [](const Statement& each) {
        const TimeNs worth = each.concern == Concern::Time ? each.worth() : TimeNs{0};
        return std::tuple(orderOf(each), -static_cast<int>(isDoubt(each) ? each.severity : Severity::Notice), -worth);
    });
    putLinksFirst(answer.statements);
}

} // namespace bubblescope
