#include "core/live/step_assembler.h"

#include "core/recognise/assemble.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace bubblescope::live {
namespace {

// A run that reports more ranks is a damaged record.
constexpr std::int64_t kMaxPlaces = 1 << 16;
constexpr std::int64_t kMaxOpenSlots = 1 << 26; ///< number of ops, over all replicas
// Limits on the data that arrives before steps are closed: larger than in any real run, and small enough for memory.
constexpr std::size_t kMaxOpenPlaces = std::size_t{1} << 22; ///< number of ranks, over all open steps
constexpr std::size_t kFewOpenSteps = 64;                    ///< allowed for any run
constexpr std::size_t kManyOpenRecords = std::size_t{1} << 20;
constexpr std::size_t kMaxOpenRecords = std::size_t{1} << 24; ///< number of ops and transfers

std::int64_t slots(const RunInfo& info) {
    return std::int64_t{info.pp} * info.dp * info.vpp;
}

auto identity(const BareFoundOp& op) {
    return std::tuple(op.owner, op.replica, op.kind, op.microbatch, op.chunk_or_stage, op.sequence, op.start, op.end);
}
auto identity(const FoundComm& comm) {
    return std::tuple(comm.owner, comm.replica, comm.kind, comm.payload, comm.microbatch, comm.stage, comm.sequence,
                      comm.start, comm.end);
}

void cutOff(std::vector<FoundComm>& records, std::size_t size) {
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(size), records.end());
}
void cutOff(FoundOpList& records, std::size_t size) {
    records.cutOff(size);
}

/// Removes duplicate records; returns their number.
template <class List>
std::int64_t dropDuplicates(List& records) {
    const auto less = [](const auto& a, const auto& b) { return identity(a) < identity(b); };
    const auto equal = [](const auto& a, const auto& b) { return identity(a) == identity(b); };
    std::sort(records.begin(), records.end(), less);
    const auto rest = std::unique(records.begin(), records.end(), equal);
    const auto count = static_cast<std::int64_t>(records.end() - rest);
    cutOff(records, records.size() - static_cast<std::size_t>(count));
    return count;
}

Layout layoutOf(const RunInfo& info, const FoundOps& found) {
    Layout layout;
    layout.pp = info.pp;
    layout.microbatches = info.microbatches;
    layout.vpp = info.vpp;
    layout.placement = info.placement;
    for (const BareFoundOp& op : found.ops)
        layout.slices = std::max(layout.slices, static_cast<int>(op.sequence) + 1);
    for (int rank = 0; rank < info.pp; ++rank)
        layout.rank_of_owner[rank] = Rank{rank};
    return layout;
}

} // namespace

bool StepAssembler::sizesCanBe(const RunInfo& info) {
    const auto positive = {info.pp, info.dp, info.tp, info.microbatches, info.vpp};
    if (std::ranges::any_of(positive, [](int size) { return size < 1; })) return false;
    return info.pp <= kMaxPlaces && info.dp <= kMaxPlaces / info.pp && info.vpp <= kMaxPlaces &&
           slots(info) <= kMaxOpenSlots / info.microbatches;
}

bool sameSizes(const RunInfo& a, const RunInfo& b) {
    const auto sizes = [](const RunInfo& info) {
        return std::tuple(info.pp, info.dp, info.tp, info.microbatches, info.vpp, info.placement, info.schedule);
    };
    return sizes(a) == sizes(b);
}

StepAssembler::StepAssembler(const RunInfo& info, Limits limits) : info_(info), limits_(limits) {
    const auto count = static_cast<std::size_t>(info.pp) * static_cast<std::size_t>(info.dp);
    latest_.assign(count, -1);
    ended_.assign(count, false);
    usual_ops_.assign(count, 0);
    most_slices_ = std::min<std::int64_t>(kMaxSequenceSlices, kMaxOpenSlots / (slots(info) * info.microbatches));
}

/// Null if no more steps can be stored.
StepAssembler::OpenStep* StepAssembler::openStep(int index) {
    if (recent_.second != nullptr && recent_.first == index) return recent_.second;
    auto known = steps_.find(index);
    if (known == steps_.end()) {
        if (beyondFew() && tooManyPlaces()) return nullptr;
        known = steps_.try_emplace(index).first;
        known->second.ranks.resize(latest_.size());
    }
    recent_ = {index, &known->second};
    return recent_.second;
}

template <class Record, class List>
StepAssembler::AddResult StepAssembler::take(const Record& record, List RankRecords::*list) {
    const auto within = [](std::int64_t value, std::int64_t end) { return value >= 0 && value < end; };
    if (!within(record.owner, info_.pp) || !within(record.replica, info_.dp) ||
        !within(record.step, std::numeric_limits<int>::max()) || !within(record.microbatch, info_.microbatches) ||
        !within(record.sequence, most_slices_)) {
        return AddResult::Bad;
    }
    const int index = static_cast<int>(record.step);
    if (index <= last_closed_) return AddResult::Late;
    const std::size_t place = placeOf(record.owner, record.replica);
    OpenStep* const step = open_records_ >= kMaxOpenRecords ? nullptr : openStep(index);
    if (step == nullptr) return AddResult::Bad;
    ++open_records_;
    (step->ranks[place].*list).push_back(record);
    return index < latest_[place] ? AddResult::OutOfOrder : AddResult::Yes;
}

