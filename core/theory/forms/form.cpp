#include "core/theory/forms/form.h"

#include <algorithm>

namespace bubblescope {

std::string_view formKindName(FormKind kind) {
    switch (kind) {
    case FormKind::Exact: return "exact";
    case FormKind::LowerBound: return "lower bound";
    case FormKind::UpperBound: return "upper bound";
    }
    return "";
}

std::string_view quantityName(Quantity quantity) {
    switch (quantity) {
    case Quantity::PositionBubble: return "bubble at a position";
    case Quantity::Bubble: return "bubble per rank";
    case Quantity::SpanBubble: return "bubble on the longest span";
    case Quantity::Makespan: return "makespan";
    case Quantity::BubbleRate: return "bubble over makespan";
    case Quantity::SpanBubbleRate: return "bubble over the longest span";
    case Quantity::OverIdeal: return "bubble over ideal";
    }
    return "";
}

bool ClosedForm::positionsKnown() const {
    const auto is_exact = [](const PositionForm& form) { return form.kind == FormKind::Exact; };
    if (!exact() || positions.empty() || !std::ranges::all_of(positions, is_exact)) return false;
    std::vector<TimeNs> sums(bubble.size(), TimeNs{0});
    for (const PositionForm& form : positions)
        sums[form.rank.index()] += form.value;
    return sums == bubble;
}

TimeNs ClosedForm::at(Rank rank, Position position) const {
    for (const PositionForm& form : positions) {
        if (form.rank == rank && form.position == position) return form.value;
    }
    return TimeNs{0};
}

std::vector<TimeNs> ClosedForm::beforeSteady() const {
    std::vector<TimeNs> values(bubble.size(), TimeNs{0});
    for (const PositionForm& form : positions) {
        if (form.position == Position::WarmupToSteady) values[form.rank.index()] = form.value;
    }
    return values;
}

} // namespace bubblescope
