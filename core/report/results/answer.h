#pragma once

#include "core/answer/statement.h"
#include "core/report/document.h"

#include <cstddef>
#include <vector>

namespace bubblescope::report {

/// The answer for a reader in a hurry: the statements that cast doubt on the result, at most three, and the first of
/// the others. At least one.
[[nodiscard]] std::vector<const Statement*> headline(const Answer& answer);

/// The label of a statement for people: "Data:", "Result:", "Cost:".
[[nodiscard]] Sentence labelOf(const Statement& statement);
/// "146 ms of a step (21.6 %)" if the gain of a statement's action differs from its cost; otherwise empty.
[[nodiscard]] Sentence gainText(const Answer& answer, const Statement& statement);

/// The statements for programs.
[[nodiscard]] Value::List statementList(const Answer& answer);
/// Adds the state and the headline for people, each with a label.
void addHeadline(Section& section, const Answer& answer);

/// Adds, for programs, "summary" (an object with the state and the first statement) and "answer" (the list of all
/// statements); for people the state and the headline.
void addAnswer(Section& section, const Answer& answer);

} // namespace bubblescope::report
