#include "core/aadiff/compare.h"

#include "core/timeline/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace bubblescope {
namespace {

DigestPhase phaseOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return DigestPhase::Forward;
    case OpKind::Optimizer: return DigestPhase::Optimizer;
    case OpKind::Backward:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight: break;
    }
    return DigestPhase::Backward;
}

/// Identifies a value. Ascending keys follow the causal order.
struct Key {
    int step = 0;
    DigestPhase phase = DigestPhase::Forward;
    std::int64_t microbatch = 0;
    int sequence = 0; ///< negative in a backward
    int layer = 0;    ///< negative in a backward
    int replica = 0;
    int tensor_rank = 0;
    int tensor = 0;        ///< index in the order in which an op computes its tensors
    std::string_view name; ///< of the tensor

    /// True if no other backward depends on this one.
    [[nodiscard]] bool endsHere() const {
        return tensor == static_cast<int>(CheckedTensor::WeightGradient) ||
               tensor == static_cast<int>(CheckedTensor::GradientSum);
    }
    friend auto operator<=>(const Key&, const Key&) = default;
};

struct Named {
    Key key;
    const DigestRecord* record = nullptr;
};

int replicasOf(const DigestedRun& run) {
    int most = run.info ? run.info->dp : 1;
    for (const DigestRecord& digest : run.digests)
        most = std::max(most, digest.replica + 1);
    return most;
}
int tensorRanksOf(const DigestedRun& run) {
    int most = run.info ? run.info->tp : 1;
    for (const DigestRecord& digest : run.digests)
        most = std::max(most, digest.tensor_rank + 1);
    return most;
}
int slicesOf(const DigestedRun& run) {
    int most = 1;
    for (const DigestRecord& digest : run.digests)
        most = std::max(most, digest.op.sequence + 1);
    return most;
}
int microbatchesOf(const DigestedRun& run) {
    int most = run.info ? run.info->microbatches : 1;
    for (const DigestRecord& digest : run.digests)
        most = std::max(most, digest.op.microbatch.value + 1);
    return most;
}

constexpr int kUnknownTensor = 1000; ///< after all others, sorted by name

/// Rules for identifying values in both runs.
struct Naming {
    bool replicas_apart = true; ///< if false, micro-batches are numbered across replicas

    Key keyOf(const DigestRecord& digest, int microbatches) const {
        Key key;
        key.step = digest.step;
        key.phase = phaseOf(digest.op.kind);
        const int down = key.phase == DigestPhase::Backward ? -1 : 1;
        key.microbatch = digest.op.microbatch.value;
        key.sequence = down * digest.op.sequence;
        key.layer = down * digest.layer;
        key.replica = replicas_apart ? digest.replica : 0;
        if (!replicas_apart && key.phase != DigestPhase::Optimizer)
            key.microbatch += std::int64_t{digest.replica} * microbatches;
        key.tensor_rank = digest.tensor_rank;
        const std::optional<CheckedTensor> known = parseTensor(digest.tensor);
        key.tensor = known ? static_cast<int>(*known) : kUnknownTensor;
        key.name = digest.tensor;
        return key;
    }
};

/// The values of a run by key, without duplicates.
std::vector<Named> namedOf(const DigestedRun& run, const Naming& naming, std::int64_t& contradictory) {
    std::vector<Named> all;
    all.reserve(run.digests.size());
    const int microbatches = microbatchesOf(run);
    for (const DigestRecord& digest : run.digests)
        all.push_back({naming.keyOf(digest, microbatches), &digest});
    std::ranges::stable_sort(all, {}, &Named::key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size();) {
        std::size_t end = i + 1;
        bool same = true;
        for (; end < all.size() && all[end].key == all[i].key; ++end)
            same = same && all[end].record->digest == all[i].record->digest;
        if (same)
            all[kept++] = all[i];
        else
            ++contradictory;
        i = end;
    }
    all.resize(kept);
    return all;
}

