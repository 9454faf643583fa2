#include "app/gui/models/op_query.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace bubblescope::gui {

namespace {

constexpr std::string_view kSpace = " \t";

constexpr std::uint32_t bit(QueryKind kind) {
    return 1U << static_cast<unsigned>(kind);
}

struct KindWord {
    std::string_view word;
    std::uint32_t kinds;
};

constexpr std::uint32_t kAllOps = bit(QueryKind::Forward) | bit(QueryKind::Backward) | bit(QueryKind::BackwardInput) |
                                  bit(QueryKind::BackwardWeight) | bit(QueryKind::Optimizer);

constexpr std::array kKindWords{
    KindWord{"f", bit(QueryKind::Forward)},
    KindWord{"forward", bit(QueryKind::Forward)},
    KindWord{"b", bit(QueryKind::Backward) | bit(QueryKind::BackwardInput)},
    KindWord{"backward", bit(QueryKind::Backward) | bit(QueryKind::BackwardInput)},
    KindWord{"i", bit(QueryKind::BackwardInput)},
    KindWord{"w", bit(QueryKind::BackwardWeight)},
    KindWord{"o", bit(QueryKind::Optimizer)},
    KindWord{"optimizer", bit(QueryKind::Optimizer)},
    KindWord{"op", kAllOps},
    KindWord{"bubble", bit(QueryKind::Bubble)},
    KindWord{"idle", bit(QueryKind::Bubble)},
    KindWord{"send", bit(QueryKind::Send)},
    KindWord{"receive", bit(QueryKind::Receive)},
    KindWord{"recv", bit(QueryKind::Receive)},
    KindWord{"wait", bit(QueryKind::Wait)},
    KindWord{"collective", bit(QueryKind::Collective)},
    KindWord{"check", bit(QueryKind::Check)},
    KindWord{"kernel", bit(QueryKind::Slice)},
    KindWord{"slice", bit(QueryKind::Slice)},
};

struct NumberKey {
    std::string_view key;
    std::vector<RowFilter::Span> OpQuery::*spans;
};

const std::array<NumberKey, 10>& numberKeys() {
    static const std::array<NumberKey, 10> kKeys{{{"rank", &OpQuery::rank},
                                                  {"pp", &OpQuery::rank},
                                                  {"step", &OpQuery::step},
                                                  {"replica", &OpQuery::replica},
                                                  {"dp", &OpQuery::replica},
                                                  {"stage", &OpQuery::stage},
                                                  {"mb", &OpQuery::microbatch},
                                                  {"microbatch", &OpQuery::microbatch},
                                                  {"chunk", &OpQuery::chunk},
                                                  {"v", &OpQuery::chunk}}};
    return kKeys;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// Words separated by blanks; quotes keep words together.
std::vector<std::string> wordsOf(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool any = false;
    bool quoted = false;
    for (const char c : text) {
        if (c == '"') {
            quoted = !quoted;
            any = true;
        } else if (!quoted && kSpace.find(c) != std::string_view::npos) {
            if (any) words.push_back(std::move(word));
            word.clear();
            any = false;
        } else {
            word += c;
            any = true;
        }
    }
    if (any) words.push_back(std::move(word));
    return words;
}

const KindWord* kindOf(std::string_view word) {
    const auto* const found = std::ranges::find(kKindWords, word, &KindWord::word);
    return found == kKindWords.end() ? nullptr : found;
}

Status readNumbers(std::string_view word, std::string_view value, std::vector<RowFilter::Span>& out) {
    const Error wrong = usageError(fmt::format("'{}' needs whole numbers", word), "write 3, 0-3 or 0-3,7 after the =");
    if (value.empty()) return wrong;
    while (!value.empty()) {
        const std::size_t comma = std::min(value.find(','), value.size());
        const std::string_view part = value.substr(0, comma);
        value.remove_prefix(std::min(value.size(), comma + 1));
        const std::size_t dash = part.find('-');
        const auto first = wholeNumber(part.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : wholeNumber(part.substr(dash + 1));
        if (!first || !last || *first > *last) return wrong;
        out.push_back({*first, *last});
    }
    return {};
}

/// A word split at its operator.
struct Condition {
    std::string key;
    std::string sign;
    std::string value;
};

std::optional<Condition> conditionIn(std::string_view word) {
    const std::size_t at = word.find_first_of("<>=");
    if (at == std::string_view::npos || at == 0) return std::nullopt;
    const std::size_t length = at + 1 < word.size() && word[at + 1] == '=' ? 2 : 1;
    return Condition{lower(word.substr(0, at)), std::string(word.substr(at, length)),
                     std::string(word.substr(at + length))};
}

Status readTime(std::string_view word, const Condition& condition, TimeNs& from, TimeNs& to) {
    if (condition.sign == "=" || condition.sign == "==")
        return usageError(fmt::format("'{}' tests times for equality, so it almost never matches", word),
                          fmt::format("write {}>20ms or {}<=1.5s", condition.key, condition.key));
    const Result<TimeNs> time = parseTime(lower(condition.value));
    if (!time.ok())
        return usageError(fmt::format("'{}' needs a time with a unit", word),
                          fmt::format("write {}{}20ms; the units are ns, us, ms and s", condition.key, condition.sign));
    const TimeNs limit = time.value();
    if (condition.sign == ">") from = std::max(from, limit + TimeNs{1});
    if (condition.sign == ">=") from = std::max(from, limit);
    if (condition.sign == "<") to = std::min(to, limit - TimeNs{1});
    if (condition.sign == "<=") to = std::min(to, limit);
    return {};
}

Status readCondition(std::string_view word, const Condition& condition, OpQuery& query) {
    if (condition.key == "dur" || condition.key == "duration")
        return readTime(word, condition, query.shortest, query.longest);
    if (condition.key == "start") return readTime(word, condition, query.earliest, query.latest);
    if (condition.key == "name") {
        if (condition.value.empty())
            return usageError(fmt::format("'{}' needs part of a name", word), "write name=gemm");
        query.words.push_back(lower(condition.value));
        return {};
    }
    const auto& keys = numberKeys();
    const auto* const key = std::ranges::find(keys, condition.key, &NumberKey::key);
    if (key == keys.end())
        return usageError(fmt::format("cannot search by '{}'", condition.key),
                          "use rank, step, replica, stage, mb, chunk, dur, start or name");
    if (condition.sign != "=" && condition.sign != "==")
        return usageError(fmt::format("'{}' needs a number", word),
                          fmt::format("write {}=3 or {}=0-3", condition.key, condition.key));
    return readNumbers(word, condition.value, query.*(key->spans));
}

} // namespace

bool accepts(const std::vector<RowFilter::Span>& spans, int number) {
    return spans.empty() ||
           std::ranges::any_of(spans, [number](const auto& one) { return one.first <= number && number <= one.last; });
}

bool looksLikeQuery(std::string_view text) {
    const std::vector<std::string> words = wordsOf(text);
    return !words.empty() &&
           (kindOf(lower(words.front())) != nullptr ||
            std::ranges::any_of(words, [](const auto& word) { return conditionIn(word).has_value(); }));
}

Result<OpQuery> parseOpQuery(std::string_view text, QueryScope scope) {
    OpQuery query;
    for (const std::string& word : wordsOf(text)) {
        if (const auto condition = conditionIn(word)) {
            BUBBLESCOPE_TRY(readCondition(word, *condition, query));
            continue;
        }
        if (scope == QueryScope::Slices) {
            query.words.push_back(lower(word));
            continue;
        }
        if (const KindWord* kind = kindOf(lower(word))) {
            query.kinds |= kind->kinds;
            continue;
        }
        std::string upper = word;
        std::ranges::transform(upper, upper.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        if (const auto op = parseOpName(upper)) {
            if (query.op)
                return usageError(fmt::format("'{}' is a second op in the query", word),
                                  "use at most one op: F rank=2");
            query.op = op;
            continue;
        }
        query.words.push_back(lower(word));
    }
    if (scope == QueryScope::Slices || (!query.words.empty() && query.kinds == 0 && !query.op))
        query.kinds = bit(QueryKind::Slice);
    if (query.kinds == 0 && !query.op) query.kinds = kAllOps;
    return query;
}

} // namespace bubblescope::gui
