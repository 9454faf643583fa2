#pragma once

#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Parts of a step in order of dependency.
enum class DigestPhase : std::uint8_t { Forward, Backward, Optimizer };
[[nodiscard]] std::string_view digestPhaseName(DigestPhase phase); ///< "forward", "backward", "optimizer"

/// The data of one run in a comparison.
struct DigestedRun {
    std::span<const DigestRecord> digests;
    std::optional<RunInfo> info; ///< none if the files do not contain it
};

/// A value that both runs have and that differs.
struct DigestDifference {
    DigestRecord a;
    DigestRecord b;
};

/// The extent of the differences in one part of a step.
struct DigestSpread {
    int step = 0;
    DigestPhase phase = DigestPhase::Forward;
    std::int64_t compared = 0;
    std::int64_t differing = 0;
    int first_layer = 0; ///< among the differing values, as are the next fields
    int last_layer = 0;
    std::int64_t microbatches = 0;
    std::vector<Rank> ranks_a; ///< ranks that computed them, in run a
    std::vector<Rank> ranks_b;
};

struct DigestComparison {
    std::int64_t compared = 0;
    std::int64_t differing = 0;
    std::int64_t only_a = 0;        ///< values that only run a has
    std::int64_t only_b = 0;        ///< values that only run b has
    std::int64_t contradictory = 0; ///< values with several digests in one run; not compared
    int steps = 0;                  ///< number of steps in which anything was compared

    /// Differences that no other difference explains, in causal order; at most `kMaxRoots`. The first one is the
    /// earliest difference between the runs.
    std::vector<DigestDifference> roots;
    std::int64_t root_count = 0;
    std::vector<DigestSpread> spread; ///< by step and phase

    /// Reasons why the runs may differ bit by bit, one sentence each; empty if they must be equal.
    std::vector<std::string> caveats;
    /// True if bits must be equal until the first optimizer step despite the caveats (sums grouped differently).
    bool equal_before_optimizer = true;
    /// True if the first difference lies where equal bits are expected.
    [[nodiscard]] bool unexpected() const;

    static constexpr std::size_t kMaxRoots = 100;
};

/// Compares the results of two runs, independent of their schedules and numbers of ranks. A value is identified by
/// step, part of the step, micro-batch, slice of the sequence, layer and tensor (for whole and split backwards alike),
/// and by replica and tensor rank if both runs have the same number of them. If the numbers of replicas differ,
/// micro-batches are numbered across replicas, starting with those of the first.
///
/// Order and spread follow dependencies, not time. Within a micro-batch, a forward depends on those of the layers below
/// it (and of earlier slices of the sequence). A backward depends on all forwards and on the backwards of the layers
/// above, but not on their weight gradients. The optimizer depends on all gradients of its step (a common norm may
/// scale them), and the next step's forwards on the weights of their layer and of those below. A difference is
/// explained by differences that it depends on.
[[nodiscard]] DigestComparison compareDigests(const DigestedRun& a, const DigestedRun& b);

} // namespace bubblescope
