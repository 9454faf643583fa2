#pragma once

#include "core/answer/statement.h"
#include "core/report/document.h"

#include <vector>

namespace bubblescope::report {

/// The statements to read first: at most three that cast doubt on the result, and the most important of the others.
/// Contains at least one statement.
[[nodiscard]] std::vector<const Statement*> headline(const Answer& answer);

/// Label of a statement for people: "Data:", "Result:", "Cost:".
[[nodiscard]] Sentence labelOf(const Statement& statement);
/// Text such as "146 ms of a step (21.6 %)" if the gain of a statement differs from the cost; otherwise empty.
[[nodiscard]] Sentence gainText(const Answer& answer, const Statement& statement);

/// All statements, for programs.
[[nodiscard]] Value::List statementList(const Answer& answer);
/// For people, adds the state and the headline, each with a label.
void addHeadline(Section& section, const Answer& answer);

/// For programs, adds "summary" (an object with the state and the first statement) and "answer" (the list of all
/// statements); for people, adds the state and the headline.
void addAnswer(Section& section, const Answer& answer);

} // namespace bubblescope::report
