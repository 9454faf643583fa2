#include "core/aadiff/mismatch.h"
#include "core/analysis/anomalies/find_anomalies.h"

#include <map>
#include <string>
#include <tuple>

// Results of checks in bubbles, and what they did not cover.
namespace bubblescope {
namespace {

/// Mismatches that are reported together: the same work of the same rank, with the same verdict.
using Story = std::tuple<Verdict, CheckPlace, CheckKind, OpKind, Chunk, int, std::string>;

Story storyOf(const CheckRecord& check) {
    return {check.verdict, placeOf(check), check.kind, check.op.kind, check.op.chunk, check.layer, check.tensor};
}

struct Mismatches {
    const CheckRecord* first = nullptr;
    std::int64_t count = 0;
    int last_step = 0;
    Cases cases; ///< in the examined steps
};

/// The rank that sent the data compared by a check of a transfer; none if the op has no producer.
std::optional<Rank> senderOf(const Run& run, const CheckRecord& check) {
    if (check.kind != CheckKind::Transfer || run.steps.empty()) return std::nullopt;
    const StepTimeline& shape = run.steps.front();
    const int apart = routes(shape.placement);
    const std::int32_t stage = shape.stageOf(check.rank, check.op.chunk).value;
    const std::int32_t producer = check.op.kind == OpKind::Forward ? stage - apart : stage + apart;
    if (producer < 0 || producer >= shape.pp * shape.vpp) return std::nullopt;
    return locate(shape.placement, shape.pp, Stage{producer}).rank;
}

Anomaly mismatchOf(const AnomalyInput& input, const Mismatches& mismatches) {
    const CheckRecord& check = *mismatches.first;
    const CheckLog& log = input.run.checks;
    const CheckCoverage& coverage = *input.coverage;
    const auto device = log.devices.find(placeOf(check));
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::AadiffMismatch;
    anomaly.severity = check.verdict == Verdict::Everywhere ? Severity::Warning : Severity::Serious;
    anomaly.rank = check.rank;
    if (check.replica != 0) anomaly.replica = check.replica;
    if (check.kind != CheckKind::KnownAnswer) {
        anomaly.chunk = check.op.chunk;
        anomaly.op = check.op;
    }
    anomaly.step = check.step;
    anomaly.when = TimeInterval{check.start, check.end};
    input.setSeen(anomaly, mismatches.cases);
    anomaly.evidence = {{"mismatches", static_cast<double>(mismatches.count)},
                        {"last_step", static_cast<double>(mismatches.last_step)},
                        {"layer", static_cast<double>(check.layer)},
                        {"tensor_rank", static_cast<double>(check.tensor_rank)},
                        {"checks_done", static_cast<double>(coverage.of(check.kind).done())},
                        {"checked_share", coverage.replayedFraction()}};
    if (check.difference) {
        anomaly.evidence.emplace_back("differing_elements", static_cast<double>(check.difference->differing));
        anomaly.evidence.emplace_back("elements", static_cast<double>(check.difference->elements));
        anomaly.evidence.emplace_back("first_differing_index", static_cast<double>(check.difference->first));
        if (check.difference->ulp) anomaly.evidence.emplace_back("ulp", static_cast<double>(*check.difference->ulp));
    }
    anomaly.message =
        say("{}: {}. {}", mismatchPlace(check, device == log.devices.end() ? CheckedDevice{} : device->second),
            differenceText(check), verdictText(check));
    if (const std::optional<Rank> sender = senderOf(input.run, check)) {
        anomaly.peer = sender;
        anomaly.message +=
            say(" Rank {} sent these values; the sender, the receiver or the link between them corrupted them.",
                sender->value);
    }
    if (mismatches.count > 1) {
        anomaly.message += say(" This is the first of {} such mismatches; the last is in step {}.", mismatches.count,
                               mismatches.last_step);
    }
    anomaly.suggestion = verdictAdvice(check);
    return anomaly;
}

void findMismatches(const AnomalyInput& input, Anomalies& found) {
    std::map<std::pair<int, int>, std::size_t> steps; // by number and replica
    for (std::size_t s = 0; s < input.run.steps.size(); ++s)
        steps.try_emplace({input.run.steps[s].index, input.run.steps[s].replica}, s);
    std::map<Story, Mismatches> stories;
    for (const CheckRecord& check : input.run.checks.checks) {
        if (check.outcome != CheckOutcome::Mismatch) continue;
        Mismatches& story = stories[storyOf(check)];
        if (story.first == nullptr ||
            std::tie(check.step, check.start) < std::tie(story.first->step, story.first->start))
            story.first = &check;
        ++story.count;
        story.last_step = std::max(story.last_step, check.step);
        if (const auto step = steps.find({check.step, check.replica}); step != steps.end())
            story.cases.add(step->second);
    }
    for (const auto& [story, mismatches] : stories)
        found.push_back(mismatchOf(input, mismatches));
}

void findUnchecked(const CheckCoverage& coverage, Anomalies& found) {
    const std::int64_t never = coverage.unitsThatAre(Covered::Never);
    const std::int64_t not_yet = coverage.unitsThatAre(Covered::NotYet);
    if (never + not_yet == 0) return;
    const CheckCounts replays = coverage.of(CheckKind::Replay);
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::AadiffUnchecked;
    anomaly.severity = never > 0 ? Severity::Warning : Severity::Notice;
    const auto total = static_cast<std::int64_t>(coverage.units.size());
    anomaly.evidence = {{"units", static_cast<double>(total)},
                        {"not_yet", static_cast<double>(not_yet)},
                        {"never", static_cast<double>(never)},
                        {"abandoned", static_cast<double>(replays.aborted)},
                        {"skipped", static_cast<double>(replays.skipped)}};
    anomaly.message =
        say("{} of {} work units unchecked after {}: {} planned but abandoned, {} never planned. Their results are "
            "unverified.",
            never + not_yet, total, sayCounted("{} step", "{} steps", static_cast<std::uint64_t>(coverage.steps)),
            not_yet, never);
    anomaly.suggestion =
        say("Run more steps for more coverage; 'bubblescope aadiff plan' shows how many steps full coverage takes, and "
            "which ops never fit into the bubbles. Smaller layers fit into more bubbles.");
    found.push_back(std::move(anomaly));
}

} // namespace

void findAadiffFaults(const AnomalyInput& input, Anomalies& found) {
    if (input.coverage == nullptr) return;
    findMismatches(input, found);
    findUnchecked(*input.coverage, found);
}

} // namespace bubblescope
