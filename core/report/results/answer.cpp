#include "core/report/results/answer.h"

#include "core/base/field.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace bubblescope::report {
namespace {

Value::Object objectOf(const Statement& statement) {
    const Place& where = statement.where;
    const auto textOrNone = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
    return {{"class", concernName(statement.concern)},
            {"kind", statement.kind},
            {"severity", severityName(statement.severity)},
            {"message", statement.what},
            {"action", statement.action},
            {"rank", ifAny(where.rank)},
            {"peer", ifAny(where.peer)},
            {"replica", ifAny(where.replica)},
            {"stage", ifAny(where.stage)},
            {"global_rank", ifAny(where.global_rank)},
            {"host", textOrNone(where.host)},
            {"device", textOrNone(where.device)},
            {"since_step", ifAny(statement.since)},
            {"certainty", statement.certainty},
            {"cost_ns", statement.cost > TimeNs{0} ? Value(statement.cost) : Value()},
            {"gain_ns", statement.gain ? Value(*statement.gain) : Value()},
            {"change", textOrNone(statement.change)}};
}

/// Pads labels so that labels and texts are aligned on every line.
std::string padded(const Sentence& label) {
    return fmt::format("{:<9}", label.text());
}

/// Hints of errors begin with a lower-case letter.
std::string capitalised(std::string text) {
    if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    return text;
}

} // namespace

std::vector<const Statement*> headline(const Answer& answer) {
    constexpr std::size_t kMostDoubts = 3;
    std::vector<const Statement*> shown;
    for (const Statement& statement : answer.statements) {
        if (isDoubt(statement) && shown.size() >= kMostDoubts) continue;
        shown.push_back(&statement);
        if (!isDoubt(statement)) break;
    }
    return shown;
}

Sentence labelOf(const Statement& statement) {
    switch (statement.concern) {
    case Concern::Data: return say("Data:");
    case Concern::Computation: return say("Result:");
    default: return say("Cost:");
    }
}

Sentence gainText(const Answer& answer, const Statement& statement) {
    constexpr double kWorthNaming = 0.01; ///< fraction of the cost
    if (!statement.gain || answer.step_time <= TimeNs{0}) return {};
    const TimeNs difference = std::chrono::abs(*statement.gain - statement.cost);
    if (fractionOf(difference, statement.cost) < kWorthNaming) return {};
    return say("{} per step ({}), predicted by 'bubblescope whatif {}'.", formatTime(*statement.gain),
               formatPercent(fractionOf(*statement.gain, answer.step_time)), optionOf(Field("if"), statement.change));
}

Value::List statementList(const Answer& answer) {
    Value::List statements;
    for (const Statement& statement : answer.statements)
        statements.push_back(objectOf(statement));
    return statements;
}

void addHeadline(Section& section, const Answer& answer) {
    bool stated = false;
    const auto state = [&] {
        if (!std::exchange(stated, true)) section.paragraph("Verdict: ", answer.state.text());
    };
    for (const Statement* const statement : headline(answer)) {
        if (!isDoubt(*statement)) state(); // doubts come first
        section.paragraph(padded(labelOf(*statement)), statement->what.text());
        if (const Sentence gain = gainText(answer, *statement); !gain.empty())
            section.paragraph(padded(say("Gain:")), gain.text());
        if (!statement->action.empty())
            section.paragraph(padded(say("Action:")), capitalised(statement->action.text()));
    }
    state();
}

void addAnswer(Section& section, const Answer& answer) {
    Section summary;
    summary.key = "summary";
    summary.data("verdict", answer.state);
    summary.data("cost", answer.first().what);
    summary.data("action", answer.first().action);
    addHeadline(summary, answer);
    section.add(std::move(summary));
    section.data("answer", statementList(answer));
}

} // namespace bubblescope::report
