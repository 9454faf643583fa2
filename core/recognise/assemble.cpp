#include "core/recognise/assemble.h"

#include "core/base/text.h"
#include "core/recognise/op_counts.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

// Larger numbers are caused by damage. The limit prevents a damaged file from exhausting memory.
constexpr std::int64_t kMaxParts = 1 << 16;
constexpr std::int64_t kMaxSlots = 1 << 26;
constexpr std::int64_t kMaxReplicas = 1 << 20;

using OwnersByStage = std::map<std::int64_t, std::int64_t>;

struct Extent {
    std::set<std::int64_t> owners;
    std::int64_t parts = 0;
    std::int64_t microbatches = 0;
    std::int64_t slices = 1;
    std::int64_t replicas = 1;
};

Result<Extent> extentOf(const FoundOps& found, const std::string& where) {
    Extent extent;
    std::int64_t last_owner = -1; // neighbouring ops often have the same rank
    for (const BareFoundOp& op : found.ops) {
        if (op.kind == OpKind::Optimizer) continue;
        if (op.chunk_or_stage < 0 || op.chunk_or_stage >= kMaxParts || op.microbatch < 0 ||
            op.microbatch >= kMaxSlots || op.owner < 0 || op.owner >= INT32_MAX || op.step < 0 ||
            op.step >= INT32_MAX || op.sequence < 0 || op.sequence >= kMaxSequenceSlices || op.replica < 0 ||
            op.replica >= kMaxReplicas) {
            return inputError(where,
                              fmt::format("an op has invalid numbers: rank {}, replica {}, part {}, micro-batch {}, "
                                          "step {}, sequence slice {}",
                                          op.owner.value(), op.replica.value(), op.chunk_or_stage.value(),
                                          op.microbatch.value(), op.step.value(), op.sequence.value()));
        }
        if (op.owner != std::exchange(last_owner, op.owner)) extent.owners.insert(op.owner);
        extent.parts = std::max(extent.parts, op.chunk_or_stage + 1);
        extent.microbatches = std::max(extent.microbatches, op.microbatch + 1);
        extent.slices = std::max(extent.slices, op.sequence + 1);
        extent.replicas = std::max(extent.replicas, op.replica + 1);
    }
    const auto parts = static_cast<std::int64_t>(extent.owners.size()) * extent.parts;
    if (parts > kMaxSlots / extent.replicas) {
        return inputError(
            where, fmt::format("the trace contains impossible sizes: {} replicas of {} parts", extent.replicas, parts));
    }
    if (parts > kMaxSlots / extent.slices || parts * extent.slices * extent.microbatches > kMaxSlots) {
        return inputError(
            where,
            fmt::format("the trace contains impossible sizes: {} ranks, {} parts, {} micro-batches, {} sequence slices",
                        extent.owners.size(), extent.parts, extent.microbatches, extent.slices));
    }
    return extent;
}

Error missingRanks(const std::string& where, const std::string& what) {
    return inputError(where, what, "load the files of all pipeline ranks together, or the folder that contains them");
}

/// Text such as "rank 2", "ranks 0 to 2" or "ranks 0, 1 and 3", in ascending order.
std::string rankNames(std::span<const std::int64_t> ranks) {
    if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
    const auto count = static_cast<std::int64_t>(ranks.size());
    if (count > 2 && ranks.back() - ranks.front() == count - 1)
        return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
    return fmt::format("ranks {} and {}", fmt::join(ranks.first(ranks.size() - 1), ", "), ranks.back());
}

/// The error if only `owners` of `pp` ranks have ops.
Error missingRanks(const std::string& where, std::int64_t pp, const std::set<std::int64_t>& owners) {
    constexpr std::size_t kMostNamed = 8;
    const std::vector<std::int64_t> here(owners.begin(), owners.end());
    std::vector<std::int64_t> missing;
    for (std::int64_t rank = 0; rank < pp; ++rank) {
        if (!owners.contains(rank)) missing.push_back(rank);
    }
    const auto named = [&](const std::vector<std::int64_t>& ranks) {
        return ranks.size() > kMostNamed ? fmt::format("{} of {} ranks", ranks.size(), pp) : rankNames(ranks);
    };
    return missingRanks(where, missing.size() == 1
                                   ? fmt::format("{} is missing (found only ops of {})", named(missing), named(here))
                                   : fmt::format("{} are missing (found only ops of {})", named(missing), named(here)));
}

