#include "app/gui/models/lanes.h"

#include "core/timeline/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bubblescope::gui {

namespace {

LaneKind laneOf(CommKind kind) {
    switch (kind) {
    case CommKind::Send: return LaneKind::Send;
    case CommKind::Receive: return LaneKind::Receive;
    case CommKind::Wait: break;
    case CommKind::Collective: return LaneKind::Collective;
    }
    return LaneKind::Wait;
}

Role roleOf(CommKind kind) {
    switch (kind) {
    case CommKind::Send:
    case CommKind::Collective: return Role::Send;
    case CommKind::Receive: return Role::Receive;
    case CommKind::Wait: break;
    }
    return Role::Wait;
}

template <class T>
std::int32_t asIndex(T value) {
    return static_cast<std::int32_t>(value);
}

/// Prefix sums that views need for a lane.
Lane::Sums sumsOf(LaneKind kind) {
    switch (kind) {
    case LaneKind::Compute: return Lane::Sums::ByRole;
    case LaneKind::Bubble:
    case LaneKind::ReplicaWait:
    case LaneKind::Exposed: return Lane::Sums::Covered;
    case LaneKind::Check:
    case LaneKind::Send:
    case LaneKind::Receive:
    case LaneKind::Wait:
    case LaneKind::Collective: break;
    }
    return Lane::Sums::None;
}

} // namespace

void Lane::seal(Sums sums) {
    if (!std::ranges::is_sorted(spans_, {}, &Span::start)) std::ranges::stable_sort(spans_, {}, &Span::start);
    latest_end_.clear();
    covered_.clear();
    role_sums_.clear();
    TimeNs latest = TimeNs::min();
    if (!std::ranges::is_sorted(spans_, {}, &Span::end)) { // false if some spans are nested
        latest_end_.reserve(spans_.size());
        for (const Span& span : spans_)
            latest_end_.push_back(latest = std::max(latest, span.end));
    }
    if (sums == Sums::None) return;
    covered_.reserve(spans_.size());
    latest = TimeNs::min();
    TimeNs covered{0};
    for (const Span& span : spans_) {
        covered += std::max(TimeNs{0}, span.end - std::max(span.start, latest));
        covered_.push_back(covered);
        latest = std::max(latest, span.end);
    }
    if (sums == Sums::Covered) return;
    role_sums_.reserve((spans_.size() + kRoleStride - 1) / kRoleStride);
    RoleTimes sum{};
    for (std::size_t i = 0; i < spans_.size(); ++i) {
        if (i % kRoleStride == 0) role_sums_.push_back(sum);
        sum[static_cast<std::size_t>(spans_[i].role)] += gain(i);
    }
}

/// True if this span and the next span are an overlapped pair.
bool Lane::startsPair(std::size_t at) const {
    if (at + 1 >= spans_.size()) return false;
    const Span& a = spans_[at];
    const Span& b = spans_[at + 1];
    return a.paired && b.paired && a.start == b.start && a.end == b.end;
}

/// Time that a span adds to the covered time. Each op of a pair adds half of the pair's time.
TimeNs Lane::gain(std::size_t at) const {
    const auto added = [this](std::size_t i) { return i == 0 ? covered_[0] : covered_[i] - covered_[i - 1]; };
    if (!spans_[at].paired) return added(at);
    if (at > 0 && startsPair(at - 1) && (at < 2 || !startsPair(at - 2))) return added(at - 1) / 2;
    return startsPair(at) ? added(at) - added(at) / 2 : added(at);
}

void Lane::addByRole(std::size_t first, std::size_t next, RoleTimes& sum) const {
    if (first >= next) return;
    const auto addUntil = [&](std::size_t end) {
        for (; first < end; ++first)
            sum[static_cast<std::size_t>(spans_[first].role)] += gain(first);
    };
    const std::size_t from = (first + kRoleStride - 1) / kRoleStride;
    const std::size_t to = std::min(next / kRoleStride, role_sums_.size() - 1);
    if (from < to) {
        addUntil(from * kRoleStride);
        for (std::size_t role = 0; role < kRoleCount; ++role)
            sum[role] += role_sums_[to][role] - role_sums_[from][role];
        first = to * kRoleStride;
    }
    addUntil(next);
}

Lane::Overhang Lane::overhang(TimeNs time, std::size_t next) const {
    Overhang out;
    if (next == 0) return out;
    const TimeNs latest = latestEnd(next - 1);
    const TimeNs later = latest - time;
    if (later <= TimeNs{0}) return out;
    std::size_t last = next - 1;
    while (last > 0 && spans_[last].end != latest)
        --last;
    const bool pair = last > 0 && startsPair(last - 1);
    out.roles[0] = static_cast<std::size_t>(spans_[last].role);
    out.times[0] = pair ? later / 2 : later;
    if (!pair) return out;
    out.roles[1] = static_cast<std::size_t>(spans_[last - 1].role);
    out.times[1] = later - later / 2;
    return out;
}