StepAssembler::AddResult StepAssembler::add(const FoundOp& op, TimeNs now) {
    if (op.chunk_or_stage < 0 || op.chunk_or_stage >= info_.vpp) return AddResult::Bad;
    const AddResult taken = take(op, &RankRecords::ops);
    if (taken == AddResult::Bad || taken == AddResult::Late) return taken;
    const int index = static_cast<int>(op.step);
    const std::size_t place = placeOf(op.owner, op.replica);
    int& latest = latest_[place];
    if (index > latest) { // this ends all earlier steps; those before the latest had already ended
        const int from = std::exchange(looks_at_all_, false) ? -1 : latest;
        latest = index;
        for (auto open = steps_.lower_bound(from); open != steps_.end() && open->first < index; ++open)
            look(open->second, open->first, now);
    }
    OpenStep& step = *openStep(index);
    if (isDone(step, index, place)) look(step, index, now);
    return taken;
}

StepAssembler::AddResult StepAssembler::add(const FoundComm& comm, TimeNs) {
    return take(comm, &RankRecords::comm);
}

void StepAssembler::setEnded(std::size_t place, bool ended) {
    looks_at_all_ = looks_at_all_ || ended_[place] != ended;
    ended_[place] = ended;
}

bool StepAssembler::isDone(const OpenStep& step, int index, std::size_t place) const {
    if (ended_[place] || latest_[place] > index) return true;
    return usual_ops_[place] > 0 && step.ranks[place].ops.size() >= usual_ops_[place];
}

void StepAssembler::look(OpenStep& step, int index, TimeNs now) {
    if (step.all_done) return;
    bool all = true;
    bool any = false;
    for (std::size_t place = 0; place < places() && (all || !any); ++place) {
        const bool done = isDone(step, index, place);
        all = all && done;
        any = any || (done && !ended_[place]);
    }
    if ((any || all) && !step.first_done) step.first_done = now;
    if (all) step.all_done = now;
}

bool StepAssembler::beyondFew() const {
    return steps_.size() > std::min(limits_.open_steps, kFewOpenSteps);
}

bool StepAssembler::tooManyPlaces() const {
    return steps_.size() * latest_.size() >= kMaxOpenPlaces;
}

std::optional<TimeNs> StepAssembler::waitingSince() const {
    return steps_.empty() ? std::nullopt : steps_.begin()->second.first_done;
}

bool StepAssembler::doneWithOldest(std::size_t place) const {
    return steps_.empty() || isDone(steps_.begin()->second, steps_.begin()->first, place);
}

std::optional<ClosedStep> StepAssembler::close(TimeNs now) {
    if (steps_.empty()) return std::nullopt;
    auto& [index, step] = *steps_.begin();
    look(step, index, now);
    const bool nobody_left = std::ranges::all_of(ended_, [](bool ended) { return ended; });
    const bool settled = step.all_done && (nobody_left || now - *step.all_done >= limits_.settle);
    const bool given_up = step.first_done && now - *step.first_done >= std::max(limits_.patience, 2 * last_wall_);
    const bool crowded =
        steps_.size() > limits_.open_steps || (beyondFew() && (tooManyPlaces() || open_records_ >= kManyOpenRecords));
    if (!settled && !given_up && !crowded) return std::nullopt;
    recent_ = {-1, nullptr};
    auto node = steps_.extract(steps_.begin());
    return finish(node.key(), std::move(node.mapped()));
}

ClosedStep StepAssembler::finish(int index, OpenStep step) {
    ClosedStep closed;
    closed.index = index;
    last_closed_ = index;
    FoundOps found;
    found.parts = Parts::Chunks;
    for (std::size_t place = 0; place < places(); ++place) {
        RankRecords& records = step.ranks[place];
        open_records_ -= std::min(open_records_, records.ops.size() + records.comm.size());
        closed.duplicates += dropDuplicates(records.ops) + dropDuplicates(records.comm);
        // A rank that ended within the step has not finished the step, unless all its ops are present.
        const bool whole =
            !records.ops.empty() && records.ops.size() >= usual_ops_[place] && isDone(step, index, place);
        if (!whole) closed.missing.push_back(place);
        found.ops.append(std::move(records.ops));
        found.comm.append(std::move(records.comm));
    }
    if (found.ops.empty()) {
        closed.fault = incompleteStep(index, 0, say("no op was recorded"));
        return closed;
    }
    DiagnosticLog log;
    const Layout layout = layoutOf(info_, found);
    auto assembled = assembleSteps(std::move(found), layout, "the stream", log);
    for (Diagnostic& problem : log.take()) {
        if (opFaultOf(problem) && !closed.fault) closed.fault = std::move(problem);
    }
    if (!assembled.ok()) return closed;
    closed.timelines = std::move(assembled).value();
    for (const StepTimeline& timeline : closed.timelines) {
        last_wall_ = std::max(timeline.wall(), TimeNs{0});
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
            const std::size_t place = placeOf(static_cast<std::int64_t>(rank), timeline.replica);
            const std::size_t before = std::exchange(usual_ops_[place], timeline.ranks[rank].size());
            looks_at_all_ = looks_at_all_ || usual_ops_[place] != before;
            std::erase(closed.missing, place); // the records contain all of the pipeline's work
        }
    }
    return closed;
}

namespace {

constexpr std::size_t kMaxMismatches = 100;       ///< reported per step
constexpr std::size_t kMaxOpenSteps = 256;        ///< with counted checks
constexpr std::size_t kMaxCheckRecords = 200'000; ///< maximum for open steps, and the same maximum for late ones

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
