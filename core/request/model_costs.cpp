#include "core/request/model_costs.h"

#include "core/cost/model_presets.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

namespace bubblescope {
namespace {

using overlap::Operator;
using overlap::Operators;

/// One layer's operators on one of its tensor-parallel ranks.
class LayerOps {
public:
    LayerOps(const TransformerShape& shape, const DeviceSpeed& speed)
        : speed_(speed), tokens_(real(shape.sequence * shape.microbatch)), sequence_(real(shape.sequence)),
          hidden_(real(shape.hidden)), ranks_(real(shape.tp)),
          ffn_(real(shape.ffn == 0 ? 4 * shape.hidden : shape.ffn)),
          kv_(hidden_ * real(shape.kv_heads == 0 ? shape.heads : shape.kv_heads) / real(shape.heads)),
          gated_(shape.swiglu) {}

    [[nodiscard]] Operators forward() const {
        return {elementwise("norm", 2 * hidden_),
                matmul("matmul qkv", hidden_, (hidden_ + 2 * kv_) / ranks_),
                attention(1),
                matmul("matmul out", hidden_ / ranks_, hidden_),
                reduce(),
                elementwise("add residual", 3 * hidden_),
                elementwise("norm", 2 * hidden_),
                matmul("matmul ffn1", hidden_, (gated_ ? 2 : 1) * ffn_ / ranks_),
                elementwise("activation", (gated_ ? 3 : 2) * ffn_ / ranks_),
                matmul("matmul ffn2", ffn_ / ranks_, hidden_),
                reduce(),
                elementwise("add residual", 3 * hidden_)};
    }

    /// The matrix products are two of the forward's size, one of which computes the weight gradient.
    [[nodiscard]] Operators backward() const {
        return {elementwise("residual grad", 2 * hidden_),
                gradient(matmul("matmul ffn2 grad", ffn_ / ranks_, hidden_)),
                elementwise("activation grad", (gated_ ? 5 : 3) * ffn_ / ranks_),
                gradient(matmul("matmul ffn1 grad", hidden_, (gated_ ? 2 : 1) * ffn_ / ranks_)),
                reduce(),
                elementwise("norm grad", 3 * hidden_),
                elementwise("residual grad", 2 * hidden_),
                gradient(matmul("matmul out grad", hidden_ / ranks_, hidden_)),
                attention(2.5),
                gradient(matmul("matmul qkv grad", hidden_, (hidden_ + 2 * kv_) / ranks_)),
                reduce(),
                elementwise("norm grad", 3 * hidden_)};
    }

private:
    static double real(std::int64_t number) { return static_cast<double>(number); }

    static TimeNs time(double seconds) {
        constexpr double kLeast = 2e-6; // time to launch a kernel
        return TimeNs{std::llround(std::fmax(seconds, kLeast) * 1e9)};
    }

    static Operator op(std::string_view name, TimeNs time) {
        Operator made;
        made.name = name;
        made.time = made.assumed = time;
        return made;
    }

    /// The product of tokens × `in` and `in` × `out`.
    [[nodiscard]] Operator matmul(std::string_view name, double in, double out) const {
        Operator made = op(name, time(2 * tokens_ * in * out / speed_.flops));
        made.splittable = true;
        return made;
    }

    static Operator gradient(Operator made) {
        made.weight_grad = made.time;
        made.time *= 2;
        made.assumed = made.time;
        made.splittable = false;
        return made;
    }

    /// Scores and their product with the values; causal attention needs half of them.
    [[nodiscard]] Operator attention(double products) const {
        return op(products > 1 ? "attention grad" : "attention",
                  time(products * 2 * tokens_ * sequence_ * hidden_ / ranks_ / speed_.flops));
    }

    /// `elements` of 16 bits for each token.
    [[nodiscard]] Operator elementwise(std::string_view name, double elements) const {
        return op(name, time(2 * tokens_ * elements / speed_.memory_bytes));
    }

    [[nodiscard]] Operator reduce() const {
        Operator made = op("all_reduce", time(speed_.reduce_latency + 2 * tokens_ * hidden_ / speed_.reduce_bytes));
        made.all_reduce = true;
        return made;
    }

    DeviceSpeed speed_;
    double tokens_;
    double sequence_;
    double hidden_;
    double ranks_;
    double ffn_;
    double kv_;
    bool gated_;
};

} // namespace

Result<overlap::OpCosts> modelOpCosts(const std::string& preset, int tensor_ranks, int layers,
                                      const DeviceSpeed& speed) {
    BUBBLESCOPE_ASSIGN(TransformerShape shape, modelPresetShape(preset));
    if (shape.experts.count > 0)
        return usageError(fmt::format("{} has experts, whose operators are not estimated here", preset),
                          "choose a model without experts, or use the `plan` command");
    shape.tp = tensor_ranks;
    BUBBLESCOPE_TRY(transformerSizes(shape)); // rejects ranks that do not divide it
    const LayerOps ops(shape, speed);
    overlap::OpCosts costs;
    costs.name =
        fmt::format("{}, tensor parallel {}, estimated: {:.0f} TFLOP/s, {:.1f} TB/s of memory, all-reduces at "
                    "{:.0f} GB/s",
                    preset, tensor_ranks, speed.flops / 1e12, speed.memory_bytes / 1e12, speed.reduce_bytes / 1e9);
    costs.layers = layers;
    costs.forward = ops.forward();
    costs.backward = ops.backward();
    costs.slice_loss = 0.02;
    return overlap::withLayers(std::move(costs), layers);
}

} // namespace bubblescope
