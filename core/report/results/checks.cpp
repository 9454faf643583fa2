#include "core/report/results/analysis_parts.h"

#include "core/aadiff/mismatch.h"
#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace bubblescope::report {
namespace {

CheckedDevice deviceOf(const CheckLog& log, const CheckPlace& place) {
    const auto known = log.devices.find(place);
    return known == log.devices.end() ? CheckedDevice{} : known->second;
}

/// "rank 2 of replica 1, tensor rank 3".
std::string placeName(const CheckPlace& place) {
    std::string name = fmt::format("rank {}", place.rank.value);
    if (place.replica != 0) name += fmt::format(" of replica {}", place.replica);
    if (place.tensor_rank != 0) name += fmt::format(", tensor rank {}", place.tensor_rank);
    return name;
}

std::string unitName(const CoveredUnit& unit) {
    return fmt::format("{} of {}chunk {}", opLetter(unit.kind),
                       unit.layer ? fmt::format("layer {}, ", *unit.layer) : std::string(), unit.chunk.value);
}

// ---- For people ----

/// The number of checks by kind and outcome.
Table countsTable(const CheckCoverage& coverage) {
    Table table({}, {shown("check", Align::Left), shown("planned"), shown("equal"), shown("mismatched"),
                     shown("aborted"), shown("skipped")});
    for (std::size_t i = 0; i < kCheckKindCount; ++i) {
        const CheckCounts& counts = coverage.counts[i];
        if (counts.planned() == 0) continue;
        table.row(checkKindName(static_cast<CheckKind>(i)), counts.planned(), counts.equal,
                  Cell(counts.mismatched).markedIf(counts.mismatched > 0), counts.aborted, counts.skipped);
    }
    return table;
}

/// The number of units by place and state.
Table unitsTable(const CheckCoverage& coverage) {
    std::map<CheckPlace, std::array<std::int64_t, 3>> states;
    for (const CoveredUnit& unit : coverage.units)
        ++states[unit.place][static_cast<std::size_t>(unit.state())];
    Table table({}, {shown("", Align::Left), shown("units"), shown("covered"), shown("not yet"), shown("never")});
    table.most_in_text = 20;
    for (const auto& [place, counts] : states) {
        const std::int64_t all = counts[0] + counts[1] + counts[2];
        table.row(placeName(place), all,
                  Cell(counts[0]).withBar(static_cast<double>(counts[0]) / static_cast<double>(all)), counts[1],
                  Cell(counts[2]).markedIf(counts[2] > 0));
    }
    return table;
}

void addUnchecked(Section& section, const CheckCoverage& coverage) {
    for (const Covered state : {Covered::NotYet, Covered::Never}) {
        std::string names;
        std::size_t count = 0;
        for (const CoveredUnit& unit : coverage.units) {
            if (unit.state() != state) continue;
            constexpr std::size_t kShown = 4;
            if (count < kShown)
                names += fmt::format("{}{}: {}", count == 0 ? "" : "; ", placeName(unit.place), unitName(unit));
            ++count;
            if (count == kShown + 1) names += "; …";
        }
        if (count > 0) section.paragraph(fmt::format("  {} ({}): ", coveredName(state), count), names);
    }
}

/// "one in 81 days", "2.4 a day".
std::string often(double per_day) {
    if (per_day <= 0) return "none";
    if (per_day >= 1) return fmt::format("{:.1f} per day", per_day);
    const double days = 1 / per_day;
    return days < 1000 ? fmt::format("one in {:.3g} days", days) : fmt::format("one in {:.3g} years", days / 365.25);
}

std::string oddsText(const CheckCoverage& coverage) {
    const FaultOdds odds = faultOdds(coverage.devices, coverage.replayedFraction());
    const auto range = [](const FaultRange& of) {
        return of.high <= 0 ? std::string("none") : often(of.low) + " to " + often(of.high);
    };
    return fmt::format("{:.2f} % of the work was repeated. At the published rates of silent faults ({} to {}), {} "
                       "devices have {}; checks like these detect {}.",
                       100 * coverage.replayedFraction(), publishedRates().front().source,
                       publishedRates().back().source, coverage.devices, range(odds.faults), range(odds.caught));
}

void addMismatches(Section& section, const CheckLog& log, Reader reader) {
    const std::size_t most = reader == Reader::Page ? 500 : 20;
    std::size_t count = 0;
    for (const CheckRecord& check : log.checks) {
        if (check.outcome != CheckOutcome::Mismatch || ++count > most) continue;
        std::string text = fmt::format("{}: {}.", mismatchPlace(check, deviceOf(log, placeOf(check))).text(),
                                       differenceText(check).text());
        if (reader == Reader::Page) text += fmt::format(" {}.", verdictText(check).text());
        section.paragraph(fmt::format("  {}: ", verdictName(check.verdict)), std::move(text));
    }
    if (count > most) section.line(fmt::format("  … and {} more ({} lists all)", count - most, Field("json")));
    if (count == 0) section.line("  No completed check found a difference.");
}

Section sectionForPeople(const CheckLog& log, const CheckCoverage& coverage, Reader reader) {
    Section section;
    section.heading = fmt::format("Checks in bubbles: {} of {} units covered, {} not yet, {} never",
                                  coverage.unitsThatAre(Covered::Yes), coverage.units.size(),
                                  coverage.unitsThatAre(Covered::NotYet), coverage.unitsThatAre(Covered::Never));
    if (reader == Reader::Page) {
        section.note = "Work that was repeated and compared bit by bit. A unit is a kind of op of one layer on one "
                       "rank; uncovered units are unverified.";
    }
    addMismatches(section, log, reader);
    section.add(countsTable(coverage));
    section.add(unitsTable(coverage));
    addUnchecked(section, coverage);
    section.paragraph("  ", oddsText(coverage));
    return section;
}

// ---- For programs ----

void addPlace(Value::Object& object, const CheckPlace& place) {
    object.push_back({"replica", place.replica});
    object.push_back({"rank", place.rank});
    object.push_back({"tensor_rank", place.tensor_rank});
}

std::string hex(std::uint64_t bits, int digits) {
    return fmt::format("{:0{}x}", bits, digits);
}

Value mismatchOf(const CheckRecord& check, const CheckedDevice& device) {
    Value::Object object{
        {"check", checkKindName(check.kind)}, {"verdict", verdictName(check.verdict)}, {"step", check.step}};
    addPlace(object, placeOf(check));
    object.push_back({"host", device.host.empty() ? Value() : Value(device.host)});
    object.push_back({"device", device.device.empty() ? Value() : Value(device.device)});
    if (check.kind != CheckKind::KnownAnswer) {
        object.push_back({"op", opName(check.op)});
        object.push_back({"layer", check.layer});
    }
    object.push_back({"tensor", check.tensor});
    object.push_back({"first_digest", hex(check.first, 16)});
    object.push_back({"second_digest", hex(check.second, 16)});
    if (check.difference) {
        const TensorDifference& difference = *check.difference;
        object.push_back({"elements", difference.elements});
        object.push_back({"differing", difference.differing});
        object.push_back({"first_index", difference.first});
        object.push_back({"first_bits", hex(difference.first_bits, 1)});
        object.push_back({"second_bits", hex(difference.second_bits, 1)});
        object.push_back({"flipped_bits", flippedBits(difference)});
        object.push_back({"ulp", difference.ulp});
    }
    object.push_back({"interval_ns", Value::List{check.start, check.end}});
    object.push_back({"message", fmt::format("{}: {}. {}", mismatchPlace(check, device).text(),
                                             differenceText(check).text(), verdictText(check).text())});
    object.push_back({"suggestion", verdictAdvice(check)});
    return object;
}

Value::Object countsOf(const CheckCoverage& coverage) {
    Value::Object checks;
    for (std::size_t i = 0; i < kCheckKindCount; ++i) {
        const CheckCounts& counts = coverage.counts[i];
        checks.push_back(
            {std::string(checkKindName(static_cast<CheckKind>(i))), Value::Object{{"planned", counts.planned()},
                                                                                  {"done", counts.done()},
                                                                                  {"equal", counts.equal},
                                                                                  {"mismatched", counts.mismatched},
                                                                                  {"aborted", counts.aborted},
                                                                                  {"skipped", counts.skipped}}});
    }
    return checks;
}

Value::Object oddsOf(const CheckCoverage& coverage) {
    const FaultOdds odds = faultOdds(coverage.devices, coverage.replayedFraction());
    Value::List sources;
    for (const PublishedRate& rate : publishedRates()) {
        sources.emplace_back(
            Value::Object{{"source", rate.source}, {"faults", rate.faults}, {"device_hours", rate.device_hours}});
    }
    return {{"devices", coverage.devices},
            {"rates", std::move(sources)},
            {"faults_per_day", Value::List{odds.faults.low, odds.faults.high}},
            {"caught_per_day", Value::List{odds.caught.low, odds.caught.high}}};
}

Table unitRows(const CheckCoverage& coverage) {
    Table table("units", {data("replica"), data("rank"), data("tensor_rank"), data("chunk"), data("kind"),
                          data("layer"), data("state"), data("done"), data("last_step")});
    for (const CoveredUnit& unit : coverage.units) {
        table.row(unit.place.replica, unit.place.rank, unit.place.tensor_rank, unit.chunk,
                  std::string(1, opLetter(unit.kind)), Value(unit.layer), coveredName(unit.state()), unit.counts.done(),
                  unit.last_step < 0 ? Value() : Value(unit.last_step));
    }
    return table;
}

Section sectionForPrograms(const CheckLog& log, const CheckCoverage& coverage) {
    Section section;
    section.key = "aadiff";
    section.data("checks", countsOf(coverage));
    section.data("coverage", Value::Object{{"units", coverage.units.size()},
                                           {"covered", coverage.unitsThatAre(Covered::Yes)},
                                           {"not_yet", coverage.unitsThatAre(Covered::NotYet)},
                                           {"never", coverage.unitsThatAre(Covered::Never)},
                                           {"steps", coverage.steps},
                                           {"work_ns", coverage.work},
                                           {"replayed_ns", coverage.replayed},
                                           {"share_of_work", coverage.replayedFraction()}});
    section.data("odds", oddsOf(coverage));
    section.add(unitRows(coverage));
    section.data("digests", log.digests.size());
    Value::List mismatches;
    for (const CheckRecord& check : log.checks) {
        if (check.outcome == CheckOutcome::Mismatch)
            mismatches.push_back(mismatchOf(check, deviceOf(log, placeOf(check))));
    }
    section.data("mismatches", std::move(mismatches));
    return section;
}

} // namespace

Section checksSection(const CheckLog& log, const CheckCoverage& coverage, Reader reader) {
    return reader == Reader::Programs ? sectionForPrograms(log, coverage) : sectionForPeople(log, coverage, reader);
}

} // namespace bubblescope::report
