#include "app/gui/models/row_choice.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr const char* kFilterHint =
    "give numbers and ranges of ranks, such as 0-7, 12, or coordinates, such as pp=0 dp=1";

bool holds(const std::vector<int>& list, int value) {
    return std::ranges::find(list, value) != list.end();
}

bool acceptedBy(const std::vector<RowFilter::Span>& spans, int value) {
    return spans.empty() || std::ranges::any_of(spans, [value](const RowFilter::Span& span) {
               return value >= span.first && value <= span.last;
           });
}

std::optional<int> wholeNumber(std::string_view text) {
    const auto value = parseNumber<int>(text);
    return value && *value >= 0 ? value : std::nullopt;
}

/// "3" or "3-5".
std::optional<RowFilter::Span> numberSpan(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = wholeNumber(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : wholeNumber(text.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    return RowFilter::Span{*first, *last};
}

std::optional<std::size_t> axisNamed(std::string_view name) {
    const auto found = std::ranges::find(kMeshAxisNames, name);
    if (found == kMeshAxisNames.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kMeshAxisNames.begin());
}

/// Adds the parts of a list between commas; false where one of them is no number or range.
bool addSpans(std::string_view list, std::vector<RowFilter::Span>& out) {
    bool any = false;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const std::string_view part = list.substr(0, comma);
        list.remove_prefix(std::min(list.size(), comma + 1));
        if (part.empty()) continue; // "0-7, 12" is two words, the first with a comma at its end
        const auto span = numberSpan(part);
        if (!span) return false;
        out.push_back(*span);
        any = true;
    }
    return any;
}

} // namespace

bool RowChoice::pins(int line) const {
    return holds(pinned, line);
}

bool RowChoice::unfolds(int line) const {
    return std::ranges::binary_search(unfolded, line);
}

void RowChoice::setPinned(int line, bool on) {
    std::erase(pinned, line);
    if (on) pinned.push_back(line);
}

void RowChoice::setUnfolded(int line, bool on) {
    std::erase(unfolded, line);
    if (on) unfolded.insert(std::ranges::upper_bound(unfolded, line), line);
}

void RowChoice::setFolded(int coordinate, bool on) {
    std::erase(folded, coordinate);
    if (on) folded.push_back(coordinate);
}

bool RowFilter::accepts(int rank, const MeshNumbers& place) const {
    if (!acceptedBy(ranks, rank)) return false;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (!acceptedBy(at[axis], place.of[axis])) return false;
    }
    return true;
}

Result<RowFilter> parseRowFilter(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    RowFilter filter;
    while (true) {
        const std::size_t begin = text.find_first_not_of(kBlank);
        if (begin == std::string_view::npos) return filter;
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find_first_of(kBlank));
        text.remove_prefix(word.size());
        if (word == ",") continue;
        const std::size_t equals = word.find('=');
        const auto axis = equals == std::string_view::npos ? std::nullopt : axisNamed(word.substr(0, equals));
        const bool known = axis ? addSpans(word.substr(equals + 1), filter.at[*axis])
                                : equals == std::string_view::npos && addSpans(word, filter.ranks);
        if (!known) return usageError(fmt::format("'{}' names no ranks", word), kFilterHint);
    }
}

} // namespace bubblescope::gui
