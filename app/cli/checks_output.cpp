#include "app/cli/checks_output.h"

#include "app/cli/paragraph.h"
#include "app/cli/table.h"
#include "core/aadiff/coverage.h"
#include "core/aadiff/mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace bubblescope::cli {
namespace {

std::string number(std::int64_t value) {
    return fmt::format("{}", value);
}

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

std::string countsTable(const CheckCoverage& coverage) {
    Table table({{"check", kLeft}, {"planned"}, {"equal"}, {"mismatched"}, {"aborted"}, {"skipped"}});
    for (std::size_t i = 0; i < kCheckKindCount; ++i) {
        const CheckCounts& counts = coverage.counts[i];
        if (counts.planned() == 0) continue;
        table.row({std::string(checkKindName(static_cast<CheckKind>(i))), number(counts.planned()),
                   number(counts.equal), number(counts.mismatched), number(counts.aborted), number(counts.skipped)});
    }
    return table.text();
}

/// Per rank: how many of its units are in which state.
std::string ranksTable(const CheckCoverage& coverage) {
    std::map<CheckPlace, std::array<std::int64_t, 3>> states;
    for (const CoveredUnit& unit : coverage.units)
        ++states[unit.place][static_cast<std::size_t>(unit.state())];
    Table table({{"", kLeft}, {"units"}, {"covered"}, {"not yet"}, {"never"}});
    std::size_t rows = 0;
    for (const auto& [place, counts] : states) {
        if (++rows > kMostRows) break;
        table.row({placeName(place), number(counts[0] + counts[1] + counts[2]), number(counts[0]), number(counts[1]),
                   number(counts[2])});
    }
    std::string out = table.text();
    if (states.size() > kMostRows) out += fmt::format("  … and {} more (--json has all)\n", states.size() - kMostRows);
    return out;
}

std::string uncheckedText(const CheckCoverage& coverage) {
    std::string out;
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
        if (count > 0) out += paragraph(fmt::format("  {} ({}): ", coveredName(state), count), names);
    }
    return out;
}

/// "one in 81 days", "2.4 a day".
std::string often(double per_day) {
    if (per_day <= 0) return "none";
    if (per_day >= 1) return fmt::format("{:.1f} a day", per_day);
    const double days = 1 / per_day;
    return days < 1000 ? fmt::format("one in {:.3g} days", days) : fmt::format("one in {:.3g} years", days / 365.25);
}

std::string oddsText(const CheckCoverage& coverage) {
    const FaultOdds odds = faultOdds(coverage.devices, coverage.replayedFraction());
    const auto range = [](const FaultRange& of) {
        return of.high <= 0 ? std::string("none") : often(of.low) + " to " + often(of.high);
    };
    return paragraph(
        "  ", fmt::format("{:.2f} % of the work was run again. At the published rates of silent faults ({} to {}) {} "
                          "devices meet {}; checks like these see {}.",
                          100 * coverage.replayedFraction(), publishedRates().front().source,
                          publishedRates().back().source, coverage.devices, range(odds.faults), range(odds.caught)));
}

std::string mismatchesText(const CheckLog& log) {
    std::string out;
    std::size_t count = 0;
    for (const CheckRecord& check : log.checks) {
        if (check.outcome != CheckOutcome::Mismatch || ++count > kMostRows) continue;
        out += paragraph(fmt::format("  {}: ", verdictName(check.verdict)),
                         fmt::format("{}: {}.", mismatchPlace(check, deviceOf(log, placeOf(check))).text(),
                                     differenceText(check).text()));
    }
    if (count > kMostRows) out += fmt::format("  … and {} more (--json has all)\n", count - kMostRows);
    return out.empty() ? "  No check that ended found a difference.\n" : out;
}

Json countsJson(const CheckCounts& counts) {
    return {{"planned", counts.planned()},     {"done", counts.done()},     {"equal", counts.equal},
            {"mismatched", counts.mismatched}, {"aborted", counts.aborted}, {"skipped", counts.skipped}};
}

void addPlace(Json& json, const CheckPlace& place) {
    json["replica"] = place.replica;
    json["rank"] = place.rank.value;
    json["tensor_rank"] = place.tensor_rank;
}

