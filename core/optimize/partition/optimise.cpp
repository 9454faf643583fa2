#include "core/optimize/partition/optimise.h"

#include "core/base/field.h"
#include "core/optimize/partition/path_bounds.h"
#include "core/optimize/partition/step_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kMaxRuns = 30'000'000; ///< layer ranges times stages that hold them, 8 bytes each
constexpr double kLongestStep = 1e16;         ///< nanoseconds of all ops in sequence, so that sums stay far below 2^63

class Search {
public:
    Search(const Schedule& schedule, const std::vector<Layer>& layers, const PartitionOptions& options,
           StepEvaluator& evaluator, const LayerSums& sums)
        : schedule_(schedule), options_(options), stages_(schedule.stages()), evaluator_(evaluator), sums_(sums),
          bounds_(sums, stages_, options.comm.count(), rowsFor(stages_, sums.layers())),
          ops_(static_cast<std::int64_t>(schedule.opCount())), budget_(options.effort), memory_(layers.size() + 1, 0) {
        for (std::size_t i = 0; i < layers.size(); ++i)
            memory_[i + 1] = memory_[i] + layers[i].memory;
        for (int k = 0; k < stages_; ++k)
            rank_of_.push_back(locate(schedule.placement, schedule.pp, Stage{k}).rank.index());
        // No split takes longer than all layers in every stage would.
        best_ = evaluator.length(std::vector<StageDurations>(index(stages_), sums.of(0, sums.layers()))) + 1;
    }

    [[nodiscard]] bool fits(const Cuts& cuts) const {
        if (!options_.memory_per_rank) return true;
        std::vector<std::int64_t> held(schedule_.ranks.size(), 0);
        for (int k = 0; k < stages_; ++k) {
            if ((held[rank_of_[index(k)]] += memory(cuts[index(k)], cuts[index(k) + 1])) > *options_.memory_per_rank)
                return false;
        }
        return true;
    }

    /// Simulates a split, keeps it if it is the best that fits, and adds its longest path to the bounds. Returns the
    /// step's length.
    std::int64_t evaluate(const Cuts& cuts, bool learn = true) {
        const std::int64_t length = evaluator_.length(sums_.stageTimes(cuts));
        ++simulations_;
        budget_ -= ops_;
        if (length < best_ && fits(cuts)) {
            best_ = length;
            best_cuts_ = cuts;
        }
        if (learn && bounds_.room() > kKeptForMeans) bounds_.add(evaluator_.longestPath());
        return length;
    }

    /// Starts from a split, regardless of its memory.
    void run(const Cuts& start) {
        improve();
        playFictitiously(start);
        improve();
        boundByRanks();
        bounds_.updateWorstStages();
        if (stages_ > 1) evaluate(bounds_.bestWorstStageSplit());
        improve();
        bounds_.updateWorstStages();
        raise(bounds_.worstStage(0, 0));
        for (std::size_t row = 0; row < bounds_.rows(); ++row)
            raise(bounds_.bound(row));
        prove();
        if (bound_ < best_) wander();
    }

    [[nodiscard]] std::int64_t best() const { return best_; }
    [[nodiscard]] const Cuts& bestCuts() const { return best_cuts_; }
    [[nodiscard]] std::int64_t bound() const { return std::min(bound_, best_); }
    [[nodiscard]] std::int64_t simulations() const { return simulations_; }
    /// True if every split was simulated or ruled out.
    [[nodiscard]] bool exhaustive() const { return exhaustive_; }

private:
    static constexpr std::size_t kKeptForMeans = 16;
    static constexpr double kTolerance = 0.01;
    /// Enough for good bounds, but limited to a few hundred megabytes.
    static std::size_t rowsFor(int stages, int layers) {
        constexpr std::int64_t kCellRows = 8'000'000;
        const auto cells = (std::int64_t{stages} + 1) * (layers + 1);
        return static_cast<std::size_t>(std::clamp<std::int64_t>(kCellRows / cells, 2 * kKeptForMeans, 256));
    }
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    [[nodiscard]] std::int64_t memory(int from, int to) const { return memory_[index(to)] - memory_[index(from)]; }
    void raise(std::int64_t bound) { bound_ = std::max(bound_, bound); }

    static void addTo(StepPath& sum, const StepPath& path) {
        for (std::size_t k = 0; k < sum.counts.size(); ++k) {
            for (std::size_t kind = 0; kind < 3; ++kind)
                sum.counts[k][kind] += path.counts[k][kind];
        }
        sum.transfers += path.transfers;
    }

