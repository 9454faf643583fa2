#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/recognise/found_ops.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The mapping from the trace's numbering to ranks, stages and chunks.
struct Layout {
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    int slices = 1; ///< slices of each micro-batch's sequence
    Placement placement = Placement::Loop;
    std::map<std::int64_t, Rank> rank_of_owner;
    std::map<std::int64_t, Location> location_of_stage; ///< only for Parts::Stages

    [[nodiscard]] Location locate(const BareFoundOp& op, Parts parts) const;
};

/// Infers p, m, v and the placement. `where` names the input. Errors: Input if ranks or stages are missing or a stage
/// ran on several ranks (replicas of a data-parallel run loaded together).
[[nodiscard]] Result<Layout> inferLayout(const FoundOps& found, const std::string& where);

/// The op that makes a step unusable.
struct OpFault {
    std::optional<int> step;
    std::optional<Rank> rank; ///< with `op`; nothing if whole micro-batches or all ops are missing
    std::optional<Op> op;
    bool twice = false; ///< it was recorded twice; otherwise it is missing
};

/// Reports a step that is skipped ("incomplete-step"), for a reason such as opFault().
[[nodiscard]] Diagnostic incompleteStep(std::int64_t step, std::int64_t replica, const Sentence& reason);
[[nodiscard]] Sentence opFault(Rank rank, const Op& op, bool twice);
/// The fault that such a report names; nothing for other problems.
[[nodiscard]] std::optional<OpFault> opFaultOf(const Diagnostic& problem);

/// Assembles the complete steps, in order. A step is complete if every sequence slice of every micro-batch has, on
/// every chunk of its pipeline, exactly one forward and either one whole backward or one backward for the input and one
/// for the weights (no backward at all if the whole trace has none). Other steps are counted in the log and omitted.
/// With two pipelines, each micro-batch belongs to one of them, or to both if each pipeline numbers its own from 0. Two
/// ops of a rank never overlap in the result, except the halves of a pair: the later op is shortened and counted.
/// Errors: Input if no step is complete.
[[nodiscard]] Result<std::vector<StepTimeline>> assembleSteps(FoundOps found, const Layout& layout,
                                                              const std::string& where, DiagnosticLog& log);

/// If several ranks ran the same stages (data parallelism), assigns them to replicas of the pipeline: the k-th of a
/// stage's ranks belongs to replica k, and its ops count as those of the same place in replica 0. Ops whose rule names
/// the replica are left unchanged. `where` names the input. Errors: Input if the ranks do not divide into equal
/// pipelines.
[[nodiscard]] Status splitReplicas(FoundOps& found, const std::string& where);

} // namespace bubblescope
