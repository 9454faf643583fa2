#include "core/optimize/advice/advise.h"

#include "core/analysis/whatif/run_graph.h"
#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/advice/searched_order.h"
#include "core/optimize/partition/optimise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

constexpr double kMinGain = 0.005;
/// Larger orders are not tried, because hundreds are simulated.
constexpr std::size_t kMaxOps = 400'000;
/// For each search for the best split of layers: a fraction of a second.
constexpr std::int64_t kPartitionEffort = 20'000'000;
constexpr std::size_t kSplitsTried = 4;
constexpr double kMaxCost = 0.05; ///< of orders that need less memory
constexpr double kMinSaved = 0.02;
constexpr std::size_t kMostSavers = 3;

struct Candidate {
    PipelineChange change;
    Schedule schedule;
    TimeNs wall{0};
    HeldMemory memory;
};

LayerSizes divided(LayerSizes sizes, int by) {
    sizes.activation /= by;
    sizes.until_weight_grad /= by;
    sizes.forward_workspace /= by;
    sizes.backward_workspace /= by;
    return sizes;
}

/// Leaves `bytes` empty.
HeldMemory heldAtPeak(const Schedule& schedule, int split) {
    HeldMemory held;
    held.copies = routes(schedule.placement);
    const double fraction = static_cast<double>(held.copies) / schedule.vpp / split;
    for (const int peak : peakActivations(schedule))
        held.activations = std::max(held.activations, peak * fraction);
    return held;
}

class Search {
public:
    Search(const MeanPipeline& pipeline, const RunModel& run, const ModelCut& cut, const AdviceOptions& options,
           const JobControl& control)
        : pipeline_(pipeline), run_(run), cut_(cut), options_(options), control_(control) {}

    Result<Candidate> currentOrder() {
        BUBBLESCOPE_ASSIGN(auto candidate, attempt({}));
        if (!candidate) return usageError("the run's order cannot be simulated");
        return std::move(*candidate);
    }

    Status tryAll(const Candidate& present) {
        std::set<int> chunks{1, 2, 4};
        chunks.insert(run_.vpp);
        for (const ScheduleFamily& family : scheduleFamilies()) {
            if (trainsWithDelay(family.name)) continue;
            for (const std::string_view flavor : flavorsOf(family)) {
                for (const int vpp : chunks) {
                    for (const int split : {1, 2}) {
                        PipelineChange change;
                        change.schedule = family.name;
                        change.flavor = flavor;
                        change.vpp = vpp;
                        change.split = split;
                        BUBBLESCOPE_TRY(keep(change));
                    }
                }
            }
        }
        if (cut_.layers.empty()) return {};
        sort();
        std::vector<PipelineChange> bases{{}};
        for (std::size_t i = 0; i < std::min(kSplitsTried, found_.size()); ++i)
            bases.push_back(found_[i].change);
        for (PipelineChange& base : bases) {
            const Schedule& schedule = base.any() ? scheduleOf(base) : present.schedule;
            if (bestLayers(schedule, base)) BUBBLESCOPE_TRY(keep(base));
        }
        return {};
    }

    /// Predicts the step with half as many micro-batches and today's op times, with which the step scales.
    Result<std::optional<LargerMicrobatches>> larger(const Candidate& present) {
        if (run_.microbatches % 2 != 0) return std::optional<LargerMicrobatches>{};
        PipelineChange change;
        change.microbatches = run_.microbatches / 2;
        BUBBLESCOPE_ASSIGN(auto half, attempt(change));
        if (!half || half->wall <= TimeNs{0}) return std::optional<LargerMicrobatches>{};
        LargerMicrobatches result{*change.microbatches, 1, std::move(half->memory)};
        result.break_even = static_cast<double>(present.wall.count()) / static_cast<double>(half->wall.count());
        result.memory.activations *= 2;
        result.memory.bytes.reset(); // sizes are for the observed micro-batch
        return std::optional(std::move(result));
    }

