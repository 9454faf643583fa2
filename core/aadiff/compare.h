#pragma once

#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Parts of a step, in order of their dependencies.
enum class DigestPhase : std::uint8_t { Forward, Backward, Optimizer };
[[nodiscard]] std::string_view digestPhaseName(DigestPhase phase); ///< "forward", "backward", "optimizer"

/// The data of one run to be compared.
struct DigestedRun {
    std::span<const DigestRecord> digests;
    std::optional<RunInfo> info; ///< none if the files contain no run info
};

/// A value that exists in both runs but differs.
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
    int first_layer = 0; ///< lowest layer with a differing value; the fields below also refer to differing values
    int last_layer = 0;
    std::int64_t microbatches = 0;
    std::vector<Rank> ranks_a; ///< ranks of run a that computed the differing values
    std::vector<Rank> ranks_b;
};

struct DigestComparison {
    std::int64_t compared = 0;
    std::int64_t differing = 0;
    std::int64_t only_a = 0;        ///< number of values that exist only in run a
    std::int64_t only_b = 0;        ///< number of values that exist only in run b
    std::int64_t contradictory = 0; ///< values with several digests in one run; not compared
    int steps = 0;                  ///< number of steps in which at least one value was compared

    /// Differences that are not explained by other differences, in causal order; at most `kMaxRoots`. The first one is
    /// the earliest difference between the runs.
    std::vector<DigestDifference> roots;
    std::int64_t root_count = 0;
    std::vector<DigestSpread> spread; ///< by step and phase

    /// Reasons why the runs need not be bitwise equal, one sentence each; empty if all bits must be equal.
    std::vector<std::string> caveats;
    /// True if bits must be equal until the first optimizer step, because the caveats affect only later results.
    bool equal_before_optimizer = true;
    /// True if the first difference is in a part where equal bits are guaranteed.
    [[nodiscard]] bool unexpected() const;

    static constexpr std::size_t kMaxRoots = 100;
};

/// Compares the results of two runs, independently of their schedules and numbers of ranks. A value is identified by
/// step, part of the step, micro-batch, slice of the sequence, layer and tensor, plus replica and tensor-parallel rank
/// if both runs have the same number of them; whether backwards are split makes no difference. If the numbers of
/// replicas differ, micro-batches are numbered across replicas, starting with those of the first replica.
///
/// The order and extent of differences are based on dependencies rather than time. A forward of a micro-batch depends
/// on the forwards of lower layers (and of earlier slices of the sequence). A backward depends on all forwards and on
/// the backwards of higher layers, but not on the weight gradients of these layers. The optimizer depends on all
/// gradients of its step, since it may clip them by their norm; a forward of the next step depends on the weights of
/// its own layer and of lower layers. A difference counts as explained if a value on which it depends also differs.
[[nodiscard]] DigestComparison compareDigests(const DigestedRun& a, const DigestedRun& b);

} // namespace bubblescope