std::size_t Lane::firstEndingAfter(TimeNs time) const {
    if (latest_end_.empty())
        return static_cast<std::size_t>(std::ranges::upper_bound(spans_, time, {}, &Span::end) - spans_.begin());
    return static_cast<std::size_t>(std::ranges::upper_bound(latest_end_, time) - latest_end_.begin());
}

std::size_t Lane::searchStart(TimeNs time, std::size_t from) const {
    const std::size_t count = spans_.size();
    std::size_t reach = from;
    for (std::size_t stride = 1; reach < count && spans_[reach].start < time; stride *= 2) {
        from = reach + 1;
        reach += stride;
    }
    const auto found = std::lower_bound(spans_.begin() + static_cast<std::ptrdiff_t>(from),
                                        spans_.begin() + static_cast<std::ptrdiff_t>(std::min(count, reach)), time,
                                        [](const Span& s, TimeNs t) { return s.start < t; });
    return static_cast<std::size_t>(found - spans_.begin());
}

Lane::Colour Lane::mainColour(std::size_t first, std::size_t last, const TimeRange& window) const {
    constexpr std::size_t kMaxSamples = 16;
    const std::size_t stride = std::max<std::size_t>(1, (last - first) / kMaxSamples);
    std::array<TimeNs, kRoleCount> time{};
    std::array<int, kRoleCount> chunk{};
    for (std::size_t i = first; i < last; i += stride) {
        const Span& span = spans_[i];
        const auto role = static_cast<std::size_t>(span.role);
        time[role] += overlap({span.start, span.end}, window) + TimeNs{1}; // spans of length 0 also count
        chunk[role] = span.chunk;
    }
    const auto best = static_cast<std::size_t>(std::max_element(time.begin(), time.end()) - time.begin());
    return {static_cast<Role>(best), chunk[best]};
}

Lanes::Lanes(const std::vector<StepTimeline>& steps, const std::vector<StepAnalysis>& analyses,
             const std::vector<CheckRecord>& checks) {
    for (const StepTimeline& step : steps) {
        rank_count_ = std::max({rank_count_, step.ranks.size(), step.comm.size()});
        replicas_.push_back(step.replica);
    }
    std::ranges::sort(replicas_);
    replicas_.erase(std::unique(replicas_.begin(), replicas_.end()), replicas_.end());
    for (const StepTimeline& step : steps)
        replica_of_step_.push_back(
            static_cast<int>(std::ranges::lower_bound(replicas_, step.replica) - replicas_.begin()));
    lines_.resize(rank_count_ * replicas_.size());
    reserve(steps, analyses);
    extent_ = {TimeNs::max(), TimeNs::min()};

    for (std::size_t s = 0; s < steps.size(); ++s) {
        const auto lineAt = [&](std::size_t rank) { return lineOf(static_cast<int>(s), static_cast<int>(rank)); };
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r) {
            const auto& ops = steps[s].ranks[r];
            for (std::size_t i = 0; i < ops.size(); ++i)
                add(lineAt(r), LaneKind::Compute,
                    {ops[i].start, ops[i].end, asIndex(s), asIndex(i), roleOf(ops[i].op.kind),
                     static_cast<std::uint16_t>(ops[i].op.chunk.value), ops[i].op.overlapped});
        }
        for (std::size_t r = 0; r < steps[s].comm.size(); ++r) {
            const auto& spans = steps[s].comm[r];
            for (std::size_t i = 0; i < spans.size(); ++i)
                add(lineAt(r), laneOf(spans[i].kind),
                    {spans[i].start, spans[i].end, asIndex(s), asIndex(i), roleOf(spans[i].kind)});
        }
        if (s >= analyses.size()) continue;
        for (std::size_t r = 0; r < std::min(rank_count_, analyses[s].bubbles.size()); ++r) {
            const auto& bubbles = analyses[s].bubbles[r];
            for (std::size_t i = 0; i < bubbles.size(); ++i)
                add(lineAt(r), LaneKind::Bubble, {bubbles[i].start, bubbles[i].end, asIndex(s), asIndex(i)});
        }
    }
    addChecks(steps, checks);
    for (auto& lanes : lines_) {
        for (std::size_t kind = 0; kind < kLaneCount; ++kind)
            lanes[kind].seal(sumsOf(static_cast<LaneKind>(kind)));
    }
    if (replicas_.size() > 1) addReplicaWaits(steps);
    addExposed(steps);
    for (auto& lanes : lines_) {
        for (const LaneKind kind : {LaneKind::ReplicaWait, LaneKind::Exposed})
            lanes[static_cast<std::size_t>(kind)].seal(sumsOf(kind));
    }
    if (extent_.end < extent_.begin) extent_ = {};
}

