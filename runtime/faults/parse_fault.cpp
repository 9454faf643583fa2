#include "core/base/field.h"
#include "core/base/text.h"
#include "runtime/faults/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace bubblescope::runtime {
namespace {

/// A key that a kind accepts or requires.
struct KeyRule {
    std::string_view name;
    bool needed = false;
};

struct KindRule {
    std::string_view name;
    FaultKind kind;
    std::string_view bare; ///< the key of a word without "="; empty = none
    std::string_view example;
    std::vector<KeyRule> keys;
};

const std::vector<KindRule>& kindRules() {
    static const std::vector<KindRule> kRules{
        {"slow", FaultKind::Slow, "", "slow:rank=2,factor=1.3", {{"rank", true}, {"factor", true}}},
        {"op", FaultKind::Op, "op", "op:F3.1,rank=1,add=5ms", {{"op", true}, {"rank"}, {"add"}, {"factor"}}},
        {"jitter", FaultKind::Jitter, "", "jitter:rank=*,sigma=3%", {{"rank"}, {"op"}, {"sigma", true}, {"seed"}}},
        {"link", FaultKind::Link, "link", "link:0>1,latency=2ms", {{"link", true}, {"latency", true}}},
        {"stall", FaultKind::Stall, "link", "stall:1>2,step=3,for=50ms", {{"link", true}, {"for", true}}},
        {"pause", FaultKind::Pause, "", "pause:rank=1,step=4,op=B0,for=30ms", {{"rank", true}, {"op"}, {"for", true}}},
        {"drop", FaultKind::Drop, "", "drop:rank=1,share=10%", {{"rank", true}, {"op"}, {"share"}, {"seed"}}},
        {"flip",
         FaultKind::Flip,
         "op",
         "flip:B2,rank=1,step=3,tensor=out,bit=17",
         {{"op", true}, {"rank", true}, {"layer"}, {"tensor"}, {"bit", true}, {"stay"}}},
        {"nondet", FaultKind::Nondet, "op", "nondet:F,layer=3", {{"op", true}, {"layer"}, {"rank"}, {"tensor"}}},
        {"die", FaultKind::Die, "", "die:rank=3,step=2,op=F1", {{"rank", true}, {"op"}}},
        {"hang", FaultKind::Hang, "", "hang:rank=3,step=2,op=F1", {{"rank", true}, {"op"}}},
    };
    return kRules;
}

/// Accepted by all kinds.
constexpr std::array<std::string_view, 4> kCommonKeys{"step", "from", "to", "tp"};

/// Creates error messages that quote the fault's text.
class FaultText {
public:
    explicit FaultText(std::string_view text) : text_(text) {}