    /// Sorts by step time, then by number of changes.
    void sort() {
        const auto weight = [](const Candidate& c) {
            return std::tuple(c.wall, c.change.split, c.schedule.vpp, c.memory.activations);
        };
        std::ranges::stable_sort(found_, [&](const Candidate& a, const Candidate& b) { return weight(a) < weight(b); });
    }

    [[nodiscard]] const std::vector<Candidate>& found() const { return found_; }
    [[nodiscard]] int tried() const { return tried_; }

    /// Empty if sizes are unknown.
    [[nodiscard]] Result<std::optional<MemoryModel>> modelOf(const Schedule& schedule,
                                                             const PipelineChange& change) const {
        if (!options_.sizes) return std::optional<MemoryModel>{};
        ModelSizes sizes = *options_.sizes;
        const auto stages = static_cast<std::size_t>(schedule.stages() / routes(schedule.placement));
        if (!change.layers.empty())
            sizes.layers_per_stage = change.layers;
        else if (cut_.layers.size() == stages)
            sizes.layers_per_stage = cut_.layers;
        else if (sizes.layers_per_stage.size() != stages)
            sizes.layers_per_stage.clear();
        for (LayerSizes& layer : sizes.layers)
            layer = divided(layer, change.split);
        sizes.first = divided(sizes.first, change.split);
        sizes.last = divided(sizes.last, change.split);
        BUBBLESCOPE_ASSIGN(MemoryModel model, memoryModel(sizes, schedule));
        return std::optional(std::move(model));
    }
    [[nodiscard]] Result<HeldMemory> memoryOf(const Schedule& schedule, const PipelineChange& change) const {
        HeldMemory held = heldAtPeak(schedule, change.split);
        BUBBLESCOPE_ASSIGN(const std::optional<MemoryModel> model, modelOf(schedule, change));
        if (!model) return held;
        held.bytes = 0;
        for (const RankMemory& rank : memoryUse(schedule, *model))
            held.bytes = std::max(*held.bytes, rank.peak());
        return held;
    }

    /// Empty if the family does not support these sizes, or the budget is exceeded.
    Result<std::optional<Candidate>> attempt(const PipelineChange& change) {
        if (control_.stopRequested()) return cancelledError();
        auto made = pipeline_.schedule(change);
        if (!made.ok()) return std::optional<Candidate>{};
        Candidate candidate{change, std::move(made).value(), TimeNs{0}, {}};
        const Schedule& schedule = candidate.schedule;
        const int stages = schedule.stages() / routes(schedule.placement);
        int layers = std::accumulate(cut_.layers.begin(), cut_.layers.end(), 0);
        if (layers == 0 && options_.sizes) layers = static_cast<int>(options_.sizes->layers.size());
        if (schedule.opCount() > kMaxOps || (layers > 0 && stages > layers)) return std::optional<Candidate>{};
        BUBBLESCOPE_ASSIGN(candidate.memory, memoryOf(schedule, change));
        const bool fits = !options_.budget || !candidate.memory.bytes || *candidate.memory.bytes <= *options_.budget;
        if (!fits && change.any()) return std::optional<Candidate>{};
        ++tried_;
        const auto step = simulate(schedule, pipeline_.costsWithGaps(schedule, change));
        if (!step.ok()) return std::optional<Candidate>{};
        candidate.wall = step.value().wall();
        return std::optional(std::move(candidate));
    }

private:
    Status keep(const PipelineChange& change) {
        BUBBLESCOPE_ASSIGN(auto candidate, attempt(change));
        if (candidate) found_.push_back(std::move(*candidate));
        return {};
    }

    [[nodiscard]] const Schedule& scheduleOf(const PipelineChange& change) const {
        const auto same = [&](const Candidate& c) {
            return std::tie(c.change.schedule, c.change.flavor, c.change.vpp, c.change.split) ==
                   std::tie(change.schedule, change.flavor, change.vpp, change.split);
        };
        return std::ranges::find_if(found_, same)->schedule;
    }

