#include "core/trace/trace.h"

namespace bubblescope {

std::span<const Arg> Trace::args(ArgSetId set) const {
    if (set == 0) return {};
    const std::size_t begin = arg_ends_[set - 1];
    return {args_pool_.data() + begin, arg_ends_[set] - begin};
}

std::optional<ArgValue> Trace::arg(ArgSetId set, std::string_view name) const {
    const StringId wanted = strings_.find(name);
    if (wanted == 0) return std::nullopt;
    for (const Arg& entry : args(set)) {
        if (entry.name == wanted) return entry.value;
    }
    return std::nullopt;
}

std::optional<std::int64_t> Trace::intArg(ArgSetId set, std::string_view name) const {
    const auto value = arg(set, name);
    if (!value || (value->type != ArgValue::Type::Int && value->type != ArgValue::Type::Bool)) return std::nullopt;
    return value->number;
}

std::optional<std::string_view> Trace::textArg(ArgSetId set, std::string_view name) const {
    const auto value = arg(set, name);
    if (!value || value->type != ArgValue::Type::Text) return std::nullopt;
    return text(value->text());
}

} // namespace bubblescope
