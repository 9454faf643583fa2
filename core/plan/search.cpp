#include "core/plan/search.h"

#include "core/base/bytes.h"
#include "core/base/parallel.h"
#include "core/cost/model_flops.h"
#include "core/cost/partition.h"
#include "core/plan/travelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope::plan {
namespace {

template <class T>
bool allows(const std::vector<T>& list, const T& value) {
    return list.empty() || std::ranges::find(list, value) != list.end();
}

std::vector<int> divisors(int number) {
    std::vector<int> found;
    for (int i = 1; i <= number; ++i)
        if (number % i == 0) found.push_back(i);
    return found;
}

/// The number of layers by which the first and the last stage are shorter, to make room for the embedding and the head.
struct Margin {
    int first = 0;
    int last = 0;
    friend bool operator==(Margin, Margin) = default;
};

/// Enumerates the layouts of a space, one dimension after another.
class Layouts {
public:
    Layouts(const Judge& judge, const Space& space) : judge_(judge), space_(space), shape_(judge.problem().shape) {}

    std::vector<Layout> all() {
        for (const int tp : divisors(devices())) {
            if (!tensorRanksFit(tp)) continue;
            for (const int cp : divisors(devices() / tp)) {
                if (!contextRanksFit(cp)) continue;
                for (const int pp : divisors(devices() / tp / cp)) {
                    if (!allows(space_.pp, pp) || pp > shape_.layers) continue;
                    Layout layout;
                    layout.tp = tp;
                    layout.cp = cp;
                    layout.pp = pp;
                    layout.dp = devices() / tp / cp / pp;
                    withExperts(layout);
                }
            }
        }
        return std::move(made_);
    }

private:
    [[nodiscard]] int devices() const { return judge_.problem().cluster.devices; }

    [[nodiscard]] bool tensorRanksFit(int tp) const {
        if (!allows(space_.tp, tp)) return false;
        if (space_.tp.empty() && tp > judge_.problem().cluster.device.per_host) return false;
        return shape_.kv_heads % tp == 0 && shape_.ffn % tp == 0 && shape_.experts.shared_ffn % tp == 0 &&
               shape_.sequence % tp == 0;
    }

    /// By default, a context-parallel rank gets at least 4096 tokens, because shorter parts cost more than they save.
    [[nodiscard]] bool contextRanksFit(int cp) const {
        if (!allows(space_.cp, cp)) return false;
        if (cp == 1) return true;
        if (shape_.sequence % (2 * cp) != 0) return false;
        return !space_.cp.empty() || shape_.sequence / cp >= 4096;
    }

    void withExperts(Layout layout) {
        for (const int ep : divisors(static_cast<int>(std::max<std::int64_t>(1, shape_.experts.count)))) {
            if (!allows(space_.ep, ep) || layout.stageRanks() % ep != 0) continue;
            layout.ep = ep;
            withBatches(layout);
        }
    }

    void withBatches(Layout layout) {
        const int batch = judge_.problem().global_batch;
        if (batch % layout.dp != 0) return;
        const int sequences = batch / layout.dp;
        for (int b = 1; b <= sequences; ++b) {
            const bool wanted = space_.microbatch.empty() ? (b & (b - 1)) == 0 : allows(space_.microbatch, b);
            if (!wanted || sequences % b != 0) continue;
            layout.microbatch = b;
            layout.microbatches = sequences / b;
            withSchedules(layout);
        }
    }

    void withSchedules(Layout layout) {
        const std::vector<std::string>& names = space_.schedules.empty() ? defaultSchedules() : space_.schedules;
        for (const std::string& name : names) {
            layout.schedule = name;
            if (layout.pp == 1) {
                // A single rank never waits: every order takes the same time, and 1F1B needs the least memory.
                if (name != names.front()) break;
                layout.schedule = "1f1b";
            }
            for (const int v : chunksOf(layout)) {
                layout.vpp = v;
                withSplits(layout);
            }
        }
    }

