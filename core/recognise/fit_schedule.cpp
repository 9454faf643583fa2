#include "core/recognise/fit_schedule.h"

#include "core/recognise/match_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

/// With more chunks per rank than this, the ops of a step are taken for micro-batches.
constexpr int kMaxChunks = 64;
/// Fits this close to the best are considered equal.
constexpr double kAsGood = 0.95;
/// Maximum confidence of an order that no family has.
constexpr double kUnknownOrder = 0.5;
/// Factor for a group size other than p if peers are unknown: an interleaved order of p ranks looks like that if the
/// files of one are missing.
constexpr double kUnusualGroup = 0.75;
/// Below this nothing is explained.
constexpr double kLeast = 0.5;

std::size_t countForwards(std::span<const ComputeBlock> blocks) {
    return static_cast<std::size_t>(
        std::count_if(blocks.begin(), blocks.end(), [](const ComputeBlock& block) { return !block.backward; }));
}

/// A rank's forwards per step in most ranks and steps; 0 if most have no backwards for them.
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
bool worthMaking(ScheduleSpec spec) {
    spec.microbatches = std::min(spec.microbatches, 2 * spec.pp);
    const auto small = makeSchedule(spec);
    return !small.ok() || wholeBackwards(small.value());
}

/// Micro-batches that pass a chunk together, as the warm-up of the last rank shows in interleaved orders; 0 if it does
/// not.
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
            if (vpp == 1 && placement == Placement::V) continue; // the same as a loop
            like.placement = placement;
            for (ScheduleSpec& spec : specsLike(like)) {
                if (!worthMaking(spec)) continue;
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

/// The most frequent order on each rank, with one stage on each and micro-batches in turn: what any schedule of single
/// stages does.
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

/// Sizes that a user left open are those that fit best.
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
        ScheduleFit fit = judge(observed, std::move(made).value());
        if (!best || fit.confidence > best->confidence) best = std::move(fit);
    }
    return best;
}

} // namespace

std::optional<ScheduleFit> fitSchedule(const ObservedPipeline& observed, const LoadOptions& options) {
    if (observed.steps.empty()) return std::nullopt;
    if (options.schedule) return judge(observed, *options.schedule);
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
        fits.push_back(judge(observed, std::move(made).value()));
        if (spec.group_size > 0 && !observed.ring) fits.back().confidence *= kUnusualGroup;
    }
    // Of equals the first stays first: fewer chunks, plainer families.
    std::stable_sort(fits.begin(), fits.end(),
                     [](const ScheduleFit& a, const ScheduleFit& b) { return a.confidence > b.confidence; });
    if (!fits.empty() && fits.front().confidence >= kLeast) {
        ScheduleFit best = fits.front();
        for (std::size_t i = 1; i < fits.size() && fits[i].confidence >= kAsGood * fits.front().confidence; ++i)
            best.alternatives.push_back(titleOf(fits[i].schedule));
        best.confidence /= static_cast<double>(1 + best.alternatives.size());
        return best;
    }
    auto seen = orderAsSeen(observed, forwards);
    if (!seen) return std::nullopt;
    ScheduleFit own = judge(observed, std::move(*seen));
    if (own.confidence < kLeast) return std::nullopt;
    own.confidence *= kUnknownOrder;
    return own;
}

} // namespace bubblescope