Result<OwnersByStage> ownersByStage(const FoundOps& found, const std::string& where) {
    OwnersByStage owners;
    for (const BareFoundOp& op : found.ops) {
        if (op.kind == OpKind::Optimizer) continue;
        const auto known = owners.emplace(op.chunk_or_stage, op.owner).first;
        if (known->second != op.owner) {
            return inputError(where,
                              fmt::format("stage {} ran on ranks {} and {}", op.chunk_or_stage.value(), known->second,
                                          op.owner.value()),
                              "the files contain several replicas of the pipeline; load the files of one");
        }
    }
    std::int64_t expected = 0;
    for (const auto& [stage, owner] : owners) {
        if (stage != expected) {
            std::set<std::int64_t> here;
            for (const auto& [known, rank] : owners)
                here.insert(rank);
            const std::vector<std::int64_t> ranks(here.begin(), here.end());
            return missingRanks(where,
                                fmt::format("no rank ran stage {} (found only ops of {})", expected, rankNames(ranks)));
        }
        ++expected;
    }
    return owners;
}

bool placed(const OwnersByStage& owners, const Layout& layout, Placement placement) {
    return std::all_of(owners.begin(), owners.end(), [&](const auto& entry) {
        const Stage stage{static_cast<std::int32_t>(entry.first)};
        const auto rank = layout.rank_of_owner.find(entry.second);
        return rank != layout.rank_of_owner.end() && locate(placement, layout.pp, stage).rank == rank->second;
    });
}

// Ranks are numbered by their first stage (in the first pipeline), and chunks by the order of the stages on a rank.
Status placeStages(const OwnersByStage& owners, bool bidirectional, Layout& layout, const std::string& where) {
    for (const auto& [stage, owner] : owners) {
        if (layout.rank_of_owner.contains(owner) || (bidirectional && stage % 2 != 0)) continue;
        layout.rank_of_owner.emplace(owner, Rank{layout.rank_of_owner.size()});
    }
    layout.pp = static_cast<int>(layout.rank_of_owner.size());
    const auto stages = static_cast<int>(owners.size());
    layout.vpp = stages / layout.pp;
    if (stages % layout.pp != 0) {
        return inputError(where, fmt::format("{} stages cannot be distributed evenly over {} ranks", stages, layout.pp),
                          "load the files of all pipeline ranks together");
    }
    const std::vector<Placement> known =
        bidirectional ? std::vector{Placement::Bidirectional} : std::vector{Placement::Loop, Placement::V};
    const auto found =
        std::ranges::find_if(known, [&](Placement placement) { return placed(owners, layout, placement); });
    if (found == known.end()) {
        return inputError(where, bidirectional
                                     ? fmt::format("the placement of the {} stages on the {} ranks is not that of two "
                                                   "pipelines in opposite directions",
                                                   stages, layout.pp)
                                     : fmt::format("the placement of the {} stages on the {} ranks is neither a loop "
                                                   "nor a V",
                                                   stages, layout.pp));
    }
    layout.placement = *found;
    for (const auto& [stage, owner] : owners) {
        layout.location_of_stage[stage] =
            bubblescope::locate(layout.placement, layout.pp, Stage{static_cast<std::int32_t>(stage)});
    }
    return {};
}

/// True if both pipelines number their micro-batches from 0.
bool sharesNumbers(const FoundOps& found) {
    const auto begins = [&found](std::int64_t route) {
        return std::any_of(found.ops.begin(), found.ops.end(), [route](const BareFoundOp& op) {
            return op.kind != OpKind::Optimizer && op.chunk_or_stage % 2 == route && op.microbatch == 0;
        });
    };
    return begins(0) && begins(1);
}

