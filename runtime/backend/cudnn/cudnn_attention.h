#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/accelerator.h"
#include "runtime/backend/cudnn/attention_kernels.h"
#include "runtime/backend/cudnn/attention_plans.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// Causal attention by cuDNN on one device. Thread-safe for different queues; failures are reported as exceptions.
class CudnnAttention {
public:
    /// Loads cuDNN, whose calls use the calling thread's device, which has this compute capability. Error: Run, with
    /// the reason, if cuDNN is missing or cannot compute attention deterministically on the device.
    [[nodiscard]] static Result<std::shared_ptr<CudnnAttention>> open(int capability);
    explicit CudnnAttention(std::shared_ptr<const CudnnLibrary> cudnn);
    CudnnAttention(const CudnnAttention&) = delete;
    CudnnAttention& operator=(const CudnnAttention&) = delete;
    ~CudnnAttention();

    /// "cuDNN 9.19.0"
    [[nodiscard]] std::string title() const { return "cuDNN " + cudnn_->version(); }

    /// True for whole sequences. cuDNN cannot add gradients in float, as slices of a sequence need it.
    [[nodiscard]] static bool takes(const AttentionSizes& sizes) { return sizes.rows == sizes.seen; }
    /// Workspace of a queue for the gradient of these sizes, which is the largest: see AttentionPlan. The plans that
    /// cuDNN 9.19 and 9.28 find for an H200 need 256 bytes more.
    [[nodiscard]] static std::int64_t workspaceOf(const AttentionSizes& sizes) {
        return takes(sizes) ? 2 * sizes.pairs() * sizes.rows * sizes.seen : 0;
    }

    /// cuDNN's handle and workspace for one stream; used by one thread at a time.
    class Queue {
    public:
        /// `stream` is the handle of the device's own library. `device` must outlive the queue.
        Queue(const CudnnAttention& attention, Accelerator& device, void* stream);
        Queue(const Queue&) = delete;
        Queue& operator=(const Queue&) = delete;
        ~Queue();

    private:
        friend class CudnnAttention;
        [[nodiscard]] void* workspace(std::int64_t bytes);

        std::shared_ptr<const CudnnLibrary> cudnn_;
        Accelerator& device_;
        CudnnLibrary::Handle handle_ = nullptr;
        std::vector<void*> memory_; ///< the last one is in use; others may be part of a graph of kernels
        std::int64_t size_ = 0;
    };

    /// Finds the plan, allocates its workspace, and returns a function that queues the work, which may be called more
    /// than once, while the queue exists.
    [[nodiscard]] std::function<void()> attend(const FusedAttention& attention, Queue& queue);
    [[nodiscard]] std::function<void()> attendBackward(const FusedAttentionGradient& attention, Queue& queue);

private:
    /// Sizes, strides and scale of an attention.
    using Key = std::array<std::int64_t, 24>;

    template <class Attention>
    [[nodiscard]] const AttentionPlan& planOf(const Attention& attention, const Key& key);

    std::shared_ptr<const CudnnLibrary> cudnn_;
    CudnnLibrary::Handle handle_ = nullptr; ///< for plans
    std::mutex mutex_;
    std::map<Key, std::unique_ptr<AttentionPlan>> plans_;
};

/// The kernels of a device, and a note about them for the user: "attention: own kernels (default)".
struct AttentionChoice {
    std::shared_ptr<CudnnAttention> cudnn; ///< null: own kernels
    std::string note;
};

/// Chooses the kernels for the calling thread's device. Auto means `by_default`, but own kernels if that fails. Error:
/// Run, with the reason, if cuDNN was asked for and cannot be used.
[[nodiscard]] Result<AttentionChoice> chooseAttention(AttentionKernels asked, int capability,
                                                      AttentionKernels by_default = kAutoAttention);

} // namespace bubblescope::runtime
