#include "core/recognise/native_args.h"

#include <charconv>
#include <system_error>

namespace bubblescope {
namespace {

/// The number that follows `prefix` at the begin of `text`, which is cut off.
std::optional<std::int64_t> numberAfter(std::string_view prefix, std::string_view& text) {
    if (!text.starts_with(prefix)) return std::nullopt;
    const std::string_view digits = text.substr(prefix.size());
    std::int64_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc{} || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return number;
}

} // namespace

std::optional<OwnHome> ownHome(std::string_view process) {
    const auto rank = numberAfter("rank ", process);
    if (!rank) return std::nullopt;
    const std::int64_t replica = numberAfter(" of replica ", process).value_or(0);
    return OwnHome{*rank, replica, numberAfter(", tensor rank ", process).value_or(0)};
}

} // namespace bubblescope
