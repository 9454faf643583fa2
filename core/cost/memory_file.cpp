#include "core/base/input_file.h"
#include "core/cost/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60U;
constexpr std::int64_t kMaxLayers = 1'000'000;

Status readBytes(const Json& object, const std::string& key, const InputPlace& place, std::int64_t& value) {
    BUBBLESCOPE_ASSIGN(const auto bytes, bytesField(object, key, place));
    if (bytes.value_or(0) > kMaxBytes) return place.at(key).error("exceeds an exbibyte");
    value = bytes.value_or(value);
    return {};
}

Status readNumber(const Json& object, const std::string& key, std::int64_t max, const InputPlace& place,
                  std::int64_t& value) {
    BUBBLESCOPE_ASSIGN(const auto number, numberField(object, key, max, place));
    value = number.value_or(value);
    return {};
}

Status readFlag(const Json& object, const std::string& key, const InputPlace& place, bool& value) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    if (!found->is_boolean()) return place.at(key).error("is neither true nor false");
    value = found->get<bool>();
    return {};
}

/// Reads a field that must be one of `names`; `value` is unchanged if the field is absent.
Status readChoice(const Json& object, const std::string& key, std::initializer_list<std::string_view> names,
                  const InputPlace& place, std::size_t& value) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    const auto name = found->is_string()
                          ? std::ranges::find(names, std::string_view(found->get_ref<const std::string&>()))
                          : names.end();
    if (name == names.end()) return place.at(key).error("is not one of the allowed values");
    value = static_cast<std::size_t>(name - names.begin());
    return {};
}

Result<LayerSizes> readLayer(const Json& entry, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(
        entry,
        {"count", "parameters", "activation", "input", "until_weight_grad", "forward_workspace", "backward_workspace"},
        place));
    LayerSizes layer;
    BUBBLESCOPE_TRY(readNumber(entry, "parameters", kMaxBytes, place, layer.parameters));
    BUBBLESCOPE_TRY(readBytes(entry, "activation", place, layer.activation));
    BUBBLESCOPE_TRY(readBytes(entry, "input", place, layer.input));
    if (layer.input > layer.activation) return place.at("input").error("exceeds the activation");
    BUBBLESCOPE_TRY(readBytes(entry, "until_weight_grad", place, layer.until_weight_grad));
    BUBBLESCOPE_TRY(readBytes(entry, "forward_workspace", place, layer.forward_workspace));
    BUBBLESCOPE_TRY(readBytes(entry, "backward_workspace", place, layer.backward_workspace));
    return layer;
}

Status readLayers(const WrittenInput& input, ModelSizes& sizes) {
    BUBBLESCOPE_ASSIGN(const Json* const list, listField(input.document, "layers", input.place));
    for (std::size_t i = 0; i < list->size(); ++i) {
        const InputPlace place = input.row("layers", i);
        BUBBLESCOPE_ASSIGN(const LayerSizes layer, readLayer((*list)[i], place));
        std::int64_t count = 1;
        BUBBLESCOPE_TRY(readNumber((*list)[i], "count", kMaxLayers, place, count));
        if (static_cast<std::int64_t>(sizes.layers.size()) + count > kMaxLayers)
            return place.error("exceeds a million layers");
        sizes.layers.insert(sizes.layers.end(), static_cast<std::size_t>(count), layer);
    }
    return {};
}

Result<ModelSizes> readTransformer(const Json& entry, const InputPlace& place) {
    BUBBLESCOPE_TRY(
        checkKeys(entry,
                  {"layers", "hidden", "heads", "kv_heads", "ffn", "sequence", "microbatch", "vocabulary", "tp",
                   "dtype_bytes", "sequence_parallel", "mlp", "dropout", "flash_attention", "recompute"},
                  place));
    TransformerShape shape;
    const auto number = [&](const char* key, std::int64_t& value) {
        return readNumber(entry, key, kMaxBytes, place, value);
    };
    BUBBLESCOPE_TRY(number("layers", shape.layers));
    BUBBLESCOPE_TRY(number("hidden", shape.hidden));
    BUBBLESCOPE_TRY(number("heads", shape.heads));
    BUBBLESCOPE_TRY(number("kv_heads", shape.kv_heads));
    BUBBLESCOPE_TRY(number("ffn", shape.ffn));
    BUBBLESCOPE_TRY(number("sequence", shape.sequence));
    BUBBLESCOPE_TRY(number("microbatch", shape.microbatch));
    BUBBLESCOPE_TRY(number("vocabulary", shape.vocabulary));
    BUBBLESCOPE_TRY(number("tp", shape.tp));
    BUBBLESCOPE_TRY(number("dtype_bytes", shape.dtype_bytes));
    BUBBLESCOPE_TRY(readFlag(entry, "sequence_parallel", place, shape.sequence_parallel));
    BUBBLESCOPE_TRY(readFlag(entry, "dropout", place, shape.dropout));
    BUBBLESCOPE_TRY(readFlag(entry, "flash_attention", place, shape.flash_attention));
    std::size_t mlp = 0;
    BUBBLESCOPE_TRY(readChoice(entry, "mlp", {"gelu", "swiglu"}, place, mlp));
    shape.swiglu = mlp == 1;
    std::size_t recompute = 0;
    BUBBLESCOPE_TRY(readChoice(entry, "recompute", {"none", "attention", "full", "selective"}, place, recompute));
    shape.recompute = static_cast<TransformerShape::Recompute>(recompute);
    auto sizes = transformerSizes(shape);
    if (!sizes.ok()) return inputError(place.file, sizes.error().message, sizes.error().hint);
    return sizes;
}

