#include "core/recognise/fit_schedule.h"

#include "core/recognise/match_schedule.h"
#include "core/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

/// Fits this close to the best are considered equal.
constexpr double kAsGood = 0.95;
/// Maximum confidence of an order that no family has.
constexpr double kUnknownOrder = 0.5;
/// Factor for a group size other than p if peers are unknown: an interleaved order of p ranks looks like that if the
/// files of one are missing.
constexpr double kUnusualGroup = 0.75;
/// Below this the fit explains nothing.
constexpr double kMinConfidence = 0.5;

std::size_t countForwards(std::span<const ComputeBlock> blocks) {
    return static_cast<std::size_t>(
        std::count_if(blocks.begin(), blocks.end(), [](const ComputeBlock& block) { return !block.backward; }));
}

/// The number of a rank's forwards per step in most ranks and steps; 0 if most have no backwards for them.
int usualForwards(const ObservedPipeline& observed) {
    std::map<std::pair<std::size_t, std::size_t>, int> counts;
    for (const CutStep& step : observed.steps) {
        for (const auto& blocks : step.ranks) {
            const std::size_t forwards = countForwards(blocks);
            ++counts[{forwards, blocks.size() - forwards}];
        }
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end() || most->first.first != most->first.second) return 0;
    return static_cast<int>(most->first.first);
}

bool wholeBackwards(const Schedule& schedule) {
    return std::all_of(schedule.ranks.begin(), schedule.ranks.end(), [](const auto& ops) {
        return std::all_of(ops.begin(), ops.end(), [](const Op& op) {
            return (op.kind == OpKind::Forward || op.kind == OpKind::Backward) && !op.overlapped && op.sequence == 0;
        });
    });
}

/// Schedules of a family are generated in full only if a short one is of the right kind.
bool worthGenerating(ScheduleSpec spec) {
    spec.microbatches = std::min(spec.microbatches, 2 * spec.pp);
    const auto small = makeSchedule(spec);
    return !small.ok() || wholeBackwards(small.value());
}

/// Micro-batches that pass a chunk together, according to the warm-up of the last rank in interleaved orders; 0 if it
/// cannot be determined.
int shownGroup(const ObservedPipeline& observed, int vpp) {
    const auto& last = observed.steps.front().ranks.back();
    const auto first_backward =
        std::find_if(last.begin(), last.end(), [](const ComputeBlock& block) { return block.backward; });
    const auto warmup = static_cast<int>(first_backward - last.begin()) - 1;
    return vpp > 1 && warmup > 0 && warmup % (vpp - 1) == 0 ? warmup / (vpp - 1) : 0;
}

std::vector<ScheduleSpec> candidateSpecs(const ObservedPipeline& observed, int forwards) {
    std::vector<ScheduleSpec> specs;
    for (int vpp = 1; vpp <= std::min(forwards, kMaxChunks); ++vpp) {
        if (forwards % vpp != 0) continue;
        Schedule like;
        like.pp = observed.pp;
        like.microbatches = forwards / vpp;
        like.vpp = vpp;
        for (const Placement placement : {Placement::Loop, Placement::V}) {
            if (vpp == 1 && placement == Placement::V) continue; // same as a loop
            like.placement = placement;
            for (ScheduleSpec& spec : specsLike(like)) {
                if (!worthGenerating(spec)) continue;
                specs.push_back(spec);
                spec.group_size = shownGroup(observed, vpp);
                if (spec.group_size > 0 && spec.group_size != observed.pp) specs.push_back(spec);
            }
        }
    }
    return specs;
}

bool orderSeen(const ObservedPipeline& observed, const Schedule& schedule) {
    std::size_t fits = 0;
    std::size_t all = 0;
    for (const CutStep& step : observed.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto& ops = schedule.ranks[r];
            const auto& blocks = step.ranks[r];
            ++all;
            fits += std::equal(
                        blocks.begin(), blocks.end(), ops.begin(), ops.end(),
                        [](const auto& block, const Op& op) { return block.backward == (op.kind == OpKind::Backward); })
                        ? 1
                        : 0;
        }
    }
    return 2 * fits >= all;
}

