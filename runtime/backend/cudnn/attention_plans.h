#pragma once

#include "runtime/accelerator/kernels/attention.h"
#include "runtime/backend/cudnn/cudnn_library.h"

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

// Causal attention as graphs of cuDNN's basic operations, which cuDNN recognises and runs as its fused kernels. cuDNN's
// single operations for attention (CUDNN_BACKEND_OPERATION_SDPA_…) do not fit: they mask causally only since version
// 9.21, and the backward operation has no attribute for determinism. Versions 9.19 and 9.28 were seen to find plans of
// their fused kernels for these graphs.

/// The tensors of a plan that have memory.
enum class CudnnTensor : std::int64_t {
    Queries = 1,
    Keys,
    Values,
    Output,
    Logs,
    OutputGrad,
    Along, ///< products of outputs with their gradients, by sequence, head and query
    QueriesGrad,
    KeysGrad,
    ValuesGrad,
};

/// Memory for a tensor of a plan.
struct CudnnAddress {
    CudnnTensor tensor;
    const void* data;
};

/// A plan for attention of one shape and layout, which several threads may execute at a time with different handles.
/// Finding a plan takes up to seconds, because cuDNN compiles kernels. Failures are reported as exceptions.
class AttentionPlan {
public:
    /// The forward pass. There must be as many keys as queries.
    AttentionPlan(const CudnnLibrary& cudnn, CudnnLibrary::Handle handle, const FusedAttention& attention);
    /// The backward pass; gradients must be stored as Bf16. cuDNN has no switch for determinism here: it is asked for
    /// by the shape of the graph. If the gradient of the queries were an intermediate float tensor, thread blocks would
    /// add to it in any order. As it is a result, cuDNN stores the gradients of all scores in its workspace, 2 bytes
    /// each.
    AttentionPlan(const CudnnLibrary& cudnn, CudnnLibrary::Handle handle, const FusedAttentionGradient& attention);

    [[nodiscard]] std::int64_t workspace() const { return workspace_; }
    /// Queues the work on the handle's stream.
    void execute(CudnnLibrary::Handle handle, std::span<const CudnnAddress> addresses, void* workspace) const;

private:
    class Graph;
    AttentionPlan(const CudnnLibrary& cudnn, CudnnLibrary::Handle handle, Graph graph);
    /// Takes the first engine that cuDNN's heuristics propose and that can run the graph, the last of `made_of_`.
    [[nodiscard]] CudnnDescriptor choose(CudnnLibrary::Handle handle);

    const CudnnLibrary& cudnn_;
    std::deque<CudnnDescriptor> made_of_;                  ///< the plan refers to these
    std::vector<std::pair<CudnnTensor, float>> constants_; ///< passed by value
    CudnnDescriptor plan_;
    std::int64_t workspace_ = 0;
};

} // namespace bubblescope::runtime