    [[nodiscard]] Error wrong(std::string_view word, std::string_view what, std::string_view way_out) const {
        Error error = usageError(fmt::format("'{}' {}", word, what), std::string(way_out));
        const auto at = word.data() >= text_.data() && word.data() <= text_.data() + text_.size()
                            ? static_cast<std::size_t>(word.data() - text_.data())
                            : 0;
        error.where = fmt::format("{}, character {}", Field("inject").is(text_), at + 1);
        return error;
    }

    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string_view text_;
};

Result<FaultRange> parseRange(const FaultText& text, std::string_view word, std::string_view what) {
    if (word == "*") return FaultRange{};
    const auto dash = word.find('-');
    const auto first = parseNumber<int>(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parseNumber<int>(word.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
        return text.wrong(word, fmt::format("is not a {}", what), "use a number such as 2, a range such as 1-3, or *");
    return FaultRange{*first, *last};
}

Result<int> parseStep(const FaultText& text, std::string_view word) {
    constexpr std::string_view kPrefix = "step";
    const auto number = parseNumber<int>(word.starts_with(kPrefix) ? word.substr(kPrefix.size()) : word);
    if (!number || *number < 0) return text.wrong(word, "is not a step", "steps are numbered from 0");
    return *number;
}

Result<double> parsePositive(const FaultText& text, std::string_view word, std::string_view way_out) {
    const bool percent = word.ends_with('%');
    const std::string_view digits = percent ? word.substr(0, word.size() - 1) : word;
    const auto number = parseNumber<double>(digits);
    constexpr double kMax = 1e6;
    if (!number || !(*number > 0) || *number > kMax) return text.wrong(word, "is not greater than 0", way_out);
    return percent ? *number / 100 : *number;
}

Result<TimeNs> parseDuration(const FaultText& text, std::string_view word) {
    const Result<TimeNs> time = parseTime(word);
    if (!time.ok()) return text.wrong(word, "is not a time", "use a number and a unit, such as 5ms");
    return time;
}

Result<OpPattern> parseOps(const FaultText& text, std::string_view word) {
    const auto refuse = [&] {
        return text.wrong(word, "does not name an op",
                          "write F3.1 for the forward of micro-batch 3 on chunk 1; F3, F.1 or F for several; * for "
                          "every op; kinds are F, B, I, W and O");
    };
    OpPattern pattern;
    if (word.empty()) return refuse();
    if (word.front() != '*') {
        pattern.kind = opKindFromLetter(word.front());
        if (!pattern.kind) return refuse();
    }
    std::string_view rest = word.substr(1);
    const auto dot = rest.find('.');
    if (const std::string_view number = rest.substr(0, dot); !number.empty()) {
        const auto microbatch = parseNumber<int>(number);
        if (!microbatch || *microbatch < 0) return refuse();
        pattern.microbatch = Microbatch{*microbatch};
    }
    if (dot == std::string_view::npos) return pattern;
    const auto chunk = parseNumber<int>(rest.substr(dot + 1));
    if (!chunk || *chunk < 0) return refuse();
    pattern.chunk = Chunk{*chunk};
    return pattern;
}

Status parseLink(const FaultText& text, std::string_view word, Fault& fault) {
    const auto arrow = word.find('>');
    if (arrow == std::string_view::npos)
        return text.wrong(word, "is not a link", "write 0>1 for the link from rank 0 to rank 1");
    BUBBLESCOPE_ASSIGN(fault.ranks, parseRange(text, word.substr(0, arrow), "rank"));
    BUBBLESCOPE_ASSIGN(fault.peers, parseRange(text, word.substr(arrow + 1), "rank"));
    return {};
}

Status parseFaultTensor(const FaultText& text, std::string_view value, Fault& fault) {
    if (value == "in" || value == "out") {
        fault.tensor = value == "in" ? FaultTensor::Input : FaultTensor::Output;
        return {};
    }
    fault.shown = parseTensor(value);
    if (fault.shown) return {};
    return text.wrong(value, "is not a tensor of an op",
                      "use in (the op's input) or out (its output); with layer=N a tensor of the layer, such as "
                      "hidden, output, input-gradient, weight-gradient or weights");
}

Status parseStay(const FaultText& text, std::string_view value, Fault& fault) {
    constexpr std::array<std::string_view, 4> kNames{"transient", "replay", "sticky", "fixed"};
    const auto found = std::ranges::find(kNames, value);
    if (found == kNames.end()) {
        return text.wrong(value, "is not a known persistence",
                          "use transient (the first execution), replay (the check), sticky (every execution, a "
                          "different element each time) or fixed (every execution, the same bit)");
    }
    fault.stay = static_cast<FaultStay>(found - kNames.begin());
    return {};
}

/// True if the tensor is the result of a known answer, which has no layer.
bool needsNoLayer(CheckedTensor tensor) {
    return tensor == CheckedTensor::Product || tensor == CheckedTensor::Sums || tensor == CheckedTensor::Copy;
}

Status checkFlip(const FaultText& text, const Fault& fault) {
    if (fault.shown && !fault.layer && !needsNoLayer(*fault.shown))
        return text.wrong(tensorName(*fault.shown), "is a tensor inside a layer", "add the layer: layer=3");
    return {};
}

Status applyKey(const FaultText& text, std::string_view key, std::string_view value, Fault& fault) {
    if (key == "rank") {
        BUBBLESCOPE_ASSIGN(fault.ranks, parseRange(text, value, "rank"));
    } else if (key == "tp") {
        BUBBLESCOPE_ASSIGN(fault.tensor_ranks, parseRange(text, value, "tensor rank"));
    } else if (key == "step") {
        BUBBLESCOPE_ASSIGN(fault.steps, parseRange(text, value.starts_with("step") ? value.substr(4) : value, "step"));
    } else if (key == "from") {
        BUBBLESCOPE_ASSIGN(fault.steps.first, parseStep(text, value));
    } else if (key == "to") {
        BUBBLESCOPE_ASSIGN(fault.steps.last, parseStep(text, value));
    } else if (key == "op") {
        BUBBLESCOPE_ASSIGN(fault.ops, parseOps(text, value));
    } else if (key == "link") {
        BUBBLESCOPE_TRY(parseLink(text, value, fault));
    } else if (key == "factor") {
        BUBBLESCOPE_ASSIGN(fault.factor, parsePositive(text, value, "use a factor such as 1.3"));
    } else if (key == "sigma" || key == "share") {
        BUBBLESCOPE_ASSIGN(fault.share, parsePositive(text, value, "use a share such as 3% or 0.03"));
        if (fault.share > 1) return text.wrong(value, "is more than 100 %", "use 100% or less");
    } else if (key == "add" || key == "for" || key == "latency") {
        BUBBLESCOPE_ASSIGN(fault.time, parseDuration(text, value));
    } else if (key == "tensor") {
        BUBBLESCOPE_TRY(parseFaultTensor(text, value, fault));
    } else if (key == "stay") {
        BUBBLESCOPE_TRY(parseStay(text, value, fault));
    } else if (key == "layer") {
        fault.layer = parseNumber<int>(value);
        if (!fault.layer || *fault.layer < 0)
            return text.wrong(value, "is not a layer",
                              "layer 0 is the embedding, the next layers are the blocks, and the last is the head");
    } else if (key == "bit") {
        const auto bit = parseNumber<std::int64_t>(value);
        if (!bit || *bit < 0)
            return text.wrong(value, "is not a bit", "bits of a tensor are numbered from 0, with 32 per value");
        fault.bit = *bit;
    } else {
        const auto seed = parseNumber<std::uint64_t>(value);
        if (!seed) return text.wrong(value, "is not a seed", "specify a whole number");
        fault.seed = *seed;
    }
    return {};
}

Result<const KindRule*> findKind(const FaultText& text, std::string_view word) {
    const auto& rules = kindRules();
    const auto found = std::ranges::find(rules, word, &KindRule::name);
    if (found != rules.end()) return &*found;
    std::string names;
    for (const KindRule& rule : rules)
        names += (names.empty() ? "" : ", ") + std::string(rule.name);
    return text.wrong(word, "is not a kind of fault",
                      fmt::format("known kinds: {}; example: {}", names, rules[0].example));
}

std::string keysOf(const KindRule& rule) {
    std::string names;
    for (const KeyRule& key : rule.keys)
        names += std::string(key.name) + ", ";
    return names + "step, from, to and tp";
}

/// Splits the words after the colon into keys and values, which are views of the text.
Result<std::map<std::string_view, std::string_view>> splitWords(const FaultText& text, const KindRule& rule,
                                                                std::string_view words) {
    std::map<std::string_view, std::string_view> values;
    const std::string example = fmt::format("example: {}", rule.example);
    bool first = true;
    for (std::optional<std::string_view> rest = words; rest; first = false) {
        const auto comma = rest->find(',');
        const std::string_view word = rest->substr(0, comma);
        rest = comma == std::string_view::npos ? std::nullopt : std::optional(rest->substr(comma + 1));
        const auto equals = word.find('=');
        const bool bare = equals == std::string_view::npos;
        if (bare && (!first || rule.bare.empty())) return text.wrong(word, "is not KEY=VALUE", example);
        const std::string_view key = bare ? rule.bare : word.substr(0, equals);
        const bool known = std::ranges::find(rule.keys, key, &KeyRule::name) != rule.keys.end() ||
                           std::ranges::find(kCommonKeys, key) != kCommonKeys.end();
        if (!known)
            return text.wrong(key, fmt::format("is not a parameter of '{}'", rule.name),
                              fmt::format("its parameters: {}", keysOf(rule)));
        if (!values.emplace(key, bare ? word : word.substr(equals + 1)).second)
            return text.wrong(word, "is given twice", "remove one");
    }
    return values;
}

/// Reports everything that is missing in one error, so that users need not discover the keys one by one.
Status checkComplete(const FaultText& text, const KindRule& rule,
                     const std::map<std::string_view, std::string_view>& values) {
    std::vector<std::string_view> missing;
    for (const KeyRule& key : rule.keys) {
        if (key.needed && !values.contains(key.name)) missing.push_back(key.name);
    }
    if (rule.kind == FaultKind::Op && !values.contains("add") && !values.contains("factor"))
        missing.emplace_back("add or factor");
    if (missing.empty()) return {};
    std::string names;
    for (std::size_t i = 0; i < missing.size(); ++i)
        names += fmt::format("{}{}", i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ", missing[i]);
    return text.wrong(rule.name, fmt::format("needs {}", names), fmt::format("example: {}", rule.example));
}

} // namespace

Result<Fault> parseFault(std::string_view given) {
    const FaultText text(given);
    const auto colon = given.find(':');
    BUBBLESCOPE_ASSIGN(const KindRule* const rule, findKind(text, given.substr(0, colon)));
    Fault fault;
    fault.kind = rule->kind;
    fault.text = given;
    if (fault.kind == FaultKind::Drop) fault.share = 1;
    std::map<std::string_view, std::string_view> values;
    if (colon != std::string_view::npos) {
        BUBBLESCOPE_ASSIGN(values, splitWords(text, *rule, given.substr(colon + 1)));
    }
    BUBBLESCOPE_TRY(checkComplete(text, *rule, values));
    for (const auto& [key, value] : values)
        BUBBLESCOPE_TRY(applyKey(text, key, value, fault));
    if (fault.kind == FaultKind::Flip) BUBBLESCOPE_TRY(checkFlip(text, fault));
    if (fault.steps.last < fault.steps.first)
        return text.wrong(values.contains("to") ? values["to"] : given, "is before the first step", "swap from and to");
    return fault;
}

} // namespace bubblescope::runtime
