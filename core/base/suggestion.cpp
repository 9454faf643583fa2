#include "core/base/suggestion.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {
namespace {

bool beginsWith(std::string_view name, std::string_view word) {
    return word.size() >= 3 && name.size() > word.size() && editDistance(name.substr(0, word.size()), word) == 0;
}

} // namespace

std::size_t editDistance(std::string_view a, std::string_view b) {
    // Rows of the table of distances between prefixes; only the last three are needed.
    std::vector<std::size_t> before;
    std::vector<std::size_t> last(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::vector<std::size_t> row(b.size() + 1, i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool equal = lowerCase(a[i - 1]) == lowerCase(b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (equal ? 0U : 1U)});
            const bool exchanged = i > 1 && j > 1 && lowerCase(a[i - 1]) == lowerCase(b[j - 2]) &&
                                   lowerCase(a[i - 2]) == lowerCase(b[j - 1]);
            if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::move(last);
        last = std::move(row);
    }
    return last.back();
}

std::string closestName(std::string_view word, const std::vector<std::string>& names) {
    constexpr std::size_t kLongestWord = 100; // longer words are not misspelt names
    if (word.empty() || word.size() > kLongestWord) return {};
    const std::string* closest = nullptr;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& name : names) {
        const std::size_t distance = editDistance(word, name);
        if (distance >= least || distance >= name.size()) continue;
        least = distance;
        closest = &name;
    }
    if (closest != nullptr) return *closest;
    const auto begun = [word](const std::string& name) { return beginsWith(name, word); };
    const auto found = std::ranges::find_if(names, begun);
    return found != names.end() && std::ranges::count_if(names, begun) == 1 ? *found : std::string();
}

std::string didYouMean(std::string_view word, const std::vector<std::string>& names) {
    const std::string name = closestName(word, names);
    return name.empty() ? std::string() : fmt::format("; did you mean '{}'?", name);
}

std::string plainName(std::string_view name) {
    std::string out;
    for (const char letter : name) {
        if (letter != '-' && letter != '_' && letter != ' ') out += lowerCase(letter);
    }
    return out;
}

} // namespace bubblescope
