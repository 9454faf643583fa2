#include "core/live/open_checks.h"

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxMismatches = 100;       ///< named per step
constexpr std::size_t kMaxOpenSteps = 256;        ///< whose checks are counted
constexpr std::size_t kMaxCheckRecords = 200'000; ///< of open steps, and as many late ones

} // namespace

CheckCounts countsOf(const SeenCheck& check) {
    CheckCounts seen;
    switch (check.outcome) {
    case CheckOutcome::Equal: ++seen.equal; break;
    case CheckOutcome::Mismatch: ++seen.mismatch; break;
    case CheckOutcome::Aborted: ++seen.aborted; break;
    case CheckOutcome::Skipped: ++seen.skipped; break;
    }
    seen.time = check.end - check.start;
    return seen;
}

bool OpenChecks::count(int step, const CheckCounts& seen, int last_closed) {
    const bool open = step > last_closed && (counted_.size() < kMaxOpenSteps || counted_.contains(step));
    if (open) counted_[step].counts.add(seen);
    return open;
}

void OpenChecks::addMismatch(int step, Mismatch mismatch) {
    std::vector<Mismatch>& named = counted_[step].mismatches;
    if (named.size() < kMaxMismatches) named.push_back(std::move(mismatch));
}

void OpenChecks::keep(CheckRecord record, int last_closed) {
    if (record.step <= last_closed) {
        if (late_.size() < kMaxCheckRecords) late_.push_back(std::move(record));
    } else if (kept_ < kMaxCheckRecords) {
        ++kept_;
        records_[record.step].push_back(std::move(record));
    }
}

OpenChecks::OfStep OpenChecks::take(int step) {
    OfStep taken;
    if (auto node = counted_.extract(step)) {
        taken.counts = node.mapped().counts;
        taken.mismatches = std::move(node.mapped().mismatches);
    }
    if (auto node = records_.extract(step)) taken.records = std::move(node.mapped());
    kept_ -= taken.records.size();
    return taken;
}

} // namespace bubblescope::live
