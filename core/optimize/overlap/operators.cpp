#include "core/optimize/overlap/operators.h"

#include "core/base/input_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace bubblescope::overlap {
namespace {

TimeNs slicedTime(TimeNs time, int slices, double loss) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * (1 + loss * (slices - 1)))};
}

int slicesFor(const Operator& op, TimeNs longest, int max, double loss) {
    if (!op.splittable || op.time <= longest) return 1;
    int slices = 2;
    while (slices < max && slicedTime(op.time, slices, loss) > longest * slices)
        ++slices;
    return std::min(slices, max);
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
            return usageError(
                fmt::format("{} layers of {} operators exceed {} in one pass", layers, ops->size(), kMaxOperators),
                "use fewer layers");
        }
        TimeNs left = kLongestPass / layers;
        for (const Operator& op : *ops) {
            if (op.time > left) {
                return usageError(
                    fmt::format("{} layers take longer than {} in one pass", layers, formatTime(kLongestPass)),
                    "check the units of the times, or use fewer layers");
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

Operators splitLongOps(const Operators& ops, TimeNs longest, int max, double loss) {
    Operators out;
    for (const Operator& op : ops) {
        const int slices = slicesFor(op, longest, max, loss);
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

Operators splitWeightGrads(const Operators& ops) {
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

namespace {

using Json = nlohmann::json;

constexpr const char* kShape = R"(operators look like {"op":"matmul","time":"399us"}; times have a unit)";

/// An object of the document. Each member is read once; unread members are an error at the end.
class Members {
public:
    Members(const Json& object, std::string where, std::string path)
        : object_(object), where_(std::move(where)), path_(std::move(path)) {}

    [[nodiscard]] Error error(std::string_view key, std::string_view message) const {
        return inputError(where_, fmt::format("{}{}{} {}", path_, path_.empty() ? "" : ".", key, message), kShape);
    }

    [[nodiscard]] const Json* find(const char* key) {
        known_.emplace_back(key);
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }

    Status time(const char* key, TimeNs& into) {
        const Json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_string()) return error(key, fmt::format("is {}, not a time such as \"400us\"", value->dump()));
        auto parsed = parseTime(value->get_ref<const std::string&>());
        if (!parsed.ok()) return error(key, fmt::format("is {}: {}", value->dump(), parsed.error().message));
        into = parsed.value();
        return {};
    }

    Status integer(const char* key, int min, int max, int& into) {
        const Json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_number_integer() || *value < min || *value > max)
            return error(key, fmt::format("is {}, not a whole number from {} to {}", value->dump(), min, max));
        into = value->get<int>();
        return {};
    }

    Status fraction(const char* key, double& into) {
        const Json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_number() || *value < 0 || *value > 1)
            return error(key, fmt::format("is {}, not a number from 0 to 1", value->dump()));
        into = value->get<double>();
        return {};
    }

    Status flag(const char* key, bool& into) {
        const Json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_boolean()) return error(key, fmt::format("is {}, not true or false", value->dump()));
        into = value->get<bool>();
        return {};
    }

    Status text(const char* key, std::string& into) {
        const Json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_string()) return error(key, fmt::format("is {}, not text", value->dump()));
        into = value->get<std::string>();
        return {};
    }

    /// Rejects unread members, which are probably misspelt.
    Status done() const {
        for (const auto& [key, value] : object_.items()) {
            if (std::ranges::find(known_, key) == known_.end())
                return error(key, fmt::format("is unknown; known names: {}", fmt::join(known_, ", ")));
        }
        return {};
    }

private:
    const Json& object_;
    std::string where_;
    std::string path_;
    std::vector<std::string> known_;
};

Result<Operator> readOperator(const Json& entry, const std::string& where, const std::string& path) {
    if (!entry.is_object()) return inputError(where, fmt::format("{} is not an operator", path), kShape);
    Members members(entry, where, path);
    Operator op;
    op.time = TimeNs{-1};
    BUBBLESCOPE_TRY(members.text("op", op.name));
    if (op.name.empty()) return members.error("op", "is missing");
    BUBBLESCOPE_TRY(members.time("time", op.time));
    if (op.time.count() < 0) return members.error("time", "is missing");
    op.assumed = op.time;
    BUBBLESCOPE_TRY(members.time("assumed", op.assumed));
    if (op.assumed > std::chrono::seconds(1000)) return members.error("assumed", "is longer than 1000 s");
    BUBBLESCOPE_TRY(members.time("weight_grad", op.weight_grad));
    BUBBLESCOPE_TRY(members.flag("splittable", op.splittable));
    BUBBLESCOPE_TRY(members.flag("all_reduce", op.all_reduce));
    BUBBLESCOPE_TRY(members.done());
    if (op.weight_grad > op.time) return members.error("weight_grad", "is longer than its operator");
    if (op.all_reduce && (op.splittable || op.weight_grad.count() > 0))
        return members.error("all_reduce", "cannot be true for an operator that is also a matmul");
    return op;
}

Result<Operators> readLayer(Members& members, const char* key, const std::string& where) {
    const Json* const list = members.find(key);
    if (list == nullptr || !list->is_array() || list->empty()) return members.error(key, "is not a list of operators");
    Operators ops;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string path = fmt::format("{}[{}]", key, i);
        BUBBLESCOPE_ASSIGN(Operator op, readOperator((*list)[i], where, path));
        if (op.all_reduce && (ops.empty() || ops.back().all_reduce)) {
            return inputError(where, fmt::format("{} is an all-reduce without a compute operator before it", path),
                              "put it after the operator that produces its input; merge consecutive ones into one");
        }
        ops.push_back(std::move(op));
    }
    return ops;
}