    /// Stores the split of the layers with the shortest step in `change`; false if there is no choice.
    bool bestLayers(const Schedule& schedule, PipelineChange& change) const {
        std::vector<Layer> layers;
        for (const OpTimes& times : pipeline_.layerTimes(change))
            layers.push_back({"", times, 0});
        PartitionOptions partition;
        partition.comm = pipeline_.costs(schedule, change).comm;
        partition.effort = kPartitionEffort;
        const auto best = optimisePartition(schedule, layers, partition);
        if (!best.ok() || best.value().best.partition.layers_per_stage == cut_.layers) return false;
        change.layers = best.value().best.partition.layers_per_stage;
        return true;
    }

    const MeanPipeline& pipeline_;
    const RunModel& run_;
    const ModelCut& cut_;
    const AdviceOptions& options_;
    const JobControl& control_;
    std::vector<Candidate> found_;
    int tried_ = 0;
};

std::vector<std::string> textsOf(const PipelineChange& change) {
    std::vector<std::string> texts;
    if (!change.schedule.empty()) {
        texts.push_back(
            fmt::format("schedule={}{}{}", change.schedule, change.flavor.empty() ? "" : "/", change.flavor));
    }
    if (change.vpp) texts.push_back(fmt::format("vpp={}", *change.vpp));
    if (change.split > 1) texts.push_back(fmt::format("split={}", change.split));
    if (!change.layers.empty()) texts.push_back(fmt::format("layers={}", fmt::join(change.layers, ",")));
    return texts;
}

/// Candidates worth predicting, in order of their time.
std::vector<const Candidate*> chosen(const std::vector<Candidate>& found, const Candidate& present,
                                     std::size_t max_suggestions) {
    std::vector<const Candidate*> kept;
    // One flavor represents its family, at its chunks and micro-batches.
    std::set<std::tuple<std::string, int, int, bool>> seen;
    const auto take = [&](std::size_t count, auto accepts) {
        for (const Candidate& c : found) {
            const double gain = 1 - static_cast<double>(c.wall.count()) / static_cast<double>(present.wall.count());
            if (count == 0 || gain < kMinGain) break;
            if (!accepts(c)) continue;
            if (!seen.insert({c.schedule.name, c.schedule.vpp, c.change.split, !c.change.layers.empty()}).second)
                continue;
            kept.push_back(&c);
            --count;
        }
    };
    const auto oneModel = [&](const Candidate& c) { return c.memory.copies <= present.memory.copies; };
    const auto whole = [&](const Candidate& c) { return oneModel(c) && c.change.split == 1; };
    const auto withinPresentMemory = [&](const Candidate& c) {
        return whole(c) && c.memory.activations <= present.memory.activations + 1e-9;
    };
    const std::size_t third = std::max<std::size_t>(max_suggestions / 3, 1);
    take(1, [&](const Candidate& c) { return c.change.schedule.empty(); }); // only layers change
    take(third, withinPresentMemory);
    take(third, whole);
    take(1, [&](const Candidate& c) { return !oneModel(c); });
    take(max_suggestions > kept.size() ? max_suggestions - kept.size() : 0, oneModel);
    return kept;
}

Effort effortOf(const Candidate& candidate, const Candidate& present) {
    if (candidate.memory.copies > present.memory.copies) return Effort::Copies;
    if (candidate.change.schedule.empty()) return Effort::Balance;
    const bool same_size = candidate.schedule.vpp == present.schedule.vpp && candidate.change.split == 1;
    return same_size ? Effort::Order : Effort::Chunks;
}

/// A change of times that keeps the order; none if that gains nothing.
Result<std::optional<Suggestion>> inSameOrder(const RunModel& run, const Schedule& order, const ModelCut& cut,
                                              const HeldMemory& present, Effort effort, std::string change) {
    Suggestion suggestion;
    suggestion.effort = effort;
    suggestion.texts = {std::move(change)};
    suggestion.memory = present;
    suggestion.frameworks = frameworksOf(order.name, order.flavor);
    BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(suggestion.texts));
    BUBBLESCOPE_ASSIGN(suggestion.prediction, predict(run, order, scenario, cut));
    if (suggestion.prediction.relativeChange() > -kMinGain) return std::optional<Suggestion>{};
    return std::optional(std::move(suggestion));
}

