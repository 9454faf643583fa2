#include "core/optimize/fill/fill.h"

#include "core/analysis/statistics/robust.h"
#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/optimize/fill/fill_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

constexpr double kSureShare = 0.1;  ///< 9 of 10 steps have a bubble at least this long
constexpr double kLateShare = 0.95; ///< quantile of the delays
constexpr double kLeastGain = 0.005;
constexpr double kMostDelay = 0.01;  ///< largest acceptable delay, as a fraction of a step
constexpr double kLeastShare = 0.05; ///< of the idle time
constexpr double kHardlyIdle = 0.01; ///< of the ranks' time

/// A piece of work that a rank may run in a bubble before one of the ops `first` to `last` of its list.
struct FillPiece {
    TimeNs time{0};
    std::size_t first = 0;
    std::size_t last = 0;
    std::optional<std::size_t> from = std::nullopt; ///< op that the work is removed from
    std::int64_t bytes = 0;                         ///< bytes occupied from that op until the piece has run
};

using RankPieces = std::vector<FillPiece>;

/// A rank's pieces that have not run yet. Bubbles must be passed in order, so that all of them together take as long as
/// the pieces that wait or run, not as long as all pieces for each bubble.
class OpenPieces {
public:
    explicit OpenPieces(RankPieces pieces) : later_(std::move(pieces)) {
        std::ranges::stable_sort(later_, std::greater(), &FillPiece::first);
    }

    /// Makes pieces available that may run before `op`, and drops those that should have run earlier.
    void passTo(std::size_t op) {
        while (!later_.empty() && later_.back().first <= op) {
            const FillPiece& piece = later_.back();
            available_.emplace(piece.last, piece);
            held_ += piece.bytes;
            times_.insert(piece.time);
            later_.pop_back();
        }
        while (!available_.empty() && available_.begin()->first < op)
            remove(available_.begin());
    }
    /// Drops available pieces whose tensors do not fit in addition to those of more urgent ones. Returns the bytes of
    /// the last one dropped.
    std::optional<std::int64_t> dropAbove(std::int64_t limit) {
        std::optional<std::int64_t> dropped;
        std::int64_t held = 0;
        for (auto at = available_.begin(); held_ > limit && at != available_.end();) {
            const std::int64_t bytes = at->second.bytes;
            const bool fits = bytes == 0 || held + bytes <= limit;
            if (fits) {
                held += bytes;
                ++at;
            } else {
                dropped = bytes;
                at = remove(at);
            }
        }
        return dropped;
    }
    /// Offers the available pieces to `runs`, the most urgent first, while the shortest of them is `shortEnough`;
    /// removes those for which it returns true.
    template <class ShortEnough, class Runs>
    void offer(const ShortEnough& shortEnough, const Runs& runs) {
        for (auto at = available_.begin(); at != available_.end() && shortEnough(*times_.begin());)
            at = runs(at->second) ? remove(at) : std::next(at);
    }

private:
    using Available = std::multimap<std::size_t, FillPiece>; ///< by the last op before which they may run

    Available::iterator remove(Available::iterator at) {
        held_ -= at->second.bytes;
        times_.erase(times_.find(at->second.time));
        return available_.erase(at);
    }

    RankPieces later_; ///< the next one is at the end
    Available available_;
    std::multiset<TimeNs> times_; ///< of the available pieces
    std::int64_t held_ = 0;       ///< their bytes
};

bool sameOrder(const StepTimeline& a, const StepTimeline& b) {
    return std::ranges::equal(a.ranks, b.ranks, [](const auto& left, const auto& right) {
        return std::ranges::equal(left, right, {}, &TimelineOp::op, &TimelineOp::op);
    });
}

TimeNs fillPart(TimeNs time, double share) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * share)};
}

TimeNs fillMean(TimeNs sum, std::size_t count) {
    return count == 0 ? TimeNs{0} : sum / static_cast<std::int64_t>(count);
}

