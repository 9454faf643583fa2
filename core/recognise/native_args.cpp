#include "core/recognise/native_args.h"

#include "core/base/text.h"

namespace bubblescope {
namespace {

/// The number that follows `prefix` at the begin of `text`, which is cut off.
std::optional<std::int64_t> numberAfter(std::string_view prefix, std::string_view& text) {
    if (!text.starts_with(prefix)) return std::nullopt;
    std::string_view rest = text.substr(prefix.size());
    const auto number = takeNumber<std::int64_t>(rest);
    if (!number || *number < 0) return std::nullopt;
    text = rest;
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