    [[nodiscard]] std::vector<int> chunksOf(const Layout& layout) const {
        std::vector<int> chunks;
        const bool two = layout.schedule == "zb-v" || layout.schedule.starts_with("v-") ||
                         layout.schedule == "dualpipev" || layout.schedule == "stp";
        if (layout.pp == 1 || weightsTravel(layout.schedule)) {
            chunks = {1};
        } else if (two) {
            chunks = {2};
        } else if (layout.schedule == "interleaved" || layout.schedule == "interleaved-zb") {
            for (int v = 2; v * layout.pp <= shape_.layers && layout.microbatches % layout.pp == 0; ++v)
                chunks.push_back(v);
        } else {
            chunks = space_.vpp.empty() ? std::vector<int>{1} : space_.vpp;
        }
        std::erase_if(chunks, [&](int v) {
            return !allows(space_.vpp, v) || static_cast<std::int64_t>(v) * layout.pp > shape_.layers;
        });
        return chunks;
    }

    void withSplits(Layout layout) {
        std::vector<std::vector<int>> splits;
        for (const Margin margin : marginsOf(layout)) {
            const auto split =
                partitionEvenly(static_cast<int>(shape_.layers), layout.stages(), margin.first, margin.last);
            const std::int64_t sum = shape_.layers + margin.first + margin.last;
            if (!split.ok() || (layout.vpp > 1 && sum % layout.stages() != 0)) continue;
            if (std::ranges::find(splits, split.value().layers_per_stage) != splits.end()) continue;
            splits.push_back(split.value().layers_per_stage);
            layout.layers_per_stage = splits.back();
            withStates(layout);
        }
    }

    [[nodiscard]] std::vector<Margin> marginsOf(const Layout& layout) const {
        std::vector<Margin> margins{{0, 0}};
        if (layout.stages() == 1) return margins;
        const ModelSeconds model(shape_, layout, judge_.problem().cluster);
        const double head = model.head().all().all() / model.meanLayer().all().all();
        const int nearest = static_cast<int>(std::lround(head));
        std::vector<Margin> more{{1, 1}, {0, nearest}, {1, nearest}};
        // Chunks need an even split: up to three layers can be missing at the ends.
        const auto missing = static_cast<int>((layout.stages() - shape_.layers % layout.stages()) % layout.stages());
        if (layout.vpp > 1 && missing <= 3) more.insert(more.end(), {{0, missing}, {1, std::max(0, missing - 1)}});
        for (const Margin margin : more)
            if (std::ranges::find(margins, margin) == margins.end()) margins.push_back(margin);
        return margins;
    }

    void withStates(Layout layout) {
        using enum TransformerShape::Recompute;
        for (const auto recompute : {None, Selective, Full}) {
            if (space_.recompute.empty() ? recompute == Selective : !allows(space_.recompute, recompute)) continue;
            layout.recompute = recompute;
            for (const Zero zero : {Zero::None, Zero::Optimizer, Zero::Gradients, Zero::Weights}) {
                // Without sharding, a rank transfers the same number of bytes, but stores and updates more.
                if (space_.zero.empty() ? zero == Zero::None : !allows(space_.zero, zero)) continue;
                if (zero >= Zero::Gradients && (layout.sharers() == 1 || weightsTravel(layout.schedule))) continue;
                layout.zero = zero;
                made_.push_back(layout);
            }
        }
    }

    const Judge& judge_;
    const Space& space_;
    const TransformerShape& shape_;
    std::vector<Layout> made_;
};

struct Candidate {
    std::size_t layout = 0;
    double bound = 0;
};

/// True if two layouts differ only in details: chunks, micro-batches, the split, what is kept.
bool alike(const Layout& a, const Layout& b) {
    return a.tp == b.tp && a.cp == b.cp && a.pp == b.pp && a.ep == b.ep && a.schedule == b.schedule;
}

/// The best plans so far, with only the best of each group of similar plans.
class Best {
public:
    explicit Best(std::size_t most) : most_(std::max<std::size_t>(1, most)) {}

