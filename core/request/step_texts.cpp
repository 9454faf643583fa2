#include "core/request/step_texts.h"

#include "core/base/field.h"

#include <fmt/format.h>

namespace bubblescope {

Result<StepRequest> StepTexts::request() const {
    StepRequest parsed;
    parsed.replicas = replicas;
    parsed.ranks = ranks;
    if (!steps.empty()) {
        BUBBLESCOPE_ASSIGN(parsed.steps, parseStepRanges(fmt::format("{}", fmt::join(steps, ","))));
    }
    return parsed;
}

std::vector<std::string> StepTexts::words() const {
    std::vector<std::string> words;
    const auto add = [&](Field field, const auto& values) {
        if (values.empty()) return;
        words.emplace_back(optionOf(field));
        words.push_back(fmt::format("{}", fmt::join(values, ",")));
    };
    add(Field("step"), steps);
    add(Field("replica"), replicas);
    add(Field("rank"), ranks);
    return words;
}

} // namespace bubblescope
