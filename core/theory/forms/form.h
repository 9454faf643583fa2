#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The relation of a form's value to the true one.
enum class FormKind : std::uint8_t {
    Exact,
    LowerBound, ///< the true value is at least this
    UpperBound, ///< the true value is at most this
};

/// "exact", "lower bound", "upper bound"; also the JSON value.
[[nodiscard]] std::string_view formKindName(FormKind kind);

/// A closed form's value at one rank and position, with its expression.
struct PositionForm {
    Rank rank;
    Position position = Position::BeforeWarmup;
    std::string expression; ///< such as "(p−s−1)·t_b"; s is the rank
    TimeNs value{0};
    FormKind kind = FormKind::Exact;
    std::string domain; ///< conditions under which the form is exact or a bound, in words
};

/// Maximum activations per rank, in forward ops of one chunk, as counted by peakActivations(). They only depend on the
/// order, so they are valid for all times and transfers.
struct PeakForm {
    std::string expression;  ///< such as "min(m, p−s)"; s is the rank
    std::vector<int> values; ///< per rank
    FormKind kind = FormKind::Exact;
    std::string domain;
};

/// The quantity that a published form describes.
enum class Quantity : std::uint8_t {
    PositionBubble, ///< a rank's bubble at one position
    Bubble,         ///< a rank's bubble in total
    SpanBubble,     ///< the bubble on the longest span, as the zero-bubble papers count it
    Makespan,
    BubbleRate, ///< the three of BubbleRates
    SpanBubbleRate,
    OverIdeal,
};

[[nodiscard]] std::string_view quantityName(Quantity quantity);

/// A form as published, listed under its own name because it is wrong, incomplete or easily misread.
struct QuotedForm {
    std::string name;   ///< "inner split of 1F1B, before the steady part"
    std::string source; ///< the publication
    Quantity quantity = Quantity::Bubble;
    Position position = Position::BeforeWarmup; ///< for a PositionBubble
    std::string expression;                     ///< in the symbols used here
    std::vector<TimeNs> values;                 ///< per rank, one for a makespan or a span; empty for a ratio
    double ratio = 0;
    bool holds = false;  ///< true if it is right for these sizes and times
    std::string verdict; ///< two sentences: what is wrong or easily misread, and what is right
};

/// Closed-form bubbles of one step. Positions refer to the consolidated timeline (consolidate.h).
struct ClosedForm {
    /// By rank, then position; omits positions whose form is 0 for every rank. Empty if only the totals are known; if
    /// only some positions are known, contains those, and positionsKnown() is false.
    std::vector<PositionForm> positions;
    std::vector<TimeNs> bubble;    ///< total per rank
    std::string bubble_expression; ///< such as "(p−1)·(t_f+t_b)"
    TimeNs makespan{0};
    std::string makespan_expression;
    FormKind kind = FormKind::Exact; ///< of makespan, totals and rates
    std::string domain;              ///< conditions under which makespan and totals are exact or bounds, in words
    std::string note;                ///< why there is no exact form; empty if there is one
    /// The three definitions of "bubble rate", see BubbleRates.
    double bubble_rate = 0;                 ///< idle over makespan
    std::optional<double> span_bubble_rate; ///< none if the forms do not determine when ranks start and end
    double over_ideal = 0;
    std::optional<PeakForm> peaks;  ///< none if no form is known
    std::vector<QuotedForm> quoted; ///< published forms of this schedule, with verdicts
    bool f_then_b = false;          ///< positions are worded for F-then-B

    [[nodiscard]] bool exact() const { return kind == FormKind::Exact; }
    /// True if every position that is not 0 is listed with its exact value.
    [[nodiscard]] bool positionsKnown() const;
    /// The form's value; 0 if none is listed.
    [[nodiscard]] TimeNs at(Rank rank, Position position) const;
    /// The forms between warm-up and steady, per rank: the input of consolidate().
    [[nodiscard]] std::vector<TimeNs> beforeSteady() const;
};

} // namespace bubblescope