bool blocksRanks(const RunModel& run) {
    for (NodeId id = 0; id < run.graph().size(); ++id) {
        if (run.graph().node(id).op == RunOp::Blocked) return true;
    }
    return false;
}

/// True if `a` is at least as good as `b` in every respect and better in at least one, for example if more frameworks
/// implement it.
bool dominates(const Suggestion& a, const Suggestion& b) {
    if (std::min(a.effort, b.effort) < Effort::Order) return false; // a different kind of work
    if (a.searched && !b.searched) return false;                    // it must be loaded from a file
    const auto costs = [](const Suggestion& s) {
        return std::array<double, 5>{static_cast<double>(s.prediction.after.count()), s.memory.activations,
                                     static_cast<double>(s.memory.copies), static_cast<double>(s.change.split),
                                     static_cast<double>(s.prediction.schedule ? s.prediction.schedule->vpp : 1)};
    };
    const auto ours = costs(a);
    const auto theirs = costs(b);
    const bool no_worse = std::ranges::equal(ours, theirs, std::less_equal{});
    return no_worse && a.change.layers.empty() >= b.change.layers.empty() &&
           (ours != theirs || a.frameworks.size() > b.frameworks.size() ||
            (a.frameworks.size() == b.frameworks.size() && a.texts < b.texts));
}

bool isWithinError(const Suggestion& suggestion) {
    return -suggestion.prediction.change() <= suggestion.prediction.bar.time;
}

/// Recommends the shortest suggestion without a drawback, or the shortest of all if all have drawbacks.
void recommend(Advice& advice) {
    if (advice.suggestions.empty()) return;
    const HeldMemory& now = advice.present;
    const auto fits = [&now](const Suggestion& suggestion) {
        const HeldMemory& held = suggestion.memory;
        const bool more_bytes = held.bytes && now.bytes && *held.bytes > *now.bytes;
        return !suggestion.frameworks.empty() && held.copies <= now.copies && !more_bytes &&
               held.activations <= now.activations + 1e-9;
    };
    const auto found = std::ranges::find_if(advice.suggestions, fits);
    if (found == advice.suggestions.end()) {
        advice.why = say("it is the shortest; every order needs more memory, needs two copies of the model, or is not "
                         "supported by any framework");
        return;
    }
    advice.recommended = static_cast<std::size_t>(found - advice.suggestions.begin());
    advice.why = advice.recommended == 0
                     ? say("it is the shortest, needs no more memory than now, and is supported by a framework")
                     : say("it is the shortest order that a framework supports and that needs no more memory than now");
}

/// Adds the orders that were searched; the second, with another split, only if that makes the step shorter.
Status adviseSearched(const MeanPipeline& pipeline, const Search& memory, const RunModel& run, const Schedule& order,
                      const ModelCut& cut, const AdviceOptions& options, const JobControl& control, Advice& advice) {
    BUBBLESCOPE_ASSIGN(std::vector<SearchedChange> found,
                       searchOrdersAndSplits(pipeline, order, cut, *options.search_time, control));
    std::optional<TimeNs> with_present_split;
    for (SearchedChange& each : found) {
        Scenario scenario;
        scenario.pipeline = each.change;
        BUBBLESCOPE_ASSIGN(Prediction prediction, predict(run, order, scenario, cut));
        if (each.change.layers.empty()) with_present_split = prediction.predicted();
        const TimeNs adds = with_present_split.value_or(prediction.predicted()) - prediction.predicted();
        const bool gains = each.change.layers.empty() || adds > TimeNs{0};
        if (prediction.relativeChange() > -kMinGain || !gains) continue;
        BUBBLESCOPE_ASSIGN(HeldMemory held, memory.memoryOf(*each.change.order, each.change));
        if (options.budget && held.bytes && *held.bytes > *options.budget) continue;
        if (!each.change.layers.empty()) advice.split_adds = adds;
        const bool in_torch = order.placement == Placement::Loop || order.vpp <= 2;
        std::vector<std::string> texts = textsOf(each.change);
        texts.insert(texts.begin(), fmt::format("schedule-file={}searched{}.csv", options.order_folder,
                                                each.change.layers.empty() ? "" : "-split"));
        advice.suggestions.push_back({Effort::Order,
                                      std::move(each.change),
                                      std::move(texts),
                                      std::move(prediction),
                                      std::move(held),
                                      in_torch ? std::vector<std::string>{"PyTorch"} : std::vector<std::string>{},
                                      {},
                                      std::move(each.known)});
    }
    return {};
}