Status placeRanks(const Extent& extent, const FoundOps& found, Layout& layout, const std::string& where) {
    const bool numbered = found.parts == Parts::Chunks;
    // The run information in the files also reveals missing ranks.
    const std::int64_t least = numbered && !extent.owners.empty() ? *extent.owners.rbegin() + 1 : 0;
    const std::int64_t stated = found.info ? std::int64_t{found.info->pp} : 0;
    const bool moves = found.moving || (found.info && found.info->placement == Placement::Moving);
    const bool is_missing = !moves && std::max(least, stated) > static_cast<std::int64_t>(extent.owners.size());
    if (is_missing && numbered) return missingRanks(where, std::max(least, stated), extent.owners);
    std::set<std::int64_t> owners = extent.owners;
    if (moves) { // with fewer micro-batches than ranks, some ranks run nothing
        for (std::int64_t rank = 0; rank < std::min(stated, kMaxParts); ++rank)
            owners.insert(rank);
    }
    for (const std::int64_t owner : owners) {
        const Rank rank{layout.rank_of_owner.size()};
        layout.rank_of_owner.emplace(owner, rank);
    }
    layout.pp = static_cast<int>(layout.rank_of_owner.size());
    layout.vpp = numbered ? static_cast<int>(extent.parts) : 1;
    return {};
}

Status applyInfo(const RunInfo& info, Layout& layout, const std::string& where) {
    if (info.pp > layout.pp) {
        return missingRanks(where, fmt::format("the run had {} ranks, but only {} have ops", info.pp, layout.pp));
    }
    const std::int64_t microbatches = std::max(layout.microbatches, info.microbatches);
    const std::int64_t vpp = std::max(layout.vpp, info.vpp);
    if (microbatches > kMaxSlots || vpp > kMaxParts || vpp % routes(info.placement) != 0 ||
        !StageWays::encodersFit(info.placement, layout.pp, static_cast<int>(vpp)) ||
        microbatches * vpp > kMaxSlots / layout.slices / layout.pp) {
        return inputError(where, fmt::format("impossible run settings: {} micro-batches, {} chunks, {} placement",
                                             info.microbatches, info.vpp, placementName(info.placement)));
    }
    layout.microbatches = static_cast<int>(microbatches);
    layout.vpp = static_cast<int>(vpp);
    layout.placement = info.placement;
    return {};
}

} // namespace

Location Layout::locate(const BareFoundOp& op, Parts parts) const {
    if (op.kind != OpKind::Optimizer) {
        if (parts == Parts::Stages) return location_of_stage.at(op.chunk_or_stage);
        if (parts == Parts::Chunks)
            return {rank_of_owner.at(op.owner), Chunk{static_cast<std::int32_t>(op.chunk_or_stage)}};
    }
    return {rank_of_owner.at(op.owner), Chunk{0}};
}

Result<Layout> inferLayout(const FoundOps& found, const std::string& where) {
    BUBBLESCOPE_ASSIGN(const Extent extent, extentOf(found, where));
    Layout layout;
    layout.microbatches = static_cast<int>(extent.microbatches);
    layout.slices = static_cast<int>(extent.slices);
    if (found.parts == Parts::Stages) {
        BUBBLESCOPE_ASSIGN(const OwnersByStage owners, ownersByStage(found, where));
        BUBBLESCOPE_TRY(placeStages(owners, found.bidirectional, layout, where));
        if (found.bidirectional && sharesNumbers(found)) layout.microbatches *= 2;
    } else {
        BUBBLESCOPE_TRY(placeRanks(extent, found, layout, where));
        if (found.moving) layout.placement = Placement::Moving;
    }
    if (found.info) BUBBLESCOPE_TRY(applyInfo(*found.info, layout, where));
    return layout;
}

namespace {

struct Place {
    std::int64_t owner = 0; ///< the owner in replica 0
    std::int64_t replica = 0;
};

} // namespace

