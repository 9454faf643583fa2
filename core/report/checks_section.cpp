#include "core/report/checks_section.h"

#include "core/aadiff/coverage.h"
#include "core/aadiff/mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace bubblescope {
namespace {

using html::Cell;

CheckedDevice deviceOf(const CheckLog& log, const CheckPlace& place) {
    const auto known = log.devices.find(place);
    return known == log.devices.end() ? CheckedDevice{} : known->second;
}

void addCounts(html::Page& page, const CheckCoverage& coverage) {
    std::vector<std::vector<Cell>> rows;
    for (std::size_t i = 0; i < kCheckKindCount; ++i) {
        const CheckCounts& counts = coverage.counts[i];
        if (counts.planned() == 0) continue;
        rows.push_back({{std::string(checkKindName(static_cast<CheckKind>(i)))},
                        {html::number(counts.planned())},
                        {html::number(counts.equal)},
                        {html::number(counts.mismatched), -1, counts.mismatched > 0},
                        {html::number(counts.aborted)},
                        {html::number(counts.skipped)}});
    }
    page.table({{"check", false}, {"planned"}, {"equal"}, {"mismatched"}, {"aborted"}, {"skipped"}}, rows);
}

void addRanks(html::Page& page, const CheckCoverage& coverage) {
    std::map<CheckPlace, std::array<std::int64_t, 3>> states;
    for (const CoveredUnit& unit : coverage.units)
        ++states[unit.place][static_cast<std::size_t>(unit.state())];
    std::vector<std::vector<Cell>> rows;
    for (const auto& [place, counts] : states) {
        const std::int64_t all = counts[0] + counts[1] + counts[2];
        rows.push_back({{html::number(place.replica)},
                        {html::number(place.rank.value)},
                        {html::number(place.tensor_rank)},
                        {html::number(all)},
                        {html::number(counts[0]), static_cast<double>(counts[0]) / static_cast<double>(all)},
                        {html::number(counts[1])},
                        {html::number(counts[2]), -1, counts[2] > 0}});
    }
    page.table({{"replica"}, {"rank"}, {"tensor rank"}, {"units"}, {"covered"}, {"not yet"}, {"never"}}, rows);
}

void addMismatches(html::Page& page, const CheckLog& log) {
    constexpr std::size_t kMost = 500;
    std::vector<std::vector<Cell>> rows;
    std::size_t count = 0;
    for (const CheckRecord& check : log.checks) {
        if (check.outcome != CheckOutcome::Mismatch || ++count > kMost) continue;
        rows.push_back({{std::string(verdictName(check.verdict))},
                        {mismatchPlace(check, deviceOf(log, placeOf(check))).text()},
                        {differenceText(check).text()},
                        {verdictText(check).text()}});
    }
    if (rows.empty()) return;
    page.table({{"verdict", false}, {"where", false}, {"what", false}, {"told by repeating it", false}}, rows);
    if (count > kMost) page.paragraph(fmt::format("Only the first {} of {} are listed.", kMost, count));
}

} // namespace

void addChecks(html::Page& page, const Run& run, const RunReport& report) {
    if (!report.coverage) return;
    const CheckCoverage& coverage = *report.coverage;
    const FaultOdds odds = faultOdds(coverage.devices, coverage.replayedFraction());
    page.section(
        "Checks in bubbles",
        fmt::format("Work that was run a second time, compared bit by bit. {} of {} units of work (a kind of op "
                    "of one layer on one rank) are covered, {} not yet, {} never: of those nothing is known.",
                    coverage.unitsThatAre(Covered::Yes), coverage.units.size(), coverage.unitsThatAre(Covered::NotYet),
                    coverage.unitsThatAre(Covered::Never)));
    addMismatches(page, run.checks);
    addCounts(page, coverage);
    addRanks(page, coverage);
    page.paragraph(fmt::format(
        "{:.2f} % of the work was run again. At the published rates of silent faults ({} to {}) {} devices meet {:.3g} "
        "to {:.3g} of them a day; checks like these see {:.3g} to {:.3g} a day.",
        100 * coverage.replayedFraction(), publishedRates().front().source, publishedRates().back().source,
        coverage.devices, odds.faults.low, odds.faults.high, odds.caught.low, odds.caught.high));
}

} // namespace bubblescope
