#include "core/formats/perfetto/stream_event.h"

#include <variant>

namespace bubblescope::perfetto {

const Arg* StreamEvent::find(std::string_view arg) const {
    std::size_t at = find_hint;
    for (std::size_t looked = 0; looked < args.size(); ++looked, ++at) {
        if (at >= args.size()) at = 0;
        if (args[at].name != arg) continue;
        find_hint = at + 1;
        return &args[at];
    }
    return nullptr;
}

std::optional<std::int64_t> StreamEvent::integer(std::string_view arg) const {
    const Arg* const found = find(arg);
    if (found == nullptr) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(&found->value)) return *number;
    if (const auto* flag = std::get_if<bool>(&found->value)) return *flag ? 1 : 0;
    return std::nullopt;
}

std::optional<std::string_view> StreamEvent::text(std::string_view arg) const {
    const Arg* const found = find(arg);
    const auto* text = found != nullptr ? std::get_if<std::string_view>(&found->value) : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
}

} // namespace bubblescope::perfetto