constexpr int kNone = std::numeric_limits<int>::max();

/// Processes differences in causal order and determines for each whether an earlier one explains it.
class Explainer {
public:
    bool explains(const Key& key) {
        if (key.step != step_) nextStep(key.step);
        const bool explained = follows(key);
        note(key);
        return explained;
    }

private:
    using Pass = std::pair<int, std::int64_t>; ///< replica, micro-batch

    void nextStep(int step) {
        weights_from_ = std::min(weights_from_, reached_);
        reached_ = kNone;
        step_ = step;
        forwards_.clear();
        backwards_.clear();
    }

    bool follows(const Key& key) const {
        const bool weights_differ = weights_from_ != kNone; // from an earlier step
        switch (key.phase) {
        case DigestPhase::Forward: {
            if (weights_differ && weights_from_ <= key.layer) return true;
            const auto pass = forwards_.find({key.replica, key.microbatch});
            return pass != forwards_.end() && reaches(pass->second, key);
        }
        case DigestPhase::Backward: {
            if (weights_differ || forwards_.contains({key.replica, key.microbatch})) return true;
            const auto pass = backwards_.find({key.replica, key.microbatch});
            return pass != backwards_.end() && reaches(pass->second, key);
        }
        case DigestPhase::Optimizer: break;
        }
        return weights_differ || reached_ != kNone;
    }
    /// Slices and layers in keys ascend along dependencies in both directions.
    static bool reaches(const std::map<int, int>& layer_of_slice, const Key& key) {
        for (const auto& [slice, layer] : layer_of_slice) {
            if (slice <= key.sequence && layer <= key.layer) return true;
        }
        return false;
    }

    void note(const Key& key) {
        const Pass pass{key.replica, key.microbatch};
        const auto add = [&](auto& passes) {
            const auto [slice, fresh] = passes[pass].try_emplace(key.sequence, key.layer);
            if (!fresh) slice->second = std::min(slice->second, key.layer);
        };
        switch (key.phase) {
        case DigestPhase::Forward: // affects all gradients because of the loss
            add(forwards_);
            reached_ = 0;
            break;
        case DigestPhase::Backward:
            if (!key.endsHere()) add(backwards_);
            reached_ = std::min(reached_, key.endsHere() ? -key.layer : 0);
            break;
        case DigestPhase::Optimizer: reached_ = std::min(reached_, key.layer); break;
        }
    }

    int step_ = std::numeric_limits<int>::min();
    int weights_from_ = kNone; ///< lowest layer whose weights may differ because of an earlier step
    int reached_ = kNone;      ///< lowest layer whose weights are affected by this step's differences
    std::map<Pass, std::map<int, int>> forwards_;
    std::map<Pass, std::map<int, int>> backwards_;
};

/// Accumulates one entry of DigestSpread.
struct SpreadRow {
    DigestSpread row;
    std::set<int> microbatches;
    std::set<Rank> ranks_a;
    std::set<Rank> ranks_b;

    void add(const DigestRecord& a, const DigestRecord& b) {
        row.first_layer = row.differing == 0 ? a.layer : std::min(row.first_layer, a.layer);
        row.last_layer = row.differing == 0 ? a.layer : std::max(row.last_layer, a.layer);
        ++row.differing;
        microbatches.insert(a.op.microbatch.value);
        ranks_a.insert(a.rank);
        ranks_b.insert(b.rank);
    }
    DigestSpread take() {
        row.microbatches = static_cast<std::int64_t>(microbatches.size());
        row.ranks_a.assign(ranks_a.begin(), ranks_a.end());
        row.ranks_b.assign(ranks_b.begin(), ranks_b.end());
        return std::move(row);
    }
};

