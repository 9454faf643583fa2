#include "core/request/run_model_request.h"

#include "core/base/field.h"
#include "core/base/text.h"
#include "core/frameworks/layer_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace bubblescope {

Result<RunModel> RunModelRequest::model(const Run& run, const RunClocks& clocks) const {
    BUBBLESCOPE_ASSIGN(const StepSelection selection, selectSteps(run.steps, steps));
    return runModel(run, selection, clocks.bound());
}

Result<ModelCut> RunModelRequest::cut(int pp) const {
    ModelCut cut{{}, input_share / 100};
    if (layers.empty()) return cut;
    if (layers.find_first_of("EtmL|") != std::string::npos) {
        BUBBLESCOPE_ASSIGN(const LayerLayout layout, layoutFromMegatron(layers, pp));
        cut.layers = layout.layers().layers_per_stage;
    } else if (layers.starts_with("0,") || layers.starts_with('[')) {
        BUBBLESCOPE_ASSIGN(const Partition parts, partitionFromDeepSpeed(layers));
        cut.layers = parts.layers_per_stage;
    } else {
        for (std::string_view rest = layers; !rest.empty();) {
            const std::string_view number = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(number.size() + 1, rest.size()));
            cut.layers.push_back(parseNumber<int>(number).value_or(0));
        }
    }
    if (std::ranges::any_of(cut.layers, [](int count) { return count < 1; }))
        return usageError(fmt::format("{}: a stage has no layers", Field("layers").is(layers)),
                          "give each stage at least 1");
    return cut;
}

Result<ModelCut> RunModelRequest::cut(const Run& run) const {
    BUBBLESCOPE_ASSIGN(ModelCut known, cut(run.schedule.pp));
    const std::vector<int>& stated = run.explanation.layers;
    if (layers.empty() && stated.size() == static_cast<std::size_t>(run.schedule.stages())) known.layers = stated;
    return known;
}

std::vector<std::string> RunModelRequest::words() const {
    std::vector<std::string> all = files;
    const RunModelRequest usual;
    const auto add = [&](Field field, std::string value) {
        all.emplace_back(optionOf(field));
        all.push_back(std::move(value));
    };
    for (std::string& word : recognise.words())
        all.push_back(std::move(word));
    std::vector<std::string> ranges;
    for (const StepRequest::Range& range : steps.steps)
        ranges.push_back(toText(range));
    if (!ranges.empty()) add(Field("step"), fmt::format("{}", fmt::join(ranges, ",")));
    if (!steps.replicas.empty()) add(Field("replica"), fmt::format("{}", fmt::join(steps.replicas, ",")));
    if (!steps.ranks.empty()) add(Field("rank"), fmt::format("{}", fmt::join(steps.ranks, ",")));
    if (!layers.empty()) add(Field("layers"), layers);
    if (input_share != usual.input_share) add(Field("input_share"), fmt::format("{}", input_share));
    if (max_error) add(Field("max_error"), fmt::format("{}", *max_error));
    return all;
}

} // namespace bubblescope