Status splitReplicas(FoundOps& found, const std::string& where) {
    if (found.parts != Parts::Stages) return {};
    std::map<std::int64_t, std::set<std::int64_t>> owners_of_stage;
    for (const BareFoundOp& op : found.ops) {
        if (op.kind != OpKind::Optimizer) owners_of_stage[op.chunk_or_stage].insert(op.owner);
    }
    const auto several = [](const auto& entry) { return entry.second.size() > 1; };
    if (std::none_of(owners_of_stage.begin(), owners_of_stage.end(), several)) return {};

    std::map<std::int64_t, Place> places;
    const std::size_t replicas = owners_of_stage.begin()->second.size();
    for (const auto& [stage, owners] : owners_of_stage) {
        if (owners.size() != replicas) {
            return inputError(where,
                              fmt::format("{} ranks ran stage {}, but {} ran stage {}", replicas,
                                          owners_of_stage.begin()->first, owners.size(), stage),
                              "load the files of complete pipelines: all pipeline ranks of each replica");
        }
        std::int64_t replica = 0;
        for (const std::int64_t owner : owners) {
            const Place& place = places.emplace(owner, Place{*owners.begin(), replica}).first->second;
            if (place.replica != replica) {
                return inputError(where,
                                  fmt::format("one stage of rank {} belongs to replica {}, another stage to replica {}",
                                              owner, place.replica, replica),
                                  "load the files of one replica");
            }
            ++replica;
        }
    }
    const auto move = [&places](auto& item) {
        const auto place = places.find(item.owner);
        if (place == places.end()) return;
        item.replica = place->second.replica;
        item.owner = place->second.owner;
    };
    std::for_each(found.ops.begin(), found.ops.end(), move);
    std::for_each(found.comm.begin(), found.comm.end(), move);
    return {};
}

Sentence opFault(Rank rank, const Op& op, bool twice) {
    return twice ? say("rank {} ran {} twice", rank.value, opName(op))
                 : say("rank {} is missing {}", rank.value, opName(op));
}

Sentence opFault(const Op& op) {
    return say("no rank ran {}", opName(op));
}

Diagnostic incompleteStep(std::int64_t step, std::int64_t replica, const Sentence& reason) {
    const Sentence named = replica == 0 ? say("step {}", step) : say("step {}, replica {}", step, replica);
    return {"incomplete-step", 1, say("{}: {}", named, reason), say("skipped steps with missing or duplicate ops")};
}

std::optional<OpFault> opFaultOf(const Diagnostic& problem) {
    if (problem.kind != "incomplete-step") return std::nullopt;
    OpFault fault;
    const std::span<const Sentence> parts = problem.where.arguments();
    if (parts.size() != 2 || parts[0].arguments().empty()) return fault;
    fault.step = parseNumber<int>(parts[0].arguments()[0].text());
    const Sentence& reason = parts[1];
    fault.twice = reason.pattern() == opFault({}, {}, true).pattern();
    const bool by_rank = fault.twice || reason.pattern() == opFault({}, {}, false).pattern();
    if (!by_rank && reason.pattern() != opFault({}).pattern()) return fault;
    if (by_rank) fault.rank = Rank{parseNumber<std::int32_t>(reason.arguments()[0].text()).value_or(0)};
    fault.op = parseOpName(reason.arguments().back().text());
    return fault;
}

namespace {

std::uint8_t bit(OpKind kind) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
}

/// Records which ops of a step were seen, by micro-batch, rank, chunk and sequence slice.
class Tally {
public:
    explicit Tally(const Layout& layout)
        : layout_(layout), seen_(static_cast<std::size_t>(layout.microbatches) * unitSize()) {}

    void add(Rank rank, const Op& op) {
        if (op.kind == OpKind::Optimizer) return;
        std::uint8_t& slot = seen_[index(rank, op)];
        if ((slot & bit(op.kind)) != 0 && !fault_) fault_ = opFault(rank, op, true);
        slot |= bit(op.kind);
    }