Lanes::Lanes(std::size_t lines, const TimeRange& extent)
    : rank_count_(lines), replicas_{0}, replica_of_step_{0}, lines_(lines), mismatches_(lines), extent_(extent) {}

/// Reserves memory for ops, bubbles and transfers, because reallocating millions of them repeatedly would be
/// slow.
void Lanes::reserve(const std::vector<StepTimeline>& steps, const std::vector<StepAnalysis>& analyses) {
    std::vector<std::array<std::size_t, kLaneCount>> counts(lines_.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const auto countsOf = [&](std::size_t rank) -> auto& {
            return counts[static_cast<std::size_t>(lineOf(asIndex(s), asIndex(rank)))];
        };
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r)
            countsOf(r)[static_cast<std::size_t>(LaneKind::Compute)] += steps[s].ranks[r].size();
        for (std::size_t r = 0; r < steps[s].comm.size(); ++r) {
            auto& of_line = countsOf(r);
            for (const CommSpan& span : steps[s].comm[r])
                ++of_line[static_cast<std::size_t>(laneOf(span.kind))];
        }
        if (s >= analyses.size()) continue;
        for (std::size_t r = 0; r < std::min(rank_count_, analyses[s].bubbles.size()); ++r)
            countsOf(r)[static_cast<std::size_t>(LaneKind::Bubble)] += analyses[s].bubbles[r].size();
    }
    for (std::size_t line = 0; line < lines_.size(); ++line) {
        for (std::size_t kind = 0; kind < kLaneCount; ++kind)
            lines_[line][kind].reserve(counts[line][kind]);
    }
}

/// A wait lasts from the end of a replica's step to the end of the slowest replica's step, or to the rank's next
/// work.
void Lanes::addReplicaWaits(const std::vector<StepTimeline>& steps) {
    std::map<int, TimeNs> last_end; // by step number
    for (const StepTimeline& step : steps) {
        TimeNs& end = last_end.try_emplace(step.index, step.end).first->second;
        end = std::max(end, step.end);
    }
    for (std::size_t s = 0; s < steps.size(); ++s) {
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r) {
            const int line = lineOf(asIndex(s), asIndex(r));
            const Lane& ops = lane(static_cast<std::size_t>(line), LaneKind::Compute);
            TimeNs end = last_end[steps[s].index];
            const std::size_t next = ops.firstEndingAfter(steps[s].end);
            if (next < ops.spans().size()) end = std::min(end, ops.spans()[next].start);
            if (end > steps[s].end)
                add(line, LaneKind::ReplicaWait, {steps[s].end, end, asIndex(s), 0, Role::ReplicaWait});
        }
    }
}

/// A transfer is in progress from the time when its payload was sent until it was received; a rank that waits for a
/// payload that has not been sent yet is idle.
void Lanes::addExposed(const std::vector<StepTimeline>& steps) {
    std::vector<std::vector<TimeRange>> under_way(lines_.size());
    // Adds only overlaps with bubbles, because most transfers are in progress while the rank computes.
    const auto add_range = [&](int line, const TimeRange& range) {
        if (line < 0) return;
        const Lane& bubbles = lane(static_cast<std::size_t>(line), LaneKind::Bubble);
        const std::size_t first = bubbles.firstEndingAfter(range.begin);
        if (first < bubbles.spans().size() && bubbles.spans()[first].start < range.end)
            under_way[static_cast<std::size_t>(line)].push_back(range);
    };
    for (std::size_t line = 0; line < lines_.size(); ++line) {
        for (const Span& span : lane(line, LaneKind::Collective).spans())
            add_range(static_cast<int>(line), {span.start, span.end});
    }
    for (std::size_t s = 0; s < steps.size(); ++s) {
        eachTimedTransfer(steps[s], [&](const TimedTransfer& transfer) {
            add_range(lineOf(asIndex(s), transfer.to.value), {transfer.sent, transfer.received});
        });
    }
    for (std::size_t line = 0; line < lines_.size(); ++line) {
        std::vector<TimeRange>& ranges = under_way[line];
        std::ranges::sort(ranges, {}, [](const TimeRange& range) { return std::pair(range.begin, range.end); });
        const Lane& bubbles = lane(line, LaneKind::Bubble);
        TimeNs done = TimeNs::min(); // parts before this time have already been added
        for (const TimeRange& range : ranges) {
            const TimeNs begin = std::max(range.begin, done);
            for (std::size_t i = bubbles.firstEndingAfter(begin);
                 i < bubbles.spans().size() && bubbles.spans()[i].start < range.end; ++i) {
                const Span& bubble = bubbles.spans()[i];
                const TimeRange part{std::max(begin, bubble.start), std::min(range.end, bubble.end)};
                if (part.length() > TimeNs{0})
                    add(static_cast<int>(line), LaneKind::Exposed,
                        {part.begin, part.end, bubble.step, bubble.index, Role::Send});
            }
            done = std::max(done, range.end);
        }
    }
}

