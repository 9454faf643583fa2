#include "core/live/step_assembler.h"

#include "core/recognise/assemble.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace bubblescope::live {
namespace {

// A run that claims more is a damaged record.
constexpr std::int64_t kMaxPlaces = 1 << 16;
constexpr std::int64_t kMostSlots = 1 << 26; ///< of ops, over all replicas

std::int64_t slots(const RunInfo& info) {
    return std::int64_t{info.pp} * info.dp * info.vpp;
}

auto identity(const FoundOp& op) {
    return std::tuple(op.home, op.replica, op.kind, op.microbatch, op.part, op.sequence, op.start, op.end);
}
auto identity(const FoundComm& comm) {
    return std::tuple(comm.home, comm.replica, comm.kind, comm.payload, comm.microbatch, comm.stage, comm.sequence,
                      comm.start, comm.end);
}

/// Removes duplicate records; returns their number.
template <class Record>
std::int64_t dropDuplicates(std::vector<Record>& records) {
    const auto less = [](const Record& a, const Record& b) { return identity(a) < identity(b); };
    const auto equal = [](const Record& a, const Record& b) { return identity(a) == identity(b); };
    std::ranges::sort(records, less);
    const auto rest = std::unique(records.begin(), records.end(), equal);
    const auto count = static_cast<std::int64_t>(records.end() - rest);
    records.erase(rest, records.end());
    return count;
}

Layout layoutOf(const RunInfo& info, const FoundOps& found) {
    Layout layout;
    layout.pp = info.pp;
    layout.microbatches = info.microbatches;
    layout.vpp = info.vpp;
    layout.placement = info.placement;
    for (const FoundOp& op : found.ops)
        layout.slices = std::max(layout.slices, static_cast<int>(op.sequence) + 1);
    for (int rank = 0; rank < info.pp; ++rank)
        layout.rank_of_home[rank] = Rank{rank};
    return layout;
}

} // namespace

bool StepAssembler::sizesCanBe(const RunInfo& info) {
    const auto positive = {info.pp, info.dp, info.tp, info.microbatches, info.vpp};
    if (std::ranges::any_of(positive, [](int size) { return size < 1; })) return false;
    return info.pp <= kMaxPlaces && info.dp <= kMaxPlaces / info.pp && info.vpp <= kMaxPlaces &&
           slots(info) <= kMostSlots / info.microbatches;
}

bool sameSizes(const RunInfo& a, const RunInfo& b) {
    const auto sizes = [](const RunInfo& info) {
        return std::tuple(info.pp, info.dp, info.tp, info.microbatches, info.vpp, info.placement, info.schedule);
    };
    return sizes(a) == sizes(b);
}

StepAssembler::StepAssembler(const RunInfo& info, Limits limits, ReplicaRange own)
    : info_(info), limits_(limits), own_(own) {
    const auto count = static_cast<std::size_t>(info.pp) * static_cast<std::size_t>(info.dp);
    latest_.assign(count, -1);
    ended_.assign(count, false);
    for (std::size_t place = 0; place < count; ++place)
        ended_[place] = !own_.has(static_cast<int>(place) / info.pp);
    usual_ops_.assign(count, 0);
    most_slices_ = std::min<std::int64_t>(kMaxSequenceSlices, kMostSlots / (slots(info) * info.microbatches));
}

template <class Record>
StepAssembler::Taken StepAssembler::take(const Record& record, std::vector<Record> Share::*list) {
    const auto within = [](std::int64_t value, std::int64_t end) { return value >= 0 && value < end; };
    if (!within(record.home, info_.pp) || !within(record.replica, info_.dp) || !own_.has(record.replica) ||
        !within(record.step, std::numeric_limits<int>::max()) || !within(record.microbatch, info_.microbatches) ||
        !within(record.sequence, most_slices_)) {
        return Taken::Bad;
    }
    const int index = static_cast<int>(record.step);
    if (index <= last_closed_) return Taken::Late;
    const std::size_t place = placeOf(record.home, record.replica);
    OpenStep& step = steps_[index];
    if (step.shares.empty()) step.shares.resize(latest_.size());
    (step.shares[place].*list).push_back(record);
    return index < latest_[place] ? Taken::OutOfOrder : Taken::Yes;
}

StepAssembler::Taken StepAssembler::add(const FoundOp& op, TimeNs now) {
    if (op.part < 0 || op.part >= info_.vpp) return Taken::Bad;
    const Taken taken = take(op, &Share::ops);
    if (taken == Taken::Bad || taken == Taken::Late) return taken;
    const int index = static_cast<int>(op.step);
    int& latest = latest_[placeOf(op.home, op.replica)];
    const bool began = index > latest;
    latest = std::max(latest, index);
    if (began) { // which ends all before
        for (auto& [other, open] : steps_) {
            if (other < index) look(open, other, now);
        }
    }
    OpenStep& step = steps_.at(index);
    if (isDone(step, index, placeOf(op.home, op.replica))) look(step, index, now);
    return taken;
}

StepAssembler::Taken StepAssembler::add(const FoundComm& comm, TimeNs) {
    return take(comm, &Share::comm);
}

void StepAssembler::setEnded(std::size_t place, bool ended) {
    ended_[place] = ended;
}

bool StepAssembler::isDone(const OpenStep& step, int index, std::size_t place) const {
    if (ended_[place] || latest_[place] > index) return true;
    return usual_ops_[place] > 0 && step.shares[place].ops.size() >= usual_ops_[place];
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
    if (!settled && !given_up && steps_.size() <= limits_.open_steps) return std::nullopt;
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
        if (!own_.has(static_cast<int>(place) / info_.pp)) continue;
        Share& share = step.shares[place];
        closed.duplicates += dropDuplicates(share.ops) + dropDuplicates(share.comm);
        // A rank that has ended within the step is not done with it, unless all its ops are there.
        const bool whole = !share.ops.empty() && share.ops.size() >= usual_ops_[place] && isDone(step, index, place);
        if (!whole) closed.missing.push_back(place);
        found.ops.insert(found.ops.end(), share.ops.begin(), share.ops.end());
        found.comm.insert(found.comm.end(), share.comm.begin(), share.comm.end());
    }
    if (found.ops.empty()) {
        closed.fault = "no op was recorded";
        return closed;
    }
    DiagnosticLog log;
    auto assembled = assembleSteps(found, layoutOf(info_, found), "the stream", log);
    for (const Diagnostic& problem : log.entries()) {
        if (problem.kind == "incomplete-step" && closed.fault.empty()) closed.fault = problem.where.text();
    }
    if (!assembled.ok()) return closed;
    closed.timelines = std::move(assembled).value();
    for (const StepTimeline& timeline : closed.timelines) {
        last_wall_ = std::max(timeline.wall(), TimeNs{0});
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
            const std::size_t place = placeOf(static_cast<std::int64_t>(rank), timeline.replica);
            usual_ops_[place] = timeline.ranks[rank].size();
            std::erase(closed.missing, place); // all of the pipeline's work is there
        }
    }
    return closed;
}

} // namespace bubblescope::live