Status readSlices(const Json& value, const std::string& where, OpCosts& costs) {
    if (!value.is_object()) return inputError(where, "slices is not an object", R"(as in {"most":4,"loss":0.02})");
    Members members(value, where, "slices");
    BUBBLESCOPE_TRY(members.integer("most", 1, 16, costs.max_slices));
    BUBBLESCOPE_TRY(members.fraction("loss", costs.slice_loss));
    return members.done();
}

Result<OpCosts> read(const Json& document, const std::string& where) {
    if (!document.is_object()) return inputError(where, "not a JSON object", kShape);
    Members members(document, where, "");
    OpCosts costs;
    int priority = -1;
    TimeNs budget{-1};
    BUBBLESCOPE_TRY(members.text("name", costs.name));
    (void)members.find("note"); // for human readers
    int layers = 1;
    BUBBLESCOPE_TRY(members.integer("layers_per_stage", 1, 1000, layers));
    BUBBLESCOPE_TRY(members.integer("stream_priority", -1, 0, priority));
    costs.rules.high_priority = priority < 0;
    BUBBLESCOPE_TRY(members.time("cut_time", costs.rules.cut_time));
    if (costs.rules.cut_time > std::chrono::seconds(1)) return members.error("cut_time", "is longer than a second");
    BUBBLESCOPE_TRY(members.time("cut_budget", budget));
    if (budget.count() >= 0) costs.cut_budget = budget;
    if (const Json* const slices = members.find("slices")) BUBBLESCOPE_TRY(readSlices(*slices, where, costs));
    BUBBLESCOPE_ASSIGN(costs.forward, readLayer(members, "forward", where));
    BUBBLESCOPE_ASSIGN(costs.backward, readLayer(members, "backward", where));
    BUBBLESCOPE_TRY(members.done());
    auto sized = withLayers(std::move(costs), layers);
    if (!sized.ok()) return inputError(where, sized.error().message, sized.error().hint);
    return sized;
}

} // namespace

Result<OpCosts> opCostsFromJson(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(const Json document, parseJsonDocument(text, where, kShape));
    try {
        return read(document, where);
    } catch (const Json::exception& error) {
        return inputError(where, fmt::format("not a cost model: {}", error.what()), kShape);
    }
}

Result<OpCosts> readOpCosts(const std::filesystem::path& file) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file.string(), "a cost model"));
    return opCostsFromJson(text, file.string());
}

} // namespace bubblescope::overlap
