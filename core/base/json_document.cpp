#include "core/base/json_document.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

namespace bubblescope {
namespace {

constexpr int kDeepest = 64;

/// Offset of the bracket that opens one level too many. Of text that is no JSON it may find any: that is refused too.
std::optional<std::size_t> tooDeep(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            if (c == '\\') ++at;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kDeepest) return at;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return std::nullopt;
}

} // namespace

Result<nlohmann::json> parseJsonDocument(std::string_view text, const std::string& where, std::string_view shape) {
    if (const auto at = tooDeep(text)) {
        return inputError(fmt::format("{}, byte {}", where, *at),
                          fmt::format("JSON that nests deeper than {} levels", kDeepest), std::string(shape));
    }
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        return inputError(fmt::format("{}, byte {}", where, error.byte), "not valid JSON", std::string(shape));
    } catch (const nlohmann::json::exception& error) { // numbers that nothing holds
        return inputError(where, fmt::format("not valid JSON: {}", error.what()), std::string(shape));
    }
}

} // namespace bubblescope
