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

/// Relation between a form's value and the true value.
enum class FormKind : std::uint8_t {
    Exact,
    LowerBound, ///< the true value is at least this
    UpperBound, ///< the true value is at most this
};

/// Text and JSON value: "exact", "lower bound", "upper bound".
[[nodiscard]] std::string_view formKindName(FormKind kind);

/// Value of a closed form for one rank and position, with its expression.
struct PositionForm {
    Rank rank;
    Position position = Position::BeforeWarmup;
    std::string expression; ///< such as "(p−s−1)·t_b"; s is the rank
    TimeNs value{0};
    FormKind kind = FormKind::Exact;
    std::string domain; ///< conditions under which the form is exact or a bound
};

/// Maximum activations per rank, in units of one chunk's forward, as counted by peakActivations(). Peaks depend only on
/// the order, so they hold for any op and transfer times.
struct PeakForm {
    std::string expression;  ///< such as "min(m, p−s)"; s is the rank
    std::vector<int> values; ///< per rank
    FormKind kind = FormKind::Exact;
    std::string domain;
};

/// The quantity described by a published form.
enum class Quantity : std::uint8_t {
    PositionBubble, ///< a rank's bubble at one position
    Bubble,         ///< total bubble of a rank
    SpanBubble,     ///< the bubble on the longest span, as defined in the zero-bubble papers
    Makespan,
    BubbleRate, ///< one of the three rates in BubbleRates
    SpanBubbleRate,
    OverIdeal,
};

[[nodiscard]] std::string_view quantityName(Quantity quantity);

/// A published form that is listed because it is wrong, incomplete or easily misunderstood.
struct QuotedForm {
    std::string name;   ///< such as "inner split of 1F1B, before the steady part"
    std::string source; ///< title of the publication
    Quantity quantity = Quantity::Bubble;
    Position position = Position::BeforeWarmup; ///< for a PositionBubble
    std::string expression;                     ///< expression with the symbols used here
    std::vector<TimeNs> values;                 ///< per rank, or one value for a makespan or a span; empty for a ratio
    double ratio = 0;
    bool holds = false;  ///< true if the form is correct for these sizes and times
    std::string verdict; ///< two sentences: what is wrong or easily misunderstood, and what is correct
};

/// Closed-form bubbles of one step. Positions refer to the consolidated timeline (consolidate.h).
struct ClosedForm {
    /// Sorted by rank, then by position; omits positions whose form is 0 for every rank. Empty if only the totals are
    /// known. If only some positions are known, contains only these, and positionsKnown() is false.
    std::vector<PositionForm> positions;
    std::vector<TimeNs> bubble;    ///< total bubble per rank
    std::string bubble_expression; ///< such as "(p−1)·(t_f+t_b)"
    TimeNs makespan{0};
    std::string makespan_expression;
    FormKind kind = FormKind::Exact; ///< kind of the makespan, totals and rates
    std::string domain;              ///< conditions under which makespan and totals are exact or bounds
    std::string note;                ///< reason why there is no exact form; empty if there is one
    /// The three bubble rates defined in BubbleRates.
    double bubble_rate = 0;                 ///< idle over makespan
    std::optional<double> span_bubble_rate; ///< none if the forms do not determine the times when ranks start and end
    double over_ideal = 0;
    std::optional<PeakForm> peaks;  ///< none if no form is known
    std::vector<QuotedForm> quoted; ///< published forms of this schedule, with verdicts
    bool f_then_b = false;          ///< positions are named as in F-then-B

    [[nodiscard]] bool exact() const { return kind == FormKind::Exact; }
    /// True if every position with a bubble is listed with its exact value.
    [[nodiscard]] bool positionsKnown() const;
    /// Value of the form; 0 if none is listed.
    [[nodiscard]] TimeNs at(Rank rank, Position position) const;
    /// Forms between warm-up and steady phase, per rank: the input of consolidate().
    [[nodiscard]] std::vector<TimeNs> beforeSteady() const;
};

} // namespace bubblescope