std::string titleOf(const Schedule& schedule) {
    return fmt::format("{}{}{} (m {}, v {})", schedule.name, schedule.flavor.empty() ? "" : "/", schedule.flavor,
                       schedule.microbatches, schedule.vpp);
}

/// The most frequent order on each rank, with one stage per rank and micro-batches in sequence, as in any single-stage
/// schedule.
std::optional<Schedule> orderAsSeen(const ObservedPipeline& observed, int forwards) {
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = observed.pp;
    schedule.microbatches = forwards;
    for (std::size_t r = 0; r < static_cast<std::size_t>(observed.pp); ++r) {
        std::map<std::string, int> seen;
        for (const CutStep& step : observed.steps)
            ++seen[letters(step.ranks[r])];
        const auto most = std::max_element(seen.begin(), seen.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        int next[2] = {0, 0};
        auto& ops = schedule.ranks.emplace_back();
        for (const char letter : most->first) {
            const bool backward = letter == 'B';
            ops.push_back(
                {backward ? OpKind::Backward : OpKind::Forward, Microbatch{next[backward ? 1 : 0]++}, Chunk{0}});
        }
        if (next[0] != forwards || next[1] != forwards) return std::nullopt;
    }
    return schedule;
}

/// Sizes that a user left open are chosen for the best fit.
std::optional<ScheduleFit> fitFamily(const ObservedPipeline& observed, ScheduleSpec family, int forwards) {
    std::optional<ScheduleFit> best;
    family.pp = observed.pp;
    const ScheduleSpec open = family;
    for (int vpp = 1; vpp <= std::min(forwards, kMaxChunks); ++vpp) {
        if (open.vpp > 0 && vpp != open.vpp) continue;
        if (forwards % vpp != 0 || (open.microbatches > 0 && open.microbatches * vpp != forwards)) continue;
        family.vpp = vpp;
        family.microbatches = forwards / vpp;
        auto made = makeSchedule(family);
        if (!made.ok() || !wholeBackwards(made.value())) continue;
        ScheduleFit fit = evaluateFit(observed, std::move(made).value());
        if (!best || fit.confidence > best->confidence) best = std::move(fit);
    }
    return best;
}

} // namespace

std::optional<ScheduleFit> fitSchedule(const ObservedPipeline& observed, const LoadOptions& options) {
    if (observed.steps.empty()) return std::nullopt;
    if (options.schedule) return evaluateFit(observed, *options.schedule);
    const int forwards = usualForwards(observed);
    if (forwards == 0) return std::nullopt;
    if (options.family) return fitFamily(observed, *options.family, forwards);
    std::vector<ScheduleFit> fits;
    for (const ScheduleSpec& spec : candidateSpecs(observed, forwards)) {
        auto made = makeSchedule(spec);
        if (!made.ok() || !wholeBackwards(made.value()) || !orderSeen(observed, made.value())) continue;
        const bool known = std::any_of(fits.begin(), fits.end(), [&](const ScheduleFit& fit) {
            const Schedule& other = fit.schedule;
            return other.ranks == made.value().ranks && other.placement == made.value().placement;
        });
        if (known) continue;
        fits.push_back(evaluateFit(observed, std::move(made).value()));
        if (spec.group_size > 0 && !observed.ring) fits.back().confidence *= kUnusualGroup;
    }
    // If equal, the first stays first: fewer chunks, simpler families.
    std::stable_sort(fits.begin(), fits.end(),
                     [](const ScheduleFit& a, const ScheduleFit& b) { return a.confidence > b.confidence; });
    if (!fits.empty() && fits.front().confidence >= kMinConfidence) {
        ScheduleFit best = fits.front();
        for (std::size_t i = 1; i < fits.size() && fits[i].confidence >= kAsGood * fits.front().confidence; ++i)
            best.alternatives.push_back(titleOf(fits[i].schedule));
        best.confidence /= static_cast<double>(1 + best.alternatives.size());
        return best;
    }
    auto seen = orderAsSeen(observed, forwards);
    if (!seen) return std::nullopt;
    ScheduleFit own = evaluateFit(observed, std::move(*seen));
    if (own.confidence < kMinConfidence) return std::nullopt;
    own.confidence *= kUnknownOrder;
    return own;
}