Json unitJson(const CoveredUnit& unit) {
    Json json = Json::object();
    addPlace(json, unit.place);
    json["chunk"] = unit.chunk.value;
    json["kind"] = std::string(1, opLetter(unit.kind));
    json["layer"] = unit.layer ? Json(*unit.layer) : Json();
    json["state"] = coveredName(unit.state());
    json["done"] = unit.counts.done();
    json["last_step"] = unit.last_step < 0 ? Json() : Json(unit.last_step);
    return json;
}

std::string hex(std::uint64_t bits, int digits) {
    return fmt::format("{:0{}x}", bits, digits);
}

Json mismatchJson(const CheckRecord& check, const CheckedDevice& device) {
    Json json = {{"check", checkKindName(check.kind)}, {"verdict", verdictName(check.verdict)}, {"step", check.step}};
    addPlace(json, placeOf(check));
    json["host"] = device.host.empty() ? Json() : Json(device.host);
    json["device"] = device.device.empty() ? Json() : Json(device.device);
    if (check.kind != CheckKind::KnownAnswer) {
        json["op"] = opName(check.op);
        json["layer"] = check.layer;
    }
    json["tensor"] = check.tensor;
    json["first_digest"] = hex(check.first, 16);
    json["second_digest"] = hex(check.second, 16);
    if (check.difference) {
        const TensorDifference& difference = *check.difference;
        json["elements"] = difference.elements;
        json["differing"] = difference.differing;
        json["first_index"] = difference.first;
        json["first_bits"] = hex(difference.first_bits, 1);
        json["second_bits"] = hex(difference.second_bits, 1);
        json["flipped_bits"] = flippedBits(difference);
        json["ulp"] = difference.ulp ? Json(*difference.ulp) : Json();
    }
    json["interval_ns"] = {check.start.count(), check.end.count()};
    json["message"] = fmt::format("{}: {}. {}", mismatchPlace(check, device).text(), differenceText(check).text(),
                                  verdictText(check).text());
    json["suggestion"] = verdictAdvice(check).text();
    return json;
}

Json oddsJson(const CheckCoverage& coverage) {
    const FaultOdds odds = faultOdds(coverage.devices, coverage.replayedFraction());
    Json sources = Json::array();
    for (const PublishedRate& rate : publishedRates()) {
        sources.push_back({{"source", rate.source}, {"faults", rate.faults}, {"device_hours", rate.device_hours}});
    }
    return {{"devices", coverage.devices},
            {"rates", sources},
            {"faults_per_day", {odds.faults.low, odds.faults.high}},
            {"caught_per_day", {odds.caught.low, odds.caught.high}}};
}

} // namespace

Json checksJson(const Run& run, const RunReport& report) {
    const CheckCoverage& coverage = *report.coverage;
    Json checks = Json::object();
    for (std::size_t i = 0; i < kCheckKindCount; ++i)
        checks[std::string(checkKindName(static_cast<CheckKind>(i)))] = countsJson(coverage.counts[i]);
    Json units = Json::array();
    for (const CoveredUnit& unit : coverage.units)
        units.push_back(unitJson(unit));
    Json mismatches = Json::array();
    for (const CheckRecord& check : run.checks.checks) {
        if (check.outcome == CheckOutcome::Mismatch)
            mismatches.push_back(mismatchJson(check, deviceOf(run.checks, placeOf(check))));
    }
    return {{"checks", checks},
            {"coverage",
             {{"units", coverage.units.size()},
              {"covered", coverage.unitsThatAre(Covered::Yes)},
              {"not_yet", coverage.unitsThatAre(Covered::NotYet)},
              {"never", coverage.unitsThatAre(Covered::Never)},
              {"steps", coverage.steps},
              {"work_ns", coverage.work.count()},
              {"replayed_ns", coverage.replayed.count()},
              {"share_of_work", coverage.replayedFraction()}}},
            {"odds", oddsJson(coverage)},
            {"units", units},
            {"digests", run.checks.digests.size()},
            {"mismatches", mismatches}};
}

std::string checksText(const Run& run, const RunReport& report) {
    if (!report.coverage) return {};
    const CheckCoverage& coverage = *report.coverage;
    std::string out = fmt::format("\nChecks in bubbles: {} of {} units covered, {} not yet, {} never\n",
                                  coverage.unitsThatAre(Covered::Yes), coverage.units.size(),
                                  coverage.unitsThatAre(Covered::NotYet), coverage.unitsThatAre(Covered::Never));
    out += mismatchesText(run.checks) + countsTable(coverage) + ranksTable(coverage) + uncheckedText(coverage);
    return out + oddsText(coverage);
}

} // namespace bubblescope::cli
