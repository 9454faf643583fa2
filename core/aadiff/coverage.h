#pragma once

#include "core/timeline/check_log.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

inline constexpr std::size_t kCheckKindCount = 6;

/// What came of checks. "Done" is what has a result.
struct CheckCounts {
    std::int64_t equal = 0;
    std::int64_t mismatched = 0;
    std::int64_t aborted = 0;
    std::int64_t skipped = 0;

    void add(CheckOutcome outcome);
    [[nodiscard]] std::int64_t done() const { return equal + mismatched; }
    [[nodiscard]] std::int64_t planned() const { return done() + aborted + skipped; }
};

enum class Covered : std::uint8_t {
    Yes,
    NotYet, ///< a check of it was planned, and none has ended
    Never,  ///< none was even planned
};
[[nodiscard]] std::string_view coveredName(Covered state); ///< "covered", "not yet", "never"

/// What replays cover: one kind of op of one layer of one chunk of a rank. Any micro-batch's check covers it.
struct CoveredUnit {
    CheckPlace place;
    Chunk chunk;
    OpKind kind = OpKind::Forward;
    std::optional<int> layer; ///< counted over the whole model; none where no record tells the layers of its stage
    CheckCounts counts;       ///< of replays, by the rank itself or another
    int last_step = -1;       ///< in which a check of it ended

    [[nodiscard]] Covered state() const;
};

/// How much of a run was checked. What is not covered is unknown, never fine.
struct CheckCoverage {
    std::array<CheckCounts, kCheckKindCount> counts; ///< by CheckKind
    std::vector<CoveredUnit> units;                  ///< by place, chunk, kind and layer
    TimeNs work{0};                                  ///< of all ops but optimizers in the run's steps, on all its ranks
    TimeNs replayed{0};                              ///< of it, which was run again and compared
    int devices = 0;                                 ///< ranks of the whole run
    int steps = 0;                                   ///< numbers of steps that the run's timelines have

    [[nodiscard]] std::int64_t unitsThatAre(Covered state) const;
    [[nodiscard]] const CheckCounts& of(CheckKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
    [[nodiscard]] CheckCounts all() const;
    /// `replayed` over `work`: the chance that a fault in a random piece of the run's work was seen.
    [[nodiscard]] double share() const;
};

/// Units are the ops that the steps ran, cut into the layers that any record names for their stage, on this or another
/// rank. A check counts for `replayed` with its layer's equal share of what its kind of op takes on its rank in the
/// mean. `tensor_ranks`: ranks that share each stage; those beyond the first count as running what it runs.
[[nodiscard]] CheckCoverage coverageOf(const CheckLog& log, std::span<const StepTimeline> steps, int tensor_ranks = 1);

} // namespace bubblescope