namespace {

/// Kernels that do not need the input may start slightly before it arrives: by up to this fraction of a usual op.
constexpr int kEarly = 20;

/// A fraction that is 1 if there is nothing to count.
struct Fraction {
    double good = 0;
    double all = 0;
    void add(bool is_good) {
        good += is_good ? 1 : 0;
        all += 1;
    }
    [[nodiscard]] double value() const { return all == 0 ? 1 : good / all; }
};

bool inOrder(std::span<const ComputeBlock> blocks, const std::vector<Op>& ops) {
    return std::equal(
        blocks.begin(), blocks.end(), ops.begin(), ops.end(),
        [](const ComputeBlock& block, const Op& op) { return block.backward == (op.kind != OpKind::Forward); });
}

double orderFraction(const ObservedPipeline& observed, const Schedule& schedule) {
    Fraction fraction;
    for (const CutStep& step : observed.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r)
            fraction.add(inOrder(step.ranks[r], schedule.ranks[r]));
    }
    return fraction.value();
}

bool sends(const OpGraph& graph, OpIndex op) {
    const OpIndex to = graph.consumer(op);
    return to >= 0 && graph.rank(to) != graph.rank(op);
}

/// The first stage receives no activation and sends no gradient, the last stage the other way round: nothing should be
/// transferred at these places. A trace without the pipeline's first or last rank fails here. If the end ranks also
/// hold inner stages, these may transfer something there, so that only the very beginning is certain.
double endsFraction(const ObservedPipeline& observed, const OpGraph& graph, int vpp) {
    const int last_rank = graph.rankCount() - 1;
    double worst = 1;
    for (const Rank rank : {Rank{0}, Rank{last_rank}}) {
        Fraction fraction;
        for (const CutStep& step : observed.steps) {
            const auto& blocks = step.ranks[rank.index()];
            const OpIndex first = graph.firstOf(rank);
            if (blocks.size() != static_cast<std::size_t>(graph.endOf(rank) - first)) continue;
            for (OpIndex op = first; op < (vpp > 1 ? first + 1 : graph.endOf(rank)); ++op) {
                const OpIndex before = graph.previous(op);
                if (graph.receives(op) || (before != kNoOp && sends(graph, before))) continue;
                fraction.add(!blocks[static_cast<std::size_t>(op - first)].transfer_before);
            }
        }
        worst = std::min(worst, fraction.value());
    }
    return worst;
}

using Assignment = std::vector<std::vector<std::size_t>>; ///< per rank; empty if the numbers of ops differ

Assignment assign(const CutStep& step, const Schedule& schedule) {
    Assignment blocks;
    for (std::size_t r = 0; r < step.ranks.size(); ++r)
        blocks.push_back(assignBlocks(step.ranks[r], schedule.ranks[r]));
    return blocks;
}

void countLinks(const CutStep& step, const Schedule& schedule, const Assignment& assignment, Fraction& fraction) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto& ops = schedule.ranks[r];
        std::vector<std::size_t> op_of_block(step.ranks[r].size());
        for (std::size_t i = 0; i < assignment[r].size(); ++i)
            op_of_block[assignment[r][i]] = i;
        for (std::size_t i = 0; i < assignment[r].size(); ++i) {
            const auto& forward = step.ranks[r][assignment[r][i]].forward;
            if (!forward) continue;
            const Op& linked = ops[op_of_block[*forward]];
            fraction.add(linked.microbatch == ops[i].microbatch && linked.chunk == ops[i].chunk);
        }
    }
}

/// The range by which a rank's clock may be ahead of another's, bounded by the transfers between them.
struct Offsets {
    std::int64_t least = INT64_MIN;
    std::int64_t most = INT64_MAX;
};