    void add(Plan plan) {
        const auto like =
            std::ranges::find_if(plans_, [&](const Plan& other) { return alike(other.layout, plan.layout); });
        if (like != plans_.end()) {
            if (like->step <= plan.step) return;
            plans_.erase(like);
        }
        plans_.insert(std::ranges::upper_bound(plans_, plan.step, {}, &Plan::step), std::move(plan));
        if (plans_.size() > most_) plans_.pop_back();
    }
    /// True if a plan with at least this number of seconds could still be among the best.
    [[nodiscard]] bool open(double bound) const {
        return plans_.size() < most_ || bound * 1e9 <= static_cast<double>(plans_.back().step.count());
    }
    [[nodiscard]] std::vector<Plan> take() && { return std::move(plans_); }

private:
    std::size_t most_;
    std::vector<Plan> plans_;
};

/// The layouts that may fit, sorted by their lower bounds.
std::vector<Candidate> bounded(const Judge& judge, const std::vector<Layout>& all, SearchResult& result) {
    struct Bounds {
        double time = -1;
        std::int64_t memory = 0;
    };
    std::vector<Bounds> bounds(all.size());
    parallelFor(all.size(), [&](std::size_t i) {
        const auto pipeline = judge.pipeline(all[i]);
        if (!pipeline.ok()) return;
        const auto memory = judge.memory(all[i], pipeline.value().placement);
        if (!memory.ok()) return;
        bounds[i] = {judge.bound(pipeline.value(), all[i]),
                     judge.memoryBound(memory.value(), all[i], pipeline.value().placement)};
    });
    std::vector<Candidate> open;
    double least = -1;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Bounds& bound = bounds[i];
        if (bound.time < 0) continue;
        ++result.considered;
        if (least < 0 || bound.time < least) least = bound.time;
        if (result.least_memory == 0 || bound.memory < result.least_memory) result.least_memory = bound.memory;
        if (bound.memory > judge.budget())
            ++result.too_large;
        else
            open.push_back({i, bound.time});
    }
    result.bound = TimeNs{std::llround(std::max(0.0, least) * 1e9)};
    std::ranges::stable_sort(open, {}, &Candidate::bound);
    return open;
}

} // namespace

const std::vector<std::string>& defaultSchedules() {
    static const std::vector<std::string> names{"1f1b", "interleaved", "zb-h1", "zb-v"};
    return names;
}

Result<std::vector<Layout>> layouts(const Judge& judge, const Space& space) {
    std::vector<Layout> all = Layouts(judge, space).all();
    if (all.empty())
        return usageError(fmt::format("with these options, no layout of {} devices divides the model's heads, its {} "
                                      "layers and a batch of {} sequences evenly",
                                      judge.problem().cluster.devices, judge.problem().shape.layers,
                                      judge.problem().global_batch),
                          "restrict fewer options, or choose a batch size with more divisors");
    return all;
}

Result<SearchResult> search(const Judge& judge, const Space& space, const JobControl& control) {
    BUBBLESCOPE_ASSIGN(const std::vector<Layout> all, layouts(judge, space));
    SearchResult result;
    const std::vector<Candidate> open = bounded(judge, all, result);
    Best best(space.plans);
    // The rounds have a fixed size, independent of the number of cores, so that the counts are reproducible.
    constexpr std::size_t kRound = 32;
    std::size_t next = 0;
    while (next < open.size() && (!space.prune || best.open(open[next].bound))) {
        if (control.stopRequested()) return cancelledError();
        const std::size_t end = std::min(open.size(), next + kRound);
        std::vector<std::optional<Plan>> judged(end - next);
        parallelFor(end - next, [&](std::size_t i) {
            auto plan = judge.judge(all[open[next + i].layout]);
            if (plan.ok()) judged[i] = std::move(plan).value();
        });
        for (std::optional<Plan>& plan : judged) {
            if (!plan) {
                --result.considered; // the family has no order for this layout
                continue;
            }
            ++result.judged;
            if (plan->step.count() == 0)
                ++result.too_large;
            else
                best.add(std::move(*plan));
        }
        next = end;
    }
    result.ruled_out = open.size() - next;
    if (next < open.size()) result.ruled_out_from = TimeNs{std::llround(open[next].bound * 1e9)};
    result.plans = std::move(best).take();
    if (result.plans.empty())
        return usageError(
            fmt::format("no layout fits: a rank may hold {}, but the smallest layout needs at least {} per rank",
                        formatBytes(judge.budget()), formatBytes(result.least_memory)),
            "use more devices, shorter sequences, or devices with more memory");
    return result;
}

} // namespace bubblescope::plan