    /// Bounds the step by the mean of some paths, for this and for the exact search.
    void addMean(const StepPath& sum, std::int64_t count) {
        if (bounds_.room() == 0) return;
        bounds_.add(sum, count);
        raise(bounds_.bound(bounds_.rows() - 1));
    }

    /// Finds the best bound from a mean of paths by fictitious play: one side responds with the best split for the mean
    /// of all paths so far, the other with the longest path for the mean of all splits so far.
    void playFictitiously(const Cuts& start) {
        StepPath paths;
        paths.counts.resize(index(stages_));
        std::vector<StageDurations> times(index(stages_));
        Cuts cuts = start;
        std::int64_t next_mark = 16;
        const std::int64_t rounds = std::clamp<std::int64_t>(budget_ / 8 / (2 * ops_ + 1), 16, 512);
        for (std::int64_t round = 1; round <= rounds; ++round) {
            const auto now = sums_.stageTimes(cuts);
            for (std::size_t k = 0; k < times.size(); ++k) {
                for (std::size_t kind = 0; kind < 3; ++kind)
                    times[k][kind] += now[k][kind];
            }
            evaluator_.length(times);
            budget_ -= ops_;
            addTo(paths, evaluator_.longestPath());
            PathBounds mean(sums_, stages_, options_.comm.count(), 1);
            mean.add(paths, round);
            raise(mean.bound(0));
            cuts = mean.bestSplit(0);
            evaluate(cuts, round <= 64);
            if (round == next_mark || round == rounds) {
                bounds_.add(paths, round);
                next_mark *= 2;
            }
        }
    }

    /// If ranks have several chunks, counts whole layers by rank: see RankBounds.
    void boundByRanks() {
        if (schedule_.vpp == 1 || RankBounds::steps(sums_.layers(), rank_of_) > budget_ / 2) return;
        RankBounds ranks(sums_, rank_of_, options_.comm.count());
        for (const int percent : {110, 130, 200}) {
            StepPath sum;
            sum.counts.resize(index(stages_));
            for (std::size_t r = 0; r < schedule_.ranks.size(); ++r) {
                std::vector<StageDurations> times(index(stages_), sums_.of(0, sums_.layers()));
                for (std::size_t k = 0; k < times.size(); ++k) {
                    for (std::int64_t& time : times[k])
                        time = time / stages_ * (rank_of_[k] == r ? percent : 100) / 100;
                }
                evaluator_.length(times);
                budget_ -= ops_;
                const StepPath path = evaluator_.longestPath();
                ranks.add(path, r);
                addTo(sum, path);
            }
            addMean(sum, static_cast<std::int64_t>(schedule_.ranks.size()));
        }
        raise(ranks.bound());
    }

    /// False if some row shows that these cuts cannot beat the best.
    [[nodiscard]] bool promising(const Cuts& cuts) const {
        for (std::size_t row = 0; row < bounds_.rows(); ++row) {
            std::int64_t sum = bounds_.fixed(row);
            for (int k = 0; k < stages_; ++k)
                sum += bounds_.stagePart(row, k, cuts[index(k)], cuts[index(k) + 1]);
            if (sum >= best_ * bounds_.count(row)) return false;
        }
        return true;
    }

    /// Moves a layer from one stage to another, shifting those between. False if there is none to move.
    bool moveLayer(Cuts& cuts, int from, int to) const {
        if (from == to || cuts[index(from) + 1] - cuts[index(from)] < 2) return false;
        for (int k = std::min(from, to) + 1; k <= std::max(from, to); ++k)
            cuts[index(k)] += from < to ? -1 : 1;
        return true;
    }

    /// Moves single layers while that shortens the step.
    void improve() {
        bool better = !best_cuts_.empty();
        while (better && budget_ > 0) {
            better = false;
            for (int from = 0; from < stages_ && !better; ++from) {
                for (int to = 0; to < stages_ && !better; ++to) {
                    Cuts cuts = best_cuts_;
                    if (!moveLayer(cuts, from, to)) continue;
                    budget_ -= stages_;
                    const std::int64_t before = best_;
                    if (promising(cuts) && evaluate(cuts) < before) better = best_ < before;
                }
            }
        }
    }

    /// The state of the search for the stages before the current one.
    struct Level {
        std::vector<std::int64_t> before; ///< by row: their contributions
        std::vector<std::int64_t> held;   ///< by rank: memory
    };