/// Clocks of different hosts differ, but the difference is constant within a step, so one shift must fit all its
/// transfers.
void countCausality(const CutStep& step, const OpGraph& graph, const Assignment& assignment, Fraction& fraction) {
    std::map<std::pair<std::int32_t, std::int32_t>, Offsets> pairs;
    std::vector<std::int64_t> lasts;
    const auto workOf = [&](OpIndex op) -> const GpuWork::Span* {
        const std::size_t r = graph.rank(op).index();
        if (assignment[r].empty()) return nullptr;
        const auto place = static_cast<std::size_t>(op - graph.firstOf(graph.rank(op)));
        return &step.ranks[r][assignment[r][place]].work;
    };
    for (OpIndex op = 0; op < graph.size(); ++op) {
        const GpuWork::Span* const consumer = workOf(op);
        if (consumer == nullptr) continue;
        lasts.push_back((consumer->end - consumer->start).count());
        if (!graph.receives(op)) continue;
        const OpIndex from = graph.producers(op).stage;
        const GpuWork::Span* const producer = workOf(from);
        if (producer == nullptr) continue;
        const std::int64_t slack = (consumer->start - producer->end).count();
        const std::int32_t a = graph.rank(from).value;
        const std::int32_t b = graph.rank(op).value;
        Offsets& offsets = pairs[std::minmax(a, b)];
        if (a < b)
            offsets.least = std::max(offsets.least, -slack);
        else
            offsets.most = std::min(offsets.most, slack);
    }
    if (lasts.empty()) return;
    const auto middle = lasts.begin() + static_cast<std::ptrdiff_t>(lasts.size() / 2);
    std::nth_element(lasts.begin(), middle, lasts.end());
    for (const auto& [ranks, offsets] : pairs) {
        if (offsets.least == INT64_MIN || offsets.most == INT64_MAX) continue; // no transfer constrains the shift
        fraction.add(offsets.least <= offsets.most + *middle / kEarly);
    }
}

/// A send follows the op that produced its payload, either immediately or, if sends are batched, with the send of the
/// next op.
void countSends(const CutStep& step, const OpGraph& graph, const Assignment& assignment, Fraction& fraction) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        int expected = 0;
        int seen = 0;
        for (std::size_t i = 1; i < assignment[r].size(); ++i) {
            expected += sends(graph, graph.firstOf(Rank{r}) + static_cast<OpIndex>(i - 1)) ? 1 : 0;
            seen += step.ranks[r][i].sends_before;
            fraction.add(std::abs(expected - seen) <= 1);
        }
    }
}

} // namespace

std::vector<std::size_t> assignBlocks(std::span<const ComputeBlock> blocks, const std::vector<Op>& ops) {
    std::vector<std::size_t> of_kind[2];
    for (std::size_t i = 0; i < blocks.size(); ++i)
        of_kind[blocks[i].backward ? 1 : 0].push_back(i);
    std::vector<std::size_t> assigned;
    std::size_t next[2] = {0, 0};
    for (const Op& op : ops) {
        const std::size_t kind = op.kind == OpKind::Forward ? 0 : 1;
        if (next[kind] == of_kind[kind].size()) return {};
        assigned.push_back(of_kind[kind][next[kind]++]);
    }
    return assigned.size() == blocks.size() ? assigned : std::vector<std::size_t>{};
}

ScheduleFit evaluateFit(const ObservedPipeline& observed, Schedule schedule) {
    ScheduleFit fit;
    const OpGraph graph(schedule);
    fit.order = orderFraction(observed, schedule);
    fit.ends = endsFraction(observed, graph, schedule.vpp);
    Fraction links;
    Fraction causality;
    Fraction calls;
    for (const CutStep& step : observed.steps) {
        const Assignment assignment = assign(step, schedule);
        countLinks(step, schedule, assignment, links);
        countCausality(step, graph, assignment, causality);
        if (observed.sends_marked) countSends(step, graph, assignment, calls);
    }
    fit.links = links.value();
    fit.causality = causality.value();
    fit.calls = calls.value();
    // In a loop, the last rank sends to the first once for each chunk after the first.
    const bool closes = schedule.placement == Placement::Loop && schedule.vpp > 1;
    if (observed.ring && *observed.ring != closes) fit.calls = 0;
    fit.confidence = fit.order * fit.ends * fit.links * fit.causality * fit.calls;
    fit.schedule = std::move(schedule);
    return fit;
}

} // namespace bubblescope
