#include "core/trace/arg_column.h"

#include <unordered_map>
#include <utility>

namespace bubblescope {
namespace {

constexpr ArgSetId kLowerHalf = UINT32_MAX;
constexpr std::size_t kFewUppers = std::size_t{1} << 8;
constexpr std::size_t kManyUppers = std::size_t{1} << 16;

/// Numbers the upper halves of ids in order of appearance.
class Uppers {
public:
    [[nodiscard]] std::size_t numberOf(ArgSetId set) {
        const ArgSetId upper = set & ~kLowerHalf;
        if (seen_.empty() || upper != seen_[last_]) last_ = numbered(upper);
        return last_;
    }
    [[nodiscard]] std::vector<ArgSetId>& seen() { return seen_; }

private:
    [[nodiscard]] std::size_t numbered(ArgSetId upper) {
        const auto [known, is_new] = numbers_.try_emplace(upper, seen_.size());
        if (is_new) seen_.push_back(upper);
        return known->second;
    }

    std::vector<ArgSetId> seen_;
    std::unordered_map<ArgSetId, std::size_t> numbers_;
    std::size_t last_ = 0;
};

} // namespace

std::optional<ArgColumn> ArgColumn::of(std::vector<ArgSetId> sets, const JobControl& control) {
    ArgColumn column;
    Uppers uppers;
    bool fits = true;
    const auto number = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; fits && i < end; ++i) {
            if (sets[i] == 0) continue;
            fits = (sets[i] & kLowerHalf) != kNone && uppers.numberOf(sets[i]) < kManyUppers;
        }
    };
    if (!inPieces(sets.size(), control, number)) return std::nullopt;
    if (!fits) {
        sets.shrink_to_fit();
        column.whole_ = std::move(sets);
        return column;
    }
    if (uppers.seen().empty()) return column;
    column.lower_.resize(sets.size());
    const std::size_t count = uppers.seen().size();
    if (count > kFewUppers)
        column.many_.resize(sets.size());
    else if (count > 1)
        column.few_.resize(sets.size());
    const bool done = inPieces(sets.size(), control, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            column.lower_[i] = sets[i] == 0 ? kNone : static_cast<std::uint32_t>(sets[i] & kLowerHalf);
            if (sets[i] == 0 || count == 1) continue;
            const std::size_t upper = uppers.numberOf(sets[i]);
            if (count > kFewUppers)
                column.many_[i] = static_cast<std::uint16_t>(upper);
            else
                column.few_[i] = static_cast<std::uint8_t>(upper);
        }
    });
    if (!done) return std::nullopt;
    column.uppers_ = std::move(uppers.seen());
    return column;
}

std::size_t ArgColumn::bytes() const {
    return lower_.capacity() * sizeof(std::uint32_t) + few_.capacity() + many_.capacity() * sizeof(std::uint16_t) +
           (uppers_.capacity() + whole_.capacity()) * sizeof(ArgSetId);
}

} // namespace bubblescope