    /// True if an op was recorded twice.
    [[nodiscard]] bool twice() const { return fault_.has_value(); }
    /// The reason why the step is incomplete; nothing if it is complete.
    [[nodiscard]] std::optional<Sentence> fault(bool expect_backward) const {
        if (fault_) return fault_;
        int units = 0;
        const std::vector<Way> ways = findWays();
        for (int m = 0; m < layout_.microbatches; ++m) {
            for (const Way& way : ways) {
                if (ways.size() > 1 && !takes(Microbatch{m}, way)) continue;
                ++units;
                if (auto fault = faultOn(Microbatch{m}, way, expect_backward)) return fault;
            }
        }
        if (units == layout_.microbatches) return std::nullopt;
        return say("{} of {} micro-batches ran", units, layout_.microbatches);
    }

private:
    /// The path of a micro-batch, by rank and chunk.
    using Way = std::vector<Location>;
    [[nodiscard]] std::vector<Way> findWays() const {
        const Layout& of = layout_;
        const int copies = secondCopies(of.placement, of.pp, of.vpp, of.microbatches, [&](Microbatch m, Stage stage) {
            const Location at = bubblescope::locate(of.placement, of.pp, stage);
            return takes(m, {at});
        });
        const StageWays ways(of.placement, of.pp, of.vpp, copies);
        std::vector<Way> found;
        for (const StageWays::Way& way : ways.all()) {
            Way& places = found.emplace_back();
            for (int place = 0; place < way.count; ++place)
                places.push_back(bubblescope::locate(of.placement, of.pp, Stage{way.first + place * ways.apart()}));
            std::ranges::sort(places, {}, [](const Location& at) { return std::pair(at.rank.value, at.chunk.value); });
        }
        return found;
    }
    /// Slots of one micro-batch.
    [[nodiscard]] std::size_t unitSize() const {
        return static_cast<std::size_t>(stageCount(layout_.placement, layout_.pp, layout_.vpp)) *
               static_cast<std::size_t>(layout_.slices);
    }
    [[nodiscard]] std::size_t index(Rank rank, const Op& op) const {
        // locate() returns rank 0 for stages that move.
        const std::size_t holder = layout_.placement == Placement::Moving ? 0 : rank.index();
        const std::size_t part = holder * static_cast<std::size_t>(layout_.vpp) + op.chunk.index();
        return op.microbatch.index() * unitSize() + part * static_cast<std::size_t>(layout_.slices) +
               static_cast<std::size_t>(op.sequence);
    }
    /// Calls visit(rank, forward op) for everything that a micro-batch must run on a path, until that returns true.
    template <class Visit>
    bool anyOf(Microbatch microbatch, const Way& way, Visit visit) const {
        for (const Location& at : way) {
            for (int slice = 0; slice < layout_.slices; ++slice) {
                if (visit(at.rank, Op{OpKind::Forward, microbatch, at.chunk, slice})) return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool takes(Microbatch microbatch, const Way& way) const {
        return anyOf(microbatch, way, [&](Rank rank, const Op& op) { return seen_[index(rank, op)] != 0; });
    }
    [[nodiscard]] std::optional<Sentence> faultOn(Microbatch microbatch, const Way& way, bool expect_backward) const {
        std::optional<Sentence> fault;
        anyOf(microbatch, way, [&](Rank rank, Op op) {
            const auto missing = missingIn(seen_[index(rank, op)], expect_backward);
            if (!missing) return false;
            op.kind = *missing;
            fault = layout_.placement == Placement::Moving ? opFault(op) : opFault(rank, op, false);
            return true;
        });
        return fault;
    }
    static std::optional<OpKind> missingIn(std::uint8_t seen, bool expect_backward) {
        const auto has = [seen](OpKind kind) { return (seen & bit(kind)) != 0; };
        if (!has(OpKind::Forward)) return OpKind::Forward;
        if (has(OpKind::Backward) || !expect_backward) return std::nullopt;
        const bool input = has(OpKind::BackwardInput);
        const bool weight = has(OpKind::BackwardWeight);
        if (input && weight) return std::nullopt;
        if (!input && !weight) return OpKind::Backward;
        return input ? OpKind::BackwardWeight : OpKind::BackwardInput;
    }

    const Layout& layout_;
    std::vector<std::uint8_t> seen_;
    std::optional<Sentence> fault_;
};

StepTimeline emptyStep(const Layout& layout, StepKey key) {
    StepTimeline step;
    step.index = static_cast<int>(key.first);
    step.replica = static_cast<int>(key.second);
    step.pp = layout.pp;
    step.microbatches = layout.microbatches;
    step.vpp = layout.vpp;
    step.placement = layout.placement;
    step.ranks.resize(static_cast<std::size_t>(layout.pp));
    step.comm.resize(static_cast<std::size_t>(layout.pp));
    return step;
}

/// Finds `key`. Checks its usual place first, because items of a rank are adjacent and in order of steps.
template <class Map, class Place>
Place findFrom(Map& map, Place known, const typename Map::key_type& key) {
    if (known != map.end()) {
        if (known->first == key) return known;
        if (++known != map.end() && known->first == key) return known;
    }
    return map.find(key);
}

/// The rank at the other end of a transfer; for a collective, the rank itself; nothing for stages that do not exist.
std::optional<Rank> peerOf(const FoundComm& comm, const Layout& layout) {
    if (layout.placement == Placement::Moving) return std::nullopt; // such records belong to no stage's rank
    const int stages = layout.pp * layout.vpp;
    const int last = stages - (joins(layout.placement) ? 0 : 1);
    if (comm.stage < 0 || comm.stage > last) return std::nullopt;
    const auto stage = static_cast<int>(comm.stage);
    const auto [producer, consumer] = transferStages(layout.placement, stages, comm.payload, stage);
    const int other = comm.kind == CommKind::Collective ? stage : comm.kind == CommKind::Send ? consumer : producer;
    if (other < 0 || other >= stages) return std::nullopt;
    return locate(layout.placement, layout.pp, Stage{other}).rank;
}

/// `rank` is that of the transfer's owner, if it has ops.
void addComm(const FoundComm& comm, std::optional<Rank> rank, const Layout& layout, StepTimeline& step,
             DiagnosticLog& log) {
    const auto peer = peerOf(comm, layout);
    if (!rank || !peer || comm.microbatch < 0 || comm.microbatch >= layout.microbatches || comm.sequence < 0 ||
        comm.sequence >= layout.slices) {
        log.add("stray-transfer", say("step {}, rank {}", comm.step.value(), comm.owner.value()),
                say("skipped transfers of stages or micro-batches without ops"));
        return;
    }
    CommSpan& span = step.comm[rank->index()].emplace_back(
        comm.kind, comm.payload, Microbatch{static_cast<std::int32_t>(comm.microbatch)},
        Stage{static_cast<std::int32_t>(comm.stage)}, *peer, comm.start, comm.end, comm.sequence);
    span.communicator = comm.communicator;
}

void cutOverlaps(std::vector<TimelineOp>& ops, int step, std::size_t rank, DiagnosticLog& log) {
    const auto cut = [&](TimelineOp& op, TimeNs free) {
        if (op.start >= free) return;
        log.add("overlapping-ops", say("step {}, rank {}, {}", step, rank, opName(op.op)),
                say("removed the start of ops that overlap the previous op on their rank"));
        op.start = free;
        op.end = std::max(op.end, free);
    };
    const auto pairBegins = [&](std::size_t i) {
        return i + 1 < ops.size() && ops[i].op.overlapped && ops[i + 1].op.overlapped &&
               ops[i].start == ops[i + 1].start;
    };
    for (std::size_t i = pairBegins(0) ? 2 : 1; i < ops.size(); ++i) {
        const TimeNs free = ops[i - 1].end;
        const bool pair = pairBegins(i);
        cut(ops[i], free);
        if (pair) cut(ops[++i], free);
    }
}

/// Sorting copies everything and is rarely needed, because most files are in order of time.
template <class T, class Before>
void sortUnlessSorted(std::vector<T>& items, const Before& before) {
    if (!std::is_sorted(items.begin(), items.end(), before)) std::stable_sort(items.begin(), items.end(), before);
}

void finishStep(StepTimeline& step, DiagnosticLog& log) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        sortUnlessSorted(step.ranks[r], [](const TimelineOp& a, const TimelineOp& b) {
            return std::pair(a.start, a.end) < std::pair(b.start, b.end);
        });
        sortUnlessSorted(step.comm[r], [](const CommSpan& a, const CommSpan& b) { return a.start < b.start; });
        cutOverlaps(step.ranks[r], step.index, r, log);
    }
    step.details.shrink_to_fit();
    step.fitWindow();
}

} // namespace

