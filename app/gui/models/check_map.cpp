#include "app/gui/models/check_map.h"

#include <algorithm>
#include <map>

namespace bubblescope::gui {

CheckMap checkMap(const CheckCoverage& coverage) {
    std::map<CheckPlace, std::map<CheckMap::Column, CheckMap::Cell>> cells;
    CheckMap out;
    for (const CoveredUnit& unit : coverage.units) {
        const CheckMap::Column column{unit.chunk, unit.kind};
        CheckMap::Cell& cell = cells[unit.place][column];
        ++cell.units;
        switch (unit.state()) {
        case Covered::Yes: ++cell.covered; break;
        case Covered::NotYet: ++cell.not_yet; break;
        case Covered::Never: ++cell.never; break;
        }
        cell.counts.equal += unit.counts.equal;
        cell.counts.mismatched += unit.counts.mismatched;
        cell.counts.aborted += unit.counts.aborted;
        cell.counts.skipped += unit.counts.skipped;
        if (std::ranges::find(out.columns, column) == out.columns.end()) out.columns.push_back(column);
    }
    std::ranges::sort(out.columns);
    for (auto& [place, of_place] : cells) {
        out.rows.push_back(place);
        for (const CheckMap::Column& column : out.columns)
            out.cells.push_back(of_place[column]);
    }
    return out;
}

ItemRef checkItem(const Session& session, std::size_t index) {
    const CheckRecord& check = session.run.checks.checks[index];
    for (int place = 0; place < session.stepCount(); ++place) {
        const StepTimeline& step = session.step(place);
        if (step.index != check.step || step.replica != check.replica || check.rank.index() >= step.ranks.size())
            continue;
        return {ItemKind::Check, place, check.rank.value, static_cast<std::int32_t>(index)};
    }
    return {};
}

ItemRef checkOf(const Session& session, const CheckPlace& place, const CheckMap::Column& column) {
    const auto& checks = session.run.checks.checks;
    ItemRef latest;
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const CheckRecord& check = checks[i];
        const bool done = check.outcome == CheckOutcome::Equal || check.outcome == CheckOutcome::Mismatch;
        if (!done || placeOf(check) != place || check.op.chunk != column.chunk || check.op.kind != column.kind)
            continue;
        const ItemRef item = checkItem(session, i);
        if (!item) continue;
        if (check.outcome == CheckOutcome::Mismatch) return item;
        latest = item;
    }
    return latest;
}

} // namespace bubblescope::gui