class FillStudent {
public:
    FillStudent(std::vector<const StepTimeline*> steps, const StepTimeline& typical, const FillOptions& options)
        : steps_(std::move(steps)), typical_(typical), options_(options) {
        replays_.reserve(steps_.size());
        for (const StepTimeline* const step : steps_) {
            replays_.emplace_back(*step);
            base_.push_back(replays_.back().run(FillChanges(*step)));
        }
    }

    FillStudy make() {
        study_.steps = static_cast<int>(steps_.size());
        study_.step_time = fillMean(std::accumulate(base_.begin(), base_.end(), TimeNs{0}), base_.size());
        findFillBubbles();
        for (const FillKind kind : {FillKind::WeightGradients, FillKind::Recomputation, FillKind::Optimizer,
                                    FillKind::Encoder, FillKind::Checkpoint, FillKind::Checks, FillKind::SideJob})
            tryWork(kind);
        return std::move(study_);
    }

private:
    void findFillBubbles() {
        const StepOrder order(typical_);
        const auto found = findBubbles(typical_, order);
        TimeNs least_idle = TimeNs::max();
        std::vector<double> lengths;
        for (std::size_t r = 0; r < typical_.ranks.size(); ++r) {
            const Rank rank{r};
            std::vector<std::vector<TimeNs>> waits;
            for (const FillReplay& replay : replays_)
                waits.push_back(replay.waits(rank));
            const std::vector<MemoryPoint> curve =
                options_.memory ? memoryCurve(typical_, rank, *options_.memory) : std::vector<MemoryPoint>{};
            TimeNs idle{0};
            const auto& ops = typical_.ranks[r];
            for (std::size_t next = 0; next <= ops.size(); ++next) {
                lengths.clear();
                for (const auto& of_step : waits)
                    lengths.push_back(static_cast<double>(of_step[next].count()));
                const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
                if (sum <= 0) continue;
                const TimeNs end = next < ops.size() ? ops[next].start : typical_.end;
                FillBubble bubble{.rank = rank, .next_op = next};
                const auto here = std::ranges::lower_bound(found[r], end, {}, &Bubble::end);
                const bool is_found = here != found[r].end() && here->start < end;
                if (is_found) bubble.position = here->position;
                bubble.start = (is_found ? here->start : end) - typical_.begin;
                bubble.mean = TimeNs{std::llround(sum / static_cast<double>(lengths.size()))};
                bubble.sure = TimeNs{std::llround(statistics::quantile(lengths, kSureShare))};
                if (options_.memory) bubble.free_bytes = freeIn(curve, bubble.start + typical_.begin, end);
                idle += bubble.mean;
                study_.bubbles.push_back(bubble);
            }
            spare_.push_back(options_.memory ? freeIn(curve, typical_.begin, typical_.end)
                                             : std::numeric_limits<std::int64_t>::max());
            study_.idle += idle;
            if (idle < least_idle) {
                least_idle = idle;
                study_.busiest = rank;
            }
        }
        busiest_idle_ = least_idle;
        const TimeNs whole = study_.step_time * static_cast<std::int64_t>(std::max(1, typical_.pp));
        study_.idle_share = whole > TimeNs{0} ? fractionOf(study_.idle, whole) : 0;
    }

    /// The minimum free memory from `start` to `end`.
    [[nodiscard]] std::int64_t freeIn(const std::vector<MemoryPoint>& curve, TimeNs start, TimeNs end) const {
        std::int64_t most = 0;
        for (std::size_t i = 0; i < curve.size(); ++i) {
            const bool reaches_in = i + 1 == curve.size() || curve[i + 1].time > start;
            if (reaches_in && (curve[i].time < end || i == 0)) most = std::max(most, curve[i].bytes);
        }
        return options_.budget - most;
    }

    [[nodiscard]] TimeNs needed(TimeNs time) const { return fillPart(time, 1 + options_.margin) + options_.latency; }

