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

/// The mapping from the trace's numbers to ranks, stages and chunks.
struct Layout {
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    int slices = 1; ///< number of sequence slices per micro-batch
    Placement placement = Placement::Loop;
    std::map<std::int64_t, Rank> rank_of_owner;
    std::map<std::int64_t, Location> location_of_stage; ///< only for Parts::Stages

    [[nodiscard]] Location locate(const BareFoundOp& op, Parts parts) const;
};

/// Infers p, m, v and the placement. `where` is the name of the input. Errors: Input if ranks or stages are missing, or
/// if a stage ran on several ranks (replicas of a data-parallel run loaded together).
[[nodiscard]] Result<Layout> inferLayout(const FoundOps& found, const std::string& where);

/// The op that makes a step unusable.
struct OpFault {
    std::optional<int> step;
    std::optional<Rank> rank; ///< rank of `op`; nullopt if whole micro-batches or all ops are missing
    std::optional<Op> op;
    bool twice = false; ///< true if the op was recorded twice, false if it is missing
};

/// Creates the report on a skipped step ("incomplete-step"). The reason can come from opFault().
[[nodiscard]] Diagnostic incompleteStep(std::int64_t step, std::int64_t replica, const Sentence& reason);
[[nodiscard]] Sentence opFault(Rank rank, const Op& op, bool twice);
/// For a missing op that any rank could have run.
[[nodiscard]] Sentence opFault(const Op& op);
/// Parses the fault from a report created by incompleteStep(); nullopt for other problems.
[[nodiscard]] std::optional<OpFault> opFaultOf(const Diagnostic& problem);

/// Assembles the complete steps, in order. In a complete step, each chunk of a pipeline has one forward per sequence
/// slice and micro-batch, and either one backward or an input gradient and a weight gradient. If the entire trace has
/// no backwards, none are required. Other steps are counted in the log and omitted. With two pipelines, each
/// micro-batch belongs to one of them, or to both if each pipeline numbers its micro-batches from 0. Ops of a rank
/// never overlap in the result, except the halves of a pair: the later op is shortened and counted. Errors: Input if no
/// step is complete.
[[nodiscard]] Result<std::vector<StepTimeline>> assembleSteps(FoundOps found, const Layout& layout,
                                                              const std::string& where, DiagnosticLog& log);

/// If several ranks ran the same stages (data parallelism), assigns them to replicas of the pipeline. The k-th rank of
/// a stage belongs to replica k, and its ops get the number of the rank at the same position in replica 0. Ops whose
/// rule provides the replica are left unchanged. `where` is the name of the input. Errors: Input if the ranks cannot be
/// divided into equal pipelines.
[[nodiscard]] Status splitReplicas(FoundOps& found, const std::string& where);

} // namespace bubblescope