    void prove() {
        levels_.assign(index(stages_) + 1, {});
        levels_[0].held.assign(schedule_.ranks.size(), 0);
        cuts_.assign(index(stages_) + 1, 0);
        cuts_.back() = sums_.layers();
        reserve_ = budget_ / 2;
        if (bound_ < best_) descend(0);
        exhaustive_ = budget_ > reserve_; // no shorter split was skipped
        if (exhaustive_) bound_ = best_;
        reserve_ = 0;
    }

    /// Used if the search would take too long: tries random but reproducible splits near the best one. At first, a
    /// split may be slightly worse than the previous one; at the end it may not.
    void wander() {
        if (best_cuts_.empty()) return;
        std::minstd_rand random(1);
        const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
        Cuts here = best_cuts_;
        std::int64_t length = best_;
        const std::int64_t all = std::max<std::int64_t>(1, budget_);
        while (budget_ > 0 && bound_ < best_) {
            Cuts cuts = here;
            for (int moves = 1 + pick(3); moves > 0; --moves)
                moveLayer(cuts, pick(stages_), pick(stages_));
            budget_ -= stages_;
            if (cuts == here || !fits(cuts)) continue;
            const std::int64_t tried = evaluate(cuts, false);
            const double left = static_cast<double>(budget_) / static_cast<double>(all);
            if (static_cast<double>(tried) > static_cast<double>(length) * (1 + kTolerance * left)) continue;
            length = tried;
            here = std::move(cuts);
        }
    }

    void extend(int k) {
        auto& before = levels_[index(k)].before;
        for (std::size_t row = before.size(); row < bounds_.rows(); ++row) {
            std::int64_t sum = bounds_.fixed(row);
            for (int s = 0; s < k; ++s)
                sum += bounds_.stagePart(row, s, cuts_[index(s)], cuts_[index(s) + 1]);
            before.push_back(sum);
        }
    }

    /// The largest row's bound if stage k ends at `to`; kNever if it is useless.
    std::int64_t estimate(int k, int to) {
        const int from = cuts_[index(k)];
        budget_ -= static_cast<std::int64_t>(bounds_.rows());
        std::int64_t largest = bounds_.worstStage(k, from, to);
        if (largest >= best_) return kNever;
        const auto& before = levels_[index(k)].before;
        for (std::size_t row = 0; row < bounds_.rows(); ++row) {
            const std::int64_t value = before[row] + bounds_.stagePart(row, k, from, to) + bounds_.rest(row, k + 1, to);
            if (value >= best_ * bounds_.count(row)) return kNever;
            largest = std::max(largest, value / bounds_.count(row));
        }
        return largest;
    }

    void descend(int k) {
        if (budget_ <= reserve_) return;
        const int from = cuts_[index(k)];
        if (k == stages_ - 1) {
            if (options_.memory_per_rank &&
                levels_[index(k)].held[rank_of_[index(k)]] + memory(from, sums_.layers()) > *options_.memory_per_rank)
                return;
            const std::size_t rows = bounds_.rows();
            evaluate(cuts_);
            if (rows / 32 != bounds_.rows() / 32) bounds_.updateWorstStages();
            return;
        }
        extend(k);
        std::vector<std::pair<std::int64_t, int>> ways;
        const int last = sums_.layers() - (stages_ - 1 - k);
        for (int to = from + 1; to <= last; ++to) {
            if (options_.memory_per_rank &&
                levels_[index(k)].held[rank_of_[index(k)]] + memory(from, to) > *options_.memory_per_rank)
                break;
            if (const std::int64_t value = estimate(k, to); value < kNever) ways.emplace_back(value, to);
        }
        std::ranges::sort(ways);
        for (const auto& [value, to] : ways) {
            extend(k);
            if (estimate(k, to) == kNever) continue; // a better split or another path was found meanwhile
            cuts_[index(k) + 1] = to;
            levels_[index(k) + 1].before.clear();
            if (options_.memory_per_rank) {
                levels_[index(k) + 1].held = levels_[index(k)].held;
                levels_[index(k) + 1].held[rank_of_[index(k)]] += memory(from, to);
            }
            descend(k + 1);
            if (budget_ <= reserve_) return;
        }
    }

    const Schedule& schedule_;
    const PartitionOptions& options_;
    int stages_;
    StepEvaluator& evaluator_;
    const LayerSums& sums_;
    PathBounds bounds_;
    std::int64_t ops_;
    std::int64_t budget_;
    std::int64_t reserve_ = 0; ///< part of the budget that the exact search leaves unused
    std::vector<std::int64_t> memory_;
    std::vector<std::size_t> rank_of_;
    std::int64_t best_ = 0; ///< the step to beat, that of best_cuts_ if there are any
    Cuts best_cuts_;
    std::int64_t bound_ = 0;
    bool exhaustive_ = false;
    std::int64_t simulations_ = 0;
    std::vector<Level> levels_;
    Cuts cuts_;
};