void Lanes::addChecks(const std::vector<StepTimeline>& steps, const std::vector<CheckRecord>& checks) {
    mismatches_.resize(lines_.size());
    std::map<std::pair<int, int>, std::int32_t> place_of; // by step number and replica
    for (std::size_t s = 0; s < steps.size() && !checks.empty(); ++s)
        place_of.emplace(std::pair(steps[s].index, steps[s].replica), asIndex(s));
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const CheckRecord& check = checks[i];
        const auto place = place_of.find({check.step, check.replica});
        if (place == place_of.end() || check.tensor_rank != 0) continue;
        const int line = lineOf(place->second, check.rank.value);
        if (line < 0) continue;
        const Span span{check.start, check.end, place->second, asIndex(i), Role::Check};
        const bool mismatch = check.outcome == CheckOutcome::Mismatch;
        // Comparisons of digests take no time; they are shown only if they found a difference.
        if (check.end > check.start || mismatch) add(line, LaneKind::Check, span);
        if (mismatch) mismatches_[static_cast<std::size_t>(line)].push_back(span);
    }
    for (auto& spans : mismatches_)
        std::ranges::stable_sort(spans, {}, &Span::start);
}

int Lanes::lineOf(int step, int rank) const {
    if (rank < 0 || rank >= static_cast<int>(rank_count_) || replica_of_step_.empty()) return -1;
    const auto at = static_cast<std::size_t>(std::clamp(step, 0, static_cast<int>(replica_of_step_.size()) - 1));
    return replica_of_step_[at] * static_cast<int>(rank_count_) + rank;
}

int Lanes::lineOfReplica(int replica, int rank) const {
    const auto found = std::ranges::lower_bound(replicas_, replica);
    if (found == replicas_.end() || *found != replica || rank < 0 || rank >= static_cast<int>(rank_count_)) return -1;
    return static_cast<int>(found - replicas_.begin()) * static_cast<int>(rank_count_) + rank;
}

void Lanes::add(int line, LaneKind kind, Span span) {
    const auto k = static_cast<std::size_t>(kind);
    lines_[static_cast<std::size_t>(line)][k].add(span);
    used_[k] = true;
    extent_.begin = std::min(extent_.begin, span.start);
    extent_.end = std::max(extent_.end, span.end);
}

Overview::Overview(const Lanes& lanes) : extent_(lanes.extent()) {
    if (lanes.lineCount() == 0 || extent_.length() <= TimeNs{0}) return;
    bins_.resize(kBins);
    const double weight = 1.0 / static_cast<double>(lanes.lineCount());
    for (std::size_t line = 0; line < lanes.lineCount(); ++line) {
        add(lanes.lane(line, LaneKind::Compute), &Bin::busy, weight);
        add(lanes.lane(line, LaneKind::Bubble), &Bin::bubble, weight);
    }
}

Overview::Overview(const TimeRange& extent, const std::vector<float>& busy) : extent_(extent) {
    for (const float bin : busy)
        bins_.push_back({bin, 0});
}

void Overview::add(const Lane& lane, float Bin::*member, double weight) {
    const double length = static_cast<double>(extent_.length().count()) / static_cast<double>(kBins);
    const auto place = [&](TimeNs time) { return static_cast<double>((time - extent_.begin).count()) / length; };
    TimeNs covered = TimeNs::min(); // end of the previous spans, which may overlap because of pairs
    for (const Span& span : lane.spans()) {
        const double from = place(std::max(span.start, covered));
        const double to = place(span.end);
        covered = std::max(covered, span.end);
        if (to <= from) continue;
        const auto first = static_cast<std::size_t>(std::max(0.0, from));
        const auto last = std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, to)));
        for (std::size_t i = first; i <= last; ++i) {
            const double left = std::max(from, static_cast<double>(i));
            const double right = std::min(to, static_cast<double>(i + 1));
            bins_[i].*member += static_cast<float>(std::max(0.0, right - left) * weight);
        }
    }
}

Overview::Bin Overview::mean(double from, double to) const {
    Bin sum;
    if (bins_.empty()) return sum;
    const auto count = static_cast<double>(kBins);
    const auto first = static_cast<std::size_t>(std::clamp(std::floor(from * count), 0.0, count - 1));
    const auto end = std::clamp(static_cast<std::size_t>(std::max(0.0, std::ceil(to * count))), first + 1, kBins);
    for (std::size_t i = first; i < end; ++i) {
        sum.busy += bins_[i].busy;
        sum.bubble += bins_[i].bubble;
    }
    const auto bins = static_cast<float>(end - first);
    return {sum.busy / bins, sum.bubble / bins};
}

} // namespace bubblescope::gui