/// Memory in bytes if known, otherwise in activations.
double amountOf(const HeldMemory& memory) {
    return memory.bytes ? static_cast<double>(*memory.bytes) : memory.activations;
}

/// An order that needs less memory.
struct Saver {
    Candidate candidate;
    std::optional<Searched> searched;
};

/// Families, and orders searched with 10 % and 25 % less memory.
Result<std::vector<Saver>> lessMemory(const MeanPipeline& pipeline, Search& search, const Candidate& present,
                                      const Schedule& order, const AdviceOptions& options, const JobControl& control) {
    std::vector<Saver> savers;
    for (const Candidate& each : search.found()) {
        if (each.change.layers.empty() && effortOf(each, present) == Effort::Order) savers.push_back({each, {}});
    }
    BUBBLESCOPE_ASSIGN(const std::optional<MemoryModel> model, search.modelOf(order, {}));
    const int peak = std::ranges::max(peakActivations(order));
    for (const double share : {0.9, 0.75}) {
        if (!options.search_time) break;
        MemoryLimits limits;
        if (model && present.memory.bytes) {
            limits.model = model;
            limits.bytes = {static_cast<std::int64_t>(share * static_cast<double>(*present.memory.bytes))};
        } else {
            limits.activations = {std::max(1, static_cast<int>(share * peak))};
        }
        BUBBLESCOPE_ASSIGN(const std::optional<SearchedChange> found,
                           searchOrderWithin(pipeline, order, limits, *options.search_time / 2, control));
        if (!found) continue;
        BUBBLESCOPE_ASSIGN(std::optional<Candidate> candidate, search.attempt(found->change));
        if (candidate) savers.push_back({std::move(*candidate), found->known});
    }
    std::erase_if(savers, [&](const Saver& saver) {
        const HeldMemory& memory = saver.candidate.memory;
        return memory.copies > present.memory.copies || amountOf(memory) > (1 - kMinSaved) * amountOf(present.memory);
    });
    // More memory must make the step shorter; a searched order must be loaded from a file.
    std::ranges::stable_sort(savers, {}, [](const Saver& saver) {
        return std::tuple(amountOf(saver.candidate.memory), saver.candidate.wall, saver.searched.has_value());
    });
    std::vector<Saver> front;
    for (Saver& saver : savers) {
        if (front.empty() || saver.candidate.wall < front.back().candidate.wall) front.push_back(std::move(saver));
    }
    std::ranges::reverse(front);
    return front;
}