void findCaveats(const DigestedRun& a, const DigestedRun& b, Naming& naming, DigestComparison& result) {
    const auto differ = [&](std::int64_t of_a, std::int64_t of_b, std::string_view what, std::string_view so) {
        if (of_a == of_b) return false;
        result.caveats.push_back(
            fmt::format("{} in A and {} in B: {}", fmt::format(fmt::runtime(what), of_a), of_b, so));
        return true;
    };
    const int dp_a = replicasOf(a);
    const int dp_b = replicasOf(b);
    if (differ(dp_a, dp_b, "replicas: {}",
               "gradients are summed in different groups, so weights differ in their last bits")) {
        naming.replicas_apart = false;
        const std::int64_t samples_a = std::int64_t{dp_a} * microbatchesOf(a);
        const std::int64_t samples_b = std::int64_t{dp_b} * microbatchesOf(b);
        differ(samples_a, samples_b, "micro-batches of all replicas: {}", "the steps use different data");
    } else {
        differ(microbatchesOf(a), microbatchesOf(b), "micro-batches: {}", "the steps use different data");
    }
    if (differ(slicesOf(a), slicesOf(b), "slices of a sequence: {}",
               "the slices do not match, and gradients are summed in different groups"))
        result.equal_before_optimizer = false;
    if (differ(tensorRanksOf(a), tensorRanksOf(b), "tensor ranks: {}",
               "each layer sums different parts, so the last bits differ everywhere"))
        result.equal_before_optimizer = false;
    if (a.info && b.info) {
        differ(routes(a.info->placement), routes(b.info->placement), "pipelines that hold the model: {}",
               "gradients are summed in different groups, so weights differ in their last bits");
    } else {
        result.caveats.push_back("the files do not describe the runs, so it is unknown whether bits should be equal");
    }
}

} // namespace

std::string_view digestPhaseName(DigestPhase phase) {
    switch (phase) {
    case DigestPhase::Forward: return "forward";
    case DigestPhase::Backward: return "backward";
    case DigestPhase::Optimizer: return "optimizer";
    }
    return "";
}

bool DigestComparison::unexpected() const {
    if (roots.empty()) return false;
    if (caveats.empty()) return true;
    if (!equal_before_optimizer) return false;
    const int first_step = spread.empty() ? 0 : spread.front().step;
    return std::ranges::any_of(roots, [&](const DigestDifference& root) {
        return root.a.step == first_step && phaseOf(root.a.op.kind) != DigestPhase::Optimizer;
    });
}

DigestComparison compareDigests(const DigestedRun& a, const DigestedRun& b) {
    DigestComparison result;
    Naming naming;
    findCaveats(a, b, naming, result);
    const std::vector<Named> of_a = namedOf(a, naming, result.contradictory);
    const std::vector<Named> of_b = namedOf(b, naming, result.contradictory);

    Explainer explainer;
    std::map<std::pair<int, DigestPhase>, SpreadRow> spread;
    std::set<int> steps;
    for (auto in_a = of_a.begin(), in_b = of_b.begin(); in_a != of_a.end() || in_b != of_b.end();) {
        if (in_b == of_b.end() || (in_a != of_a.end() && in_a->key < in_b->key)) {
            ++result.only_a, ++in_a;
            continue;
        }
        if (in_a == of_a.end() || in_b->key < in_a->key) {
            ++result.only_b, ++in_b;
            continue;
        }
        const Key& key = in_a->key;
        SpreadRow& row = spread[{key.step, key.phase}];
        row.row.step = key.step;
        row.row.phase = key.phase;
        ++row.row.compared;
        ++result.compared;
        steps.insert(key.step);
        if (in_a->record->digest != in_b->record->digest) {
            ++result.differing;
            row.add(*in_a->record, *in_b->record);
            if (!explainer.explains(key)) {
                ++result.root_count;
                if (result.roots.size() < DigestComparison::kMaxRoots)
                    result.roots.push_back({*in_a->record, *in_b->record});
            }
        }
        ++in_a, ++in_b;
    }
    result.steps = static_cast<int>(steps.size());
    for (auto& [key, row] : spread)
        result.spread.push_back(row.take());
    return result;
}

} // namespace bubblescope
