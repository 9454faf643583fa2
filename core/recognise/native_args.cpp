#include "core/recognise/native_args.h"

#include "core/recognise/name_pattern.h"

namespace bubblescope {
namespace {

/// Removes `prefix` and the number that follows it from the beginning of `text`; returns the number.
std::optional<std::int64_t> numberAfter(std::string_view prefix, std::string_view& text) {
    std::string_view rest = text;
    if (!takeWord(rest, prefix)) return std::nullopt;
    const auto number = takeNumber(rest);
    if (number) text = rest;
    return number;
}

} // namespace

std::optional<RecordOwner> recordOwner(std::string_view process) {
    const auto rank = numberAfter("rank ", process);
    if (!rank) return std::nullopt;
    const std::int64_t replica = numberAfter(" of replica ", process).value_or(0);
    return RecordOwner{*rank, replica, numberAfter(", tensor rank ", process).value_or(0)};
}

} // namespace bubblescope