Status readParameterBytes(const Json& document, const InputPlace& place, ModelSizes& sizes) {
    const auto bytes = document.find("bytes_per_parameter");
    if (bytes != document.end()) {
        const InputPlace here = place.at("bytes_per_parameter");
        BUBBLESCOPE_TRY(checkKeys(*bytes, {"weights", "gradients", "optimizer"}, here));
        BUBBLESCOPE_TRY(readNumber(*bytes, "weights", 1024, here, sizes.weight_bytes));
        BUBBLESCOPE_TRY(readNumber(*bytes, "gradients", 1024, here, sizes.gradient_bytes));
        BUBBLESCOPE_TRY(readNumber(*bytes, "optimizer", 1024, here, sizes.optimizer_bytes));
    }
    BUBBLESCOPE_TRY(readNumber(document, "optimizer_shards", 1'000'000, place, sizes.optimizer_shards));
    if (sizes.optimizer_shards < 1) return place.at("optimizer_shards").error("is 0; 1 means not shared");
    BUBBLESCOPE_TRY(readNumber(document, "weight_shards", 1'000'000, place, sizes.weight_shards));
    if (sizes.weight_shards < 1) return place.at("weight_shards").error("is 0; 1 means not shared");
    return {};
}

Status readCut(const Json& document, const InputPlace& place, ModelSizes& sizes) {
    if (!document.contains("layers_per_stage")) return {};
    BUBBLESCOPE_ASSIGN(const Json* const list, listField(document, "layers_per_stage", place));
    for (std::size_t i = 0; i < list->size(); ++i) {
        const InputPlace here = place.at(fmt::format("layers_per_stage[{}]", i));
        BUBBLESCOPE_ASSIGN(const auto count, numberField({{"number", (*list)[i]}}, "number", kMaxLayers, here));
        sizes.layers_per_stage.push_back(static_cast<int>(*count));
    }
    return {};
}

} // namespace

Result<ModelSizes> readModelSizes(const std::string& file) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file));
    return modelSizesFrom(text, file);
}

Result<ModelSizes> modelSizesFrom(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(
        const WrittenInput input,
        inputFrom(text, where, "",
                  R"(memory models look like {"layers": [{"parameters": 1000, "activation": "1MiB"}, …]} or )"
                  R"({"transformer": {…}})"));
    const Json& document = input.document;
    BUBBLESCOPE_TRY(checkKeys(document,
                              {"layers", "first", "last", "transformer", "bytes_per_parameter", "optimizer_shards",
                               "weight_shards", "layers_per_stage"},
                              input.place));
    ModelSizes sizes;
    const auto transformer = document.find("transformer");
    if (transformer == document.end()) {
        BUBBLESCOPE_TRY(readLayers(input, sizes));
    } else {
        if (document.contains("layers"))
            return input.place.at("layers").error("cannot be combined with \"transformer\"");
        BUBBLESCOPE_ASSIGN(sizes, readTransformer(*transformer, input.place.at("transformer")));
    }
    for (const auto& [key, extra] : {std::pair("first", &sizes.first), {"last", &sizes.last}}) {
        if (!document.contains(key)) continue;
        BUBBLESCOPE_ASSIGN(*extra, readLayer(document[key], input.place.at(key)));
        if (document[key].contains("count")) return input.place.at(key).error("has a count, but can occur only once");
    }
    BUBBLESCOPE_TRY(readParameterBytes(document, input.place, sizes));
    BUBBLESCOPE_TRY(readCut(document, input.place, sizes));
    return sizes;
}

} // namespace bubblescope