namespace {

/// Reports ranks of the first replica whose ops end in an earlier step than those of the others.
void reportEndedRanks(const std::map<StepKey, std::pair<StepTimeline, Tally>>& steps, DiagnosticLog& log) {
    std::vector<std::int64_t> last; // step number, by rank
    std::int64_t latest = -1;
    for (const auto& [key, entry] : steps) {
        if (key.second != 0) continue;
        last.resize(std::max(last.size(), entry.first.ranks.size()), -1);
        for (std::size_t r = 0; r < entry.first.ranks.size(); ++r) {
            if (entry.first.ranks[r].empty()) continue;
            last[r] = key.first;
            latest = std::max(latest, std::int64_t{key.first});
        }
    }
    for (std::size_t r = 0; r < last.size(); ++r) {
        if (last[r] < 0 || last[r] == latest) continue;
        log.add("rank-ended", say("rank {}", r),
                say("its records end in step {}, but those of other ranks in step {}", last[r], latest));
    }
}

} // namespace

Result<std::vector<StepTimeline>> assembleSteps(FoundOps found, const Layout& layout, const std::string& where,
                                                DiagnosticLog& log) {
    std::map<StepKey, std::pair<StepTimeline, Tally>> steps;
    bool any_backward = false;
    OpCounts op_counts;
    for (const BareFoundOp& op : found.ops)
        op_counts.add({op.step, op.replica}, op.owner);
    op_counts.finish();
    UsedMemory used;
    const auto nobody = layout.rank_of_owner.end();
    auto owner = nobody;
    auto known = steps.end();
    const auto take = [&](const FoundOpList& list, const BareFoundOp& op) {
        owner = findFrom(layout.rank_of_owner, owner, op.owner);
        if (owner == nobody) return; // an optimizer op on a rank without pipeline ops
        const Location place = layout.locate(op, found.parts);
        TimelineOp timed{
            {op.kind, Microbatch{static_cast<std::int32_t>(op.microbatch)}, place.chunk, op.sequence, op.overlapped},
            op.start,
            op.end};
        const StepKey key{op.step, op.replica};
        known = findFrom(steps, known, key);
        if (known == steps.end()) known = steps.try_emplace(key, emptyStep(layout, key), Tally(layout)).first;
        auto& [step, tally] = known->second;
        auto& ops = step.ranks[place.rank.index()];
        op_counts.reserve(key, op.owner, ops);
        step.setDetails(timed, list.detailsOf(op));
        ops.push_back(timed);
        tally.add(place.rank, timed.op);
        any_backward = any_backward || (op.kind != OpKind::Forward && op.kind != OpKind::Optimizer);
    };
    found.ops.consume([&](const FoundOpList& list) { // larger than the lists built from it
        used.giveBack();                             // the lists before it
        for (const BareFoundOp& op : list)
            take(list, op);
        used.add(list.size() * sizeof(BareFoundOp));
    });

    reportEndedRanks(steps, log);
    std::vector<StepTimeline> complete;
    std::optional<Sentence> first_fault;
    bool all_twice = true;
    std::map<StepKey, std::size_t> place_of_step;
    for (auto& [key, entry] : steps) {
        const auto fault = entry.second.fault(any_backward);
        if (!fault) {
            place_of_step[key] = complete.size();
            complete.push_back(std::move(entry.first));
            continue;
        }
        Diagnostic skipped = incompleteStep(key.first, key.second, *fault);
        if (!first_fault) first_fault = skipped.where;
        log.add(std::move(skipped.kind), std::move(skipped.where), std::move(skipped.message));
        all_twice = all_twice && entry.second.twice();
    }
    if (complete.empty()) {
        const std::string why = first_fault.value_or(say("none exists")).text();
        return inputError(
            where,
            steps.size() == 1 ? fmt::format("its only step is incomplete ({})", why)
                              : fmt::format("none of the {} steps is complete ({})", steps.size(), why),
            first_fault && all_twice
                ? "if the files belong to several runs, give only the files of one; `bubblescope diff` compares two"
                : "record at least one complete step on all pipeline ranks");
    }
    OpCounts comm_counts;
    for (const FoundComm& comm : found.comm)
        comm_counts.add({comm.step, comm.replica}, comm.owner);
    comm_counts.finish();
    auto place = place_of_step.end();
    const auto takeComm = [&](const FoundComm& comm) {
        place = findFrom(place_of_step, place, {comm.step, comm.replica});
        if (place == place_of_step.end()) return;
        owner = findFrom(layout.rank_of_owner, owner, comm.owner);
        StepTimeline& step = complete[place->second];
        if (owner != nobody && owner->second.index() < step.comm.size())
            comm_counts.reserve(place->first, comm.owner, step.comm[owner->second.index()]);
        addComm(comm, owner == nobody ? std::nullopt : std::optional(owner->second), layout, step, log);
    };
    found.comm.consume([&](const std::vector<FoundComm>& list) {
        used.giveBack();
        std::ranges::for_each(list, takeComm);
        used.add(list.size() * sizeof(FoundComm));
    });
    for (StepTimeline& step : complete)
        finishStep(step, log);
    return complete;
}

} // namespace bubblescope
