#pragma once

#include "core/timeline/check_log.h"
#include "core/timeline/run_info.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Parts of a step, in the order in which one needs the other.
enum class DigestPhase : std::uint8_t { Forward, Backward, Optimizer };
[[nodiscard]] std::string_view digestPhaseName(DigestPhase phase); ///< "forward", "backward", "optimizer"

/// What is compared of each run.
struct DigestedRun {
    std::span<const DigestRecord> digests;
    std::optional<RunInfo> info; ///< none where the files do not say
};

/// A number that both runs have and that is not the same in them.
struct DigestDifference {
    DigestRecord a;
    DigestRecord b;
};

/// How far differences spread in one part of a step.
struct DigestSpread {
    int step = 0;
    DigestPhase phase = DigestPhase::Forward;
    std::int64_t compared = 0;
    std::int64_t differing = 0;
    int first_layer = 0; ///< of those that differ, as the next ones
    int last_layer = 0;
    std::int64_t microbatches = 0;
    std::vector<Rank> ranks_a; ///< that computed them
    std::vector<Rank> ranks_b;
};

struct DigestComparison {
    std::int64_t compared = 0;
    std::int64_t differing = 0;
    std::int64_t only_a = 0;        ///< numbers that one run alone has
    std::int64_t only_b = 0;        ///< the same
    std::int64_t contradictory = 0; ///< numbers of which one run holds different digests itself; not compared
    int steps = 0;                  ///< in which anything was compared

    /// Differences that follow from no other one, in causal order; at most `kMaxRoots`. The first is the first
    /// difference of the runs.
    std::vector<DigestDifference> roots;
    std::int64_t root_count = 0;
    std::vector<DigestSpread> spread; ///< by step and phase

    /// Why the runs need not have the same bits, one sentence each; empty where they must.
    std::vector<std::string> caveats;
    /// With those caveats: from the first optimizer step on alone (sums grouped otherwise), or nowhere at all.
    bool equal_before_optimizer = true;
    /// Whether the first difference lies where equal bits are to be expected.
    [[nodiscard]] bool unexpected() const;

    static constexpr std::size_t kMaxRoots = 100;
};

/// Compares what two runs computed, whatever their schedules and numbers of ranks: a number is named by step, part of
/// the step, micro-batch, slice of the sequence, layer and tensor (whole backwards and halves alike), and by replica
/// and tensor rank where both runs have as many. Where the numbers of replicas differ, micro-batches are counted
/// through the replicas, the first one's first.
///
/// Order and spread follow dependencies, not time. Of a micro-batch, a forward needs those of the layers below it (and
/// of earlier slices of the sequence), a backward all forwards and the backwards of the layers above; a weight gradient
/// is needed by no other backward. The optimizer needs all gradients of its step (a common norm may scale them), the
/// next step's forwards need the weights of their layer and those below. A difference that needs another is explained
/// by it.
[[nodiscard]] DigestComparison compareDigests(const DigestedRun& a, const DigestedRun& b);

} // namespace bubblescope
