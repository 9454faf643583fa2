#pragma once

#include "runtime/checks/check_context.h"
#include "runtime/checks/layer_reexecution.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Observes the layers that a rank computes: injects faults, records digests of results, and captures the inputs of the
/// layers that the plan repeats. For the rank's thread.
class LayerCapture {
public:
    /// Reference arguments must outlive the capture.
    LayerCapture(CheckContext& context, ReexecutionCosts& costs, LayerReexecution& reexecution)
        : context_(context), costs_(costs), reexecution_(reexecution) {}

    /// Discards earlier captures; `planned` contains the checks of the new step.
    void beginStep(std::span<const PlannedCheck> planned);
    void beginOp(const Op& op, Stage stage, TimeNs begin);
    /// See RankHook.
    [[nodiscard]] std::uint64_t variantOf(std::span<const Op> ops) const;

    // See LayerWatch. The following calls concern the layers of the op that began last.
    [[nodiscard]] bool begin(const LayerCall& call);
    void touch(CheckedTensor tensor, LiveTensor& values);
    void end(std::unique_ptr<ReexecutableLayer> computation);
    [[nodiscard]] bool changes() const { return !injection_->none(); }
    [[nodiscard]] bool watches() const { return changes() || captures_ || tries_ || digests(); }
    [[nodiscard]] bool keepsWeightGradient(int layer) const {
        const auto found = weights_to_come_.find(layer);
        return found != weights_to_come_.end() && found->second > 0;
    }

    /// The result of the last op, without values; nothing if the op has no result.
    [[nodiscard]] const std::optional<ShownTensor>& output() const { return output_; }
    /// The captured parts of a layer's op, unless they were already taken; null if nothing was captured.
    [[nodiscard]] const std::vector<CapturedLayer>* find(const Op& op, int layer) const;
    [[nodiscard]] std::vector<CapturedLayer> take(const Op& op, int layer);

    /// On a device, after the ops of a step: repeats layers twice if they could not be repeated within their op; see
    /// tryTwice(). Releases what was captured but not repeated.
    void tryOnDevice(IdleClock& clock);

private:
    /// An op without its scheduling attributes.
    using OpKey = std::tuple<OpKind, Microbatch, Chunk, std::int32_t>;
    using LayerKey = std::pair<OpKey, int>;
    [[nodiscard]] static OpKey keyOf(const Op& op) { return {op.kind, op.microbatch, op.chunk, op.sequence}; }
    void recordDigests();
    /// True if results are digested, for the trace. The host also uses these digests for messages; a device only
    /// digests the op's output for them.
    [[nodiscard]] bool digests() const {
        return context_.digests() && (context_.setup.options.digests || context_.device == nullptr);
    }

    CheckContext& context_;
    ReexecutionCosts& costs_;
    LayerReexecution& reexecution_;
    std::set<std::pair<LayerPart, int>> tried_; ///< part and kind of layer

    // The current step:
    std::set<LayerKey> wanted_;
    std::map<int, int> weights_to_come_; ///< number of wanted weight gradients in later ops, by layer
    std::map<LayerKey, std::vector<CapturedLayer>> captured_;
    std::int64_t captured_bytes_ = 0;
    std::vector<CapturedLayer> to_try_; ///< on a device: captured layers to be repeated later

    // The current op and part of a layer:
    Op op_;
    Stage stage_;
    TimeNs op_begin_{0};
    LayerCall call_;
    LayerRun run_;
    std::optional<LayerInjection> injection_;
    LayerResult shown_;
    bool captures_ = false;
    bool tries_ = false;
    std::optional<ShownTensor> output_;
    TimeNs layer_began_{0};
};

} // namespace bubblescope::runtime