/// Adds orders that need less memory and hardly take longer, after the suggestions.
Status adviseLessMemory(const MeanPipeline& pipeline, Search& search, const Candidate& present, const RunModel& run,
                        const Schedule& order, const ModelCut& cut, const AdviceOptions& options,
                        const JobControl& control, Advice& advice) {
    BUBBLESCOPE_ASSIGN(const std::vector<Saver> savers, lessMemory(pipeline, search, present, order, options, control));
    for (const Saver& saver : savers) {
        if (advice.less_memory.size() == kMostSavers) break;
        const Candidate& candidate = saver.candidate;
        if (fractionOf(candidate.wall - present.wall, present.wall) > kMaxCost) continue;
        Scenario scenario;
        scenario.pipeline = candidate.change;
        BUBBLESCOPE_ASSIGN(Prediction prediction, predict(run, order, scenario, cut));
        if (prediction.relativeChange() > kMaxCost) continue;
        Suggestion suggestion{
            Effort::Order, candidate.change, textsOf(candidate.change), std::move(prediction), candidate.memory, {}, {},
            saver.searched};
        if (saver.searched)
            suggestion.texts = {
                fmt::format("schedule-file={}searched-less{}.csv", options.order_folder,
                            advice.less_memory.empty() ? "" : fmt::format("-{}", advice.less_memory.size() + 1))};
        else
            suggestion.frameworks = frameworksOf(candidate.schedule.name, candidate.schedule.flavor);
        const bool suggested = std::ranges::any_of(
            advice.suggestions, [&](const Suggestion& other) { return other.texts == suggestion.texts; });
        if (!suggested) advice.less_memory.push_back(std::move(suggestion));
    }
    return {};
}

/// Adds predictions for other orders.
Status adviseOrders(const MeanPipeline& pipeline, const RunModel& run, const Schedule& order, const ModelCut& cut,
                    const AdviceOptions& options, const JobControl& control, Advice& advice) {
    Search search(pipeline, run, cut, options, control);
    BUBBLESCOPE_ASSIGN(const Candidate present, search.currentOrder());
    BUBBLESCOPE_TRY(search.tryAll(present));
    search.sort();
    advice.present = present.memory;
    BUBBLESCOPE_ASSIGN(advice.larger, search.larger(present));
    advice.tried = search.tried();
    for (const Candidate* candidate : chosen(search.found(), present, options.max_suggestions)) {
        if (control.stopRequested()) return cancelledError();
        Scenario scenario;
        scenario.pipeline = candidate->change;
        BUBBLESCOPE_ASSIGN(Prediction prediction, predict(run, order, scenario, cut));
        if (prediction.relativeChange() > -kMinGain) continue;
        const Schedule& runs = candidate->change.schedule.empty() ? order : candidate->schedule;
        advice.suggestions.push_back({effortOf(*candidate, present),
                                      candidate->change,
                                      textsOf(candidate->change),
                                      std::move(prediction),
                                      candidate->memory,
                                      frameworksOf(runs.name, runs.flavor),
                                      {}});
    }
    BUBBLESCOPE_TRY(adviseLessMemory(pipeline, search, present, run, order, cut, options, control, advice));
    if (!options.search_time) return {};
    return adviseSearched(pipeline, search, run, order, cut, options, control, advice);
}

void dropDominated(std::vector<Suggestion>& suggestions) {
    std::vector<char> dominated(suggestions.size(), 0);
    for (std::size_t b = 0; b < suggestions.size(); ++b) {
        dominated[b] =
            std::ranges::any_of(suggestions, [&](const Suggestion& a) { return dominates(a, suggestions[b]); }) ? 1 : 0;
    }
    std::vector<Suggestion> kept;
    for (std::size_t i = 0; i < suggestions.size(); ++i) {
        if (dominated[i] == 0) kept.push_back(std::move(suggestions[i]));
    }
    suggestions = std::move(kept);
}

} // namespace

std::string_view effortName(Effort effort) {
    switch (effort) {
    case Effort::Balance: return "balance";
    case Effort::Transfers: return "transfers";
    case Effort::Order: return "order";
    case Effort::Chunks: return "chunks";
    case Effort::Copies: return "copies";
    }
    return "";
}

