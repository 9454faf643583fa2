#include "core/recognise/straggler_names.h"

#include "core/base/text.h"

namespace bubblescope {
namespace {

/// The number after a word, as in "PP rank 3, TP rank 0, compute".
std::optional<std::int64_t> numberFollowing(std::string_view text, std::string_view word) {
    std::size_t at = text.find(word);
    if (at == std::string_view::npos) return std::nullopt;
    at += word.size();
    while (at < text.size() && (text[at] == ' ' || text[at] == '['))
        ++at;
    text.remove_prefix(at);
    const auto number = takeNumber<std::int64_t>(text);
    return number && *number >= 0 ? number : std::nullopt;
}

} // namespace

std::optional<StragglerPlace> stragglerPlace(const Trace& trace, const Track& track) {
    const std::string_view thread = trace.text(track.thread_name);
    const auto pp = numberFollowing(thread, "PP rank");
    if (!pp) return std::nullopt;
    const auto dp = numberFollowing(trace.text(track.process_name), "DP rank");
    return StragglerPlace{*pp, numberFollowing(thread, "TP rank").value_or(0), dp.value_or(track.pid)};
}

} // namespace bubblescope