Cuts cutsOf(const Partition& partition) {
    Cuts cuts{0};
    for (const int count : partition.layers_per_stage)
        cuts.push_back(cuts.back() + count);
    return cuts;
}

Partition partitionOf(const Cuts& cuts) {
    Partition partition;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
        partition.layers_per_stage.push_back(cuts[k + 1] - cuts[k]);
    return partition;
}

/// The rules that need no times: even, and slightly fewer layers on the outer stages.
std::vector<std::pair<std::string, Partition>> plainRules(int layers, int stages) {
    std::vector<std::pair<std::string, Partition>> rules;
    for (const auto& [first, last] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)}) {
        const auto partition = partitionEvenly(layers, stages, first, last);
        if (!partition.ok()) continue;
        const bool again = std::ranges::any_of(rules, [&](const auto& rule) {
            return rule.second.layers_per_stage == partition.value().layers_per_stage;
        });
        if (again) continue;
        rules.emplace_back(first + last == 0
                               ? "even"
                               : fmt::format("{} {}", Field("first_less").is(first), Field("last_less").is(last)),
                           partition.value());
    }
    return rules;
}

} // namespace

Result<OptimalPartition> optimisePartition(const Schedule& schedule, const std::vector<Layer>& layers,
                                           const PartitionOptions& options) {
    const int stages = schedule.stages();
    BUBBLESCOPE_TRY(rejectEncoders(schedule.placement, "a partition of layers"));
    if (routes(schedule.placement) > 1) {
        return usageError(
            fmt::format("{} holds two copies of the model, so its stages are not a chain of layers", schedule.name),
            "choose a schedule with loop or V placement");
    }
    if (layers.size() < static_cast<std::size_t>(stages)) {
        return usageError(fmt::format("{} layers cannot fill {} stages", layers.size(), stages),
                          "use fewer ranks or chunks, so that each stage has at least one layer");
    }
    const auto spare = static_cast<std::int64_t>(layers.size()) - stages + 1;
    if (spare * spare * stages > kMaxRuns) {
        return usageError(fmt::format("{} layers are too many for this search", layers.size()),
                          "merge neighbouring layers into one");
    }
    std::vector<StageDurations> times;
    for (const Layer& layer : layers) {
        times.push_back({layer.times.forward.count(), layer.times.input_grad.count(), layer.times.weight_grad.count()});
    }
    const LayerSums sums(times);
    const StageDurations& whole = sums.upTo(sums.layers());
    if (static_cast<double>(whole[0] + whole[1] + whole[2]) * static_cast<double>(schedule.opCount()) > kLongestStep)
        return usageError("the step would be too long with these layer times and this many micro-batches",
                          "check the times' unit");
    BUBBLESCOPE_ASSIGN(StepEvaluator evaluator, StepEvaluator::make(schedule, options.comm.count()));
    Search search(schedule, layers, options, evaluator, sums);
    OptimalPartition result;
    for (auto& [name, partition] : plainRules(static_cast<int>(layers.size()), stages)) {
        const Cuts cuts = cutsOf(partition);
        const TimeNs step{search.evaluate(cuts)};
        result.rules.push_back({std::move(name), std::move(partition), step, search.fits(cuts)});
    }
    for (RatedPartition rule : options.rules) {
        const Cuts cuts = cutsOf(rule.partition);
        if (cuts.size() != static_cast<std::size_t>(stages) + 1 || cuts.back() != sums.layers()) {
            return usageError(
                fmt::format("{} does not split {} layers into {} stages", rule.name, layers.size(), stages));
        }
        rule.step = TimeNs{search.evaluate(cuts)};
        rule.fits = search.fits(cuts);
        result.rules.push_back(std::move(rule));
    }
    search.run(cutsOf(result.rules.front().partition));
    if (search.bestCuts().empty()) {
        return usageError(search.exhaustive() ? "no split fits into every rank's memory"
                                              : "found no split that fits into every rank's memory",
                          fmt::format("raise {}, or use more ranks", Field("memory_budget")));
    }
    result.best = {"best", partitionOf(search.bestCuts()), TimeNs{search.best()}, true};
    result.lower_bound = TimeNs{search.bound()};
    result.simulations = search.simulations();
    return result;
}

} // namespace bubblescope