std::vector<std::string> frameworksOf(std::string_view schedule, std::string_view flavor) {
    struct Shipped {
        std::string_view schedule;
        std::string_view flavor; ///< empty = any
        std::vector<std::string> by;
    };
    static const std::array<Shipped, 28> kShipped{{
        {"fthenb", "", {"PyTorch", "Paddle"}},
        {"1f1b", "", {"Megatron", "PyTorch", "Paddle", "DeepSpeed"}},
        {"eager-1f1b", "", {"Paddle"}},
        {"interleaved", "megatron", {"Megatron"}},
        {"interleaved", "torch", {"PyTorch"}},
        {"interleaved", "paddle-static", {"Paddle"}},
        {"interleaved", "paddle-dynamic", {"Paddle"}},
        {"interleaved", "paddle-dynamic-best-unbalanced", {"Paddle"}},
        {"interleaved-fthenb", "", {"Paddle"}},
        {"vpp-balanced-memory", "", {"Paddle"}},
        {"looped-bfs", "torch", {"PyTorch"}},
        {"interleaved-zb", "torch", {"PyTorch"}},
        {"zb-h1", "paddle", {"Paddle"}},
        {"zb-v", "torch", {"PyTorch"}},
        {"zb-v", "paddle", {"Paddle"}},
        {"dualpipe", "", {"DeepSeek"}},
        {"dualpipev", "deepseek", {"DeepSeek"}},
        {"dualpipev", "torch", {"PyTorch"}},
        {"dualpipev", "paddle", {"Paddle"}},
        {"interleaved-overlap", "", {"Megatron"}},
        {"zb-h2", "", {"sail-sg"}},
        {"zb-h1", "handcrafted", {"sail-sg"}},
        {"zb-v", "greedy", {"sail-sg"}},
        {"zb-v", "handcrafted", {"sail-sg"}},
        {"v-half", "", {"sail-sg"}},
        {"v-min", "", {"sail-sg"}},
        {"v-1f1b", "", {"sail-sg"}},
        {"zb-auto", "", {"sail-sg"}},
    }};
    std::string_view used = flavor;
    const ScheduleFamily* const family = findScheduleFamily(schedule);
    if (family != nullptr && used.empty() && !family->flavors.empty()) used = family->flavors.front();
    std::vector<std::string> frameworks;
    for (const Shipped& shipped : kShipped) {
        if (shipped.schedule == schedule && (shipped.flavor.empty() || shipped.flavor == used))
            frameworks.insert(frameworks.end(), shipped.by.begin(), shipped.by.end());
    }
    return frameworks;
}

Result<Advice> advise(const RunModel& run, const Schedule& order, const ModelCut& cut, const AdviceOptions& options,
                      std::optional<double> most_error, const JobControl& control) {
    BUBBLESCOPE_TRY(checkError(run, most_error)); // before anything is tried
    Advice advice;
    const Result<MeanPipeline> pipeline = MeanPipeline::of(run, order, cut);
    if (!pipeline.ok() && pipeline.error().kind != ErrorKind::Input) return pipeline.error();
    if (pipeline.ok()) {
        BUBBLESCOPE_TRY(adviseOrders(pipeline.value(), run, order, cut, options, control, advice));
    } else {
        advice.no_orders = pipeline.error().message;
        advice.present = heldAtPeak(order, 1);
    }
    if (cut.layers.empty() || !pipeline.ok()) {
        BUBBLESCOPE_ASSIGN(auto moved,
                           inSameOrder(run, order, cut, advice.present, Effort::Balance, "stages=balanced"));
        if (moved) {
            for (const double factor : balanceFactors(run, run.timed.durations))
                moved->moved.push_back(factor - 1);
            advice.suggestions.push_back(std::move(*moved));
        }
    }
    if (blocksRanks(run)) {
        BUBBLESCOPE_ASSIGN(auto unblocked,
                           inSameOrder(run, order, cut, advice.present, Effort::Transfers, "blocked=0"));
        if (unblocked) advice.suggestions.push_back(std::move(*unblocked));
    }
    dropDominated(advice.suggestions);
    std::erase_if(advice.suggestions, isWithinError);
    std::ranges::stable_sort(advice.suggestions, {}, [](const Suggestion& suggestion) {
        return std::pair(suggestion.prediction.predicted(), suggestion.effort);
    });
    recommend(advice);
    return advice;
}

} // namespace bubblescope