    // ---- The work to place -------------------------------------------------------------------------------

    /// The mean time of an op over the steps.
    [[nodiscard]] TimeNs opTime(std::size_t rank, std::size_t op) const {
        TimeNs sum{0};
        for (const StepTimeline* const step : steps_)
            sum += step->ranks[rank][op].duration();
        return fillMean(sum, steps_.size());
    }

    [[nodiscard]] RankPieces weightGradients(std::size_t rank) const {
        RankPieces pieces;
        const auto& ops = typical_.ranks[rank];
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i].op;
            if (op.overlapped || (op.kind != OpKind::Backward && op.kind != OpKind::BackwardWeight)) continue;
            const TimeNs time = fillPart(opTime(rank, i), op.kind == OpKind::Backward ? options_.weight_share : 1);
            FillPiece piece{.time = time, .first = i + 1, .last = ops.size(), .from = i};
            if (options_.memory) {
                const Stage stage = typical_.stageOf(Rank{rank}, op.chunk);
                piece.bytes = options_.memory->stages[stage.index()].activations.weight_grad;
            }
            pieces.push_back(piece);
        }
        return pieces;
    }

    /// Re-executions of each forward, while its activations exist or before they are needed.
    [[nodiscard]] RankPieces forwardsAgain(std::size_t rank) const {
        RankPieces pieces;
        const auto& ops = typical_.ranks[rank];
        const auto nameOf = [](const Op& op) { return std::tuple(op.microbatch, op.chunk, op.sequence); };
        std::map<std::tuple<Microbatch, Chunk, std::int16_t>, std::size_t> backwards;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i].op;
            if (op.kind == OpKind::Backward || op.kind == OpKind::BackwardInput) backwards.emplace(nameOf(op), i);
        }
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (ops[i].op.kind != OpKind::Forward) continue;
            const auto backward = backwards.find(nameOf(ops[i].op));
            const std::size_t last = backward == backwards.end() ? ops.size() : backward->second;
            pieces.push_back({.time = opTime(rank, i), .first = i + 1, .last = last});
        }
        return pieces;
    }

    [[nodiscard]] RankPieces optimizer(std::size_t rank) const {
        const auto& ops = typical_.ranks[rank];
        std::vector<std::size_t> ready(static_cast<std::size_t>(typical_.vpp), 0);
        TimeNs recorded{0};
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i].op;
            if (op.kind == OpKind::Backward || op.kind == OpKind::BackwardWeight) ready[op.chunk.index()] = i + 1;
            if (op.kind == OpKind::Optimizer) recorded += opTime(rank, i);
        }
        const TimeNs whole = options_.optimizer.value_or(recorded);
        RankPieces pieces;
        for (const std::size_t first : ready) {
            if (whole > TimeNs{0} && first > 0)
                pieces.push_back(
                    {.time = whole / static_cast<std::int64_t>(ready.size()), .first = first, .last = ops.size()});
        }
        return pieces;
    }

    [[nodiscard]] RankPieces piecesOf(FillKind kind, std::size_t rank) const {
        switch (kind) {
        case FillKind::WeightGradients: return weightGradients(rank);
        case FillKind::Recomputation:
        case FillKind::Checks: return forwardsAgain(rank);
        case FillKind::Optimizer: return optimizer(rank);
        case FillKind::Encoder:
        case FillKind::Checkpoint:
        case FillKind::SideJob: break; // may run anywhere
        }
        return {};
    }

    // ---- Where it goes -----------------------------------------------------------------------------------

    void tryWork(FillKind kind) {
        FilledWork work;
        work.kind = kind;
        std::vector<FillChanges> changes(1, FillChanges(typical_));
        least_piece_ = TimeNs::max();
        short_of_memory_.reset();
        const bool anywhere = kind == FillKind::Encoder || kind == FillKind::Checkpoint || kind == FillKind::SideJob;
        if (anywhere ? !placeAnywhere(work, changes.front()) : !placePieces(work, changes.front())) return;
        for (const FilledBubble& bubble : work.bubbles)
            work.time += bubble.time;
        work.share = study_.idle > TimeNs{0} ? fractionOf(work.time, study_.idle) : 0;
        judgeDelay(work, changes.front());
        judge(work);
        study_.works.push_back(std::move(work));
    }

    /// Returns false if there is no such work.
    bool placePieces(FilledWork& work, FillChanges& changes) {
        TimeNs least_done = TimeNs::max(); // minimum over the ranks
        for (std::size_t r = 0; r < typical_.ranks.size(); ++r) {
            RankPieces pieces = piecesOf(work.kind, r);
            work.offered += static_cast<std::int64_t>(pieces.size());
            TimeNs done{0};
            for (const FillPiece& piece : pieces) {
                work.offered_time += piece.time;
                least_piece_ = std::min(least_piece_, piece.time);
            }
            OpenPieces open(std::move(pieces));
            for (std::size_t b = 0; b < study_.bubbles.size(); ++b) {
                if (study_.bubbles[b].rank == Rank{r}) done += fillOne(work, b, open, changes);
            }
            if (done < least_done) {
                least_done = done;
                idle_least_ = Rank{r};
            }
        }
        if (work.kind == FillKind::Optimizer) work.gain = least_done; // all ranks start the next step together
        return work.offered > 0;
    }

    /// Fills one bubble, most urgent pieces first. Returns the time placed.
    TimeNs fillOne(FilledWork& work, std::size_t index, OpenPieces& open, FillChanges& changes) {
        const FillBubble& bubble = study_.bubbles[index];
        const std::size_t r = bubble.rank.index();
        open.passTo(bubble.next_op);
        // Deferred work keeps tensors in memory until it has run. Work whose tensors do not fit is not deferred.
        if (const auto dropped = open.dropAbove(spare_[r]))
            short_of_memory_ = ShortOfMemory{bubble.rank, spare_[r], *dropped};
        TimeNs left = bubble.sure;
        FilledBubble filled{.bubble = index};
        const auto fits = [&](TimeNs time) { return needed(time) <= left; };
        open.offer(fits, [&](const FillPiece& piece) {
            if (!fits(piece.time)) return false;
            left -= needed(piece.time);
            filled.time += piece.time;
            ++filled.pieces;
            changes.before[r][bubble.next_op] += piece.time + options_.latency;
            if (piece.from) changes.shorter[r][*piece.from] += piece.time;
            return true;
        });
        if (filled.pieces > 0) {
            work.placed += filled.pieces;
            work.bubbles.push_back(filled);
        }
        return filled.time;
    }

    bool placeAnywhere(FilledWork& work, FillChanges& changes) {
        if (work.kind == FillKind::Encoder && !options_.encoder) return false;
        if (work.kind == FillKind::Checkpoint && !options_.checkpoint) return false;
        if (work.kind == FillKind::SideJob && options_.side_job.empty()) return false;
        if (work.kind == FillKind::Encoder) {
            work.offered = typical_.microbatches;
            work.offered_time = *options_.encoder * typical_.microbatches;
        } else if (work.kind == FillKind::Checkpoint) {
            work.offered_time = *options_.checkpoint * typical_.pp;
        }
        std::vector<TimeNs> of_rank(typical_.ranks.size(), TimeNs{0});
        std::vector<std::size_t> next_kernel(typical_.ranks.size(), 0);
        for (std::size_t b = 0; b < study_.bubbles.size(); ++b) {
            const FillBubble& bubble = study_.bubbles[b];
            const std::size_t r = bubble.rank.index();
            FilledBubble filled{.bubble = b};
            for (TimeNs left = bubble.sure;;) {
                const TimeNs time = nextAnywhere(work, bubble, of_rank[r], next_kernel[r], left);
                if (time <= TimeNs{0}) break;
                left -= needed(time);
                filled.time += time;
                ++filled.pieces;
                ++work.placed;
                of_rank[r] += time;
                ++next_kernel[r];
                changes.before[r][bubble.next_op] += time + options_.latency;
            }
            if (filled.pieces > 0) work.bubbles.push_back(filled);
        }
        return true;
    }

    /// The next piece that fits into the rest of a bubble; 0 if there is none. `done` and `count` are the time and the
    /// number of pieces that the rank has done so far.
    TimeNs nextAnywhere(const FilledWork& work, const FillBubble& bubble, TimeNs done, std::size_t count, TimeNs left) {
        std::int64_t bytes = 0;
        std::int64_t free = bubble.free_bytes.value_or(std::numeric_limits<std::int64_t>::max());
        TimeNs time{0};
        switch (work.kind) {
        case FillKind::Encoder:
            if (work.placed >= work.offered) return time;
            time = *options_.encoder;
            bytes = options_.encoder_bytes * static_cast<std::int64_t>(count + 1); // the results are kept
            free = spare_[bubble.rank.index()];
            break;
        case FillKind::Checkpoint: {
            const TimeNs rest = fillPart(left - options_.latency, 1 / (1 + options_.margin));
            return std::min(rest, *options_.checkpoint - done);
        }
        case FillKind::SideJob:
            time = options_.side_job[count % options_.side_job.size()];
            bytes = options_.side_bytes;
            break;
        default: return time;
        }
        least_piece_ = std::min(least_piece_, time);
        if (needed(time) > left) return TimeNs{0};
        if (bytes > free) {
            short_of_memory_ = ShortOfMemory{bubble.rank, free, bytes};
            return TimeNs{0};
        }
        return time;
    }

    // ---- The cost ------------------------------------------------------------------------------------------

    void judgeDelay(FilledWork& work, const FillChanges& changes) {
        std::vector<double> delays;
        for (std::size_t i = 0; i < replays_.size(); ++i)
            delays.push_back(static_cast<double>((replays_[i].run(changes) - base_[i]).count()));
        const double mean = std::accumulate(delays.begin(), delays.end(), 0.0) /
                            static_cast<double>(std::max<std::size_t>(1, delays.size()));
        const TimeNs change{std::llround(mean)};
        if (work.kind == FillKind::WeightGradients) work.gain = std::max(TimeNs{0}, -change);
        work.delay = std::max(TimeNs{0}, change);
        work.late_delay = std::max(TimeNs{0}, TimeNs{std::llround(statistics::quantile(delays, kLateShare))});
        if (work.kind == FillKind::Optimizer) work.gain = std::max(TimeNs{0}, work.gain - work.delay);
    }

    void judge(FilledWork& work) const {
        const auto percent = [](double share) { return formatPercent(share); };
        if (study_.idle_share < kHardlyIdle) {
            work.reason = say("not worth it: ranks are idle for only {} of a step", percent(study_.idle_share));
        } else if (work.time <= TimeNs{0}) {
            work.reason = whyNothingFits();
        } else if (fractionOf(work.delay, study_.step_time) > kMostDelay) {
            work.reason = say("not worth it: steps would get {} longer", formatTime(work.delay));
        } else if (work.kind == FillKind::Optimizer && work.gain <= TimeNs{0}) {
            work.reason = say("not worth it: all ranks begin the next step together, and rank {} has no bubble to use",
                              idle_least_.value);
        } else if (work.kind == FillKind::WeightGradients || work.kind == FillKind::Optimizer) {
            work.worth = fractionOf(work.gain, study_.step_time) >= kLeastGain;
            work.reason = work.worth
                              ? say("steps get {} shorter", formatTime(work.gain))
                              : say("not worth it: bubbles are not the bottleneck; rank {} is busy for {} of a step, "
                                    "and steps get only {} shorter",
                                    study_.busiest.value, percent(1 - fractionOf(busiest_idle_, study_.step_time)),
                                    formatTime(work.gain));
        } else if (work.share < kLeastShare && work.placed < work.offered) {
            work.reason = say("not worth it: only {} of the idle time is usable", percent(work.share));
        } else if (work.share < kLeastShare && work.offered == 0 && work.time < work.offered_time) {
            work.reason = say("not worth it: only {} of the idle time is usable", percent(work.share));
        } else {
            work.worth = true;
            work.reason =
                say("fills {} of the idle time; steps get {} longer", percent(work.share), formatTime(work.delay));
        }
    }

    [[nodiscard]] Sentence whyNothingFits() const {
        if (short_of_memory_) {
            return say("not worth it: rank {} has {} of free memory, but a piece needs {}",
                       short_of_memory_->rank.value, formatBytes(short_of_memory_->free),
                       formatBytes(short_of_memory_->needed));
        }
        TimeNs longest{0};
        for (const FillBubble& bubble : study_.bubbles)
            longest = std::max(longest, bubble.sure);
        if (least_piece_ != TimeNs::max() && needed(least_piece_) > longest) {
            return say("not worth it: bubbles are too short; in 9 of 10 steps the longest provides at least {}, but a "
                       "piece takes {}",
                       formatTime(longest), formatTime(needed(least_piece_)));
        }
        return say("not worth it: no bubble where this work could run");
    }

    struct ShortOfMemory {
        Rank rank;
        std::int64_t free = 0;
        std::int64_t needed = 0;
    };

    std::vector<const StepTimeline*> steps_;
    const StepTimeline& typical_;
    const FillOptions& options_;
    std::vector<FillReplay> replays_;
    std::vector<TimeNs> base_;        ///< length of each step's replay without changes
    std::vector<std::int64_t> spare_; ///< bytes that are always free on a rank
    TimeNs busiest_idle_{0};
    FillStudy study_;
    // State of the work being tried:
    TimeNs least_piece_{0};
    Rank idle_least_; ///< the rank that did the least of this work
    std::optional<ShortOfMemory> short_of_memory_;
};

} // namespace

