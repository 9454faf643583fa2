#include "core/optimize/overlap/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bubblescope::overlap {
namespace {

TimeNs slicedTime(TimeNs time, int slices, double loss) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * (1 + loss * (slices - 1)))};
}

int slicesFor(const Operator& op, TimeNs longest, int most, double loss) {
    if (!op.splittable || op.time <= longest) return 1;
    int slices = 2;
    while (slices < most && slicedTime(op.time, slices, loss) > longest * slices)
        ++slices;
    return std::min(slices, most);
}

} // namespace

TimeNs computeTime(const Operators& ops) {
    TimeNs sum{0};
    for (const Operator& op : ops)
        sum += op.all_reduce ? TimeNs{0} : op.time;
    return sum;
}

TimeNs allReduceTime(const Operators& ops) {
    TimeNs sum{0};
    for (const Operator& op : ops)
        sum += op.all_reduce ? op.time : TimeNs{0};
    return sum;
}

TimeNs longestAllReduce(const Operators& ops) {
    TimeNs longest{0};
    for (const Operator& op : ops)
        longest = std::max(longest, op.all_reduce ? op.time : TimeNs{0});
    return longest;
}

Result<OpCosts> withLayers(OpCosts costs, int layers) {
    constexpr std::size_t kMaxOperators = 2000;
    constexpr TimeNs kLongestPass = std::chrono::seconds(1000);
    for (const Operators* ops : {&costs.forward, &costs.backward}) {
        if (ops->size() * static_cast<std::size_t>(layers) > kMaxOperators) {
            return usageError(fmt::format("{} layers of {} operators are more than {} in one pass", layers, ops->size(),
                                          kMaxOperators),
                              "give fewer layers");
        }
        TimeNs left = kLongestPass / layers;
        for (const Operator& op : *ops) {
            if (op.time > left) {
                return usageError(
                    fmt::format("{} layers take more than {} in one pass", layers, formatTime(kLongestPass)),
                    "check the units of the times, or give fewer layers");
            }
            left -= op.time;
        }
    }
    costs.layers = layers;
    return costs;
}

Operators stagePass(const Operators& layer, int layers) {
    Operators pass;
    pass.reserve(layer.size() * static_cast<std::size_t>(layers));
    for (int i = 0; i < layers; ++i)
        pass.insert(pass.end(), layer.begin(), layer.end());
    return pass;
}

Operators splitLongOps(const Operators& ops, TimeNs longest, int most, double loss) {
    Operators out;
    for (const Operator& op : ops) {
        const int slices = slicesFor(op, longest, most, loss);
        if (slices == 1) {
            out.push_back(op);
            continue;
        }
        const TimeNs whole = slicedTime(op.time, slices, loss);
        for (int i = 0; i < slices; ++i) {
            Operator slice = op;
            slice.name = fmt::format("{} {}/{}", op.name, i + 1, slices);
            slice.time = whole * (i + 1) / slices - whole * i / slices;
            slice.assumed = slice.time;
            slice.weight_grad = op.weight_grad * (i + 1) / slices - op.weight_grad * i / slices;
            out.push_back(slice);
        }
    }
    return out;
}

Operators takeWeightGradsApart(const Operators& ops) {
    Operators out;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const bool apart = ops[i].weight_grad.count() > 0 && i + 1 < ops.size() && ops[i + 1].all_reduce;
        out.push_back(ops[i]);
        if (!apart) continue;
        Operator weight = ops[i];
        Operator& input = out.back();
        input.name += " dX";
        input.time -= input.weight_grad;
        input.assumed = input.time;
        input.weight_grad = TimeNs{0};
        out.push_back(ops[++i]);
        out.back().own_stream = true;
        weight.name += " dW";
        weight.time = weight.assumed = weight.weight_grad;
        weight.weight_grad = TimeNs{0};
        weight.waits_reduce = false;
        out.push_back(weight);
    }
    return out;
}

} // namespace bubblescope::overlap
