#include "core/base/field.h"

#include <algorithm>

namespace bubblescope {
namespace {

std::string_view ownName(Field field) {
    return field.name();
}

FieldWords words{ownName, "="};

} // namespace

void setFieldWords(const FieldWords& surface) {
    words = surface;
}

std::string_view Field::text() const {
    return words.name(*this);
}

std::string Field::with(std::string_view value) const {
    return fmt::format("{}{}{}", text(), words.before_value, value);
}

std::string_view optionOf(Field field) {
    static const std::array<std::string, kFields.size()> options = [] {
        std::array<std::string, kFields.size()> made;
        for (std::size_t at = 0; at < made.size(); ++at) {
            made[at] = fmt::format("--{}", kFields[at]);
            std::ranges::replace(made[at], '_', '-');
        }
        return made;
    }();
    return options[field.index()];
}

std::string optionOf(Field field, std::string_view value) {
    return fmt::format("{} {}", optionOf(field), value);
}

} // namespace bubblescope