const char* fillKindName(FillKind kind) {
    switch (kind) {
    case FillKind::WeightGradients: return "weight-gradients";
    case FillKind::Recomputation: return "recomputation";
    case FillKind::Optimizer: return "optimizer";
    case FillKind::Encoder: return "encoder";
    case FillKind::Checkpoint: return "checkpoint";
    case FillKind::Checks: return "checks";
    case FillKind::SideJob: return "side-job";
    }
    return "";
}

Result<FillStudy> studyFill(std::span<const StepTimeline* const> steps, const StepTimeline& typical,
                            const FillOptions& options) {
    if (!(options.margin >= 0 && options.margin <= 10)) return usageError("the margin is not between 0 and 10");
    if (options.latency < TimeNs{0}) return usageError("the latency is negative");
    if (!(options.weight_share >= 0 && options.weight_share <= 1))
        return usageError("the weight gradient's share is not between 0 and 1");
    if (std::ranges::any_of(options.side_job, [](TimeNs time) { return time <= TimeNs{0}; }))
        return usageError("a kernel of the side job has no duration", "use durations above 0");
    const auto stages = static_cast<std::size_t>(typical.pp) * static_cast<std::size_t>(typical.vpp);
    if (options.memory && options.memory->stages.size() != stages) {
        return usageError(fmt::format("the memory model has {} stages, but the steps have {}",
                                      options.memory->stages.size(), stages));
    }
    std::vector<const StepTimeline*> same;
    for (const StepTimeline* const step : steps) {
        if (sameOrder(*step, typical)) same.push_back(step);
    }
    if (same.empty()) same.push_back(&typical);
    return FillStudent(std::move(same), typical, options).make();
}

} // namespace bubblescope
