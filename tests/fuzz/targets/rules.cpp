// Tables of recognition rules that users write, and what their patterns take off names.

#include "core/recognise/rule_table.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

#include <algorithm>
#include <array>
#include <vector>

namespace bubblescope::fuzz {
namespace {

constexpr std::array<std::string_view, 7> kNames{
    "",
    "F0",
    "forward mb3 chunk1",
    "PP:(2F5;1B3)OVERLAP_F_B",
    "99999999999999999999",
    "**[]{}\\",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"};

void checkMatch(const NamePattern& pattern, std::string_view name) {
    const auto again = NamePattern::parse(pattern.text(), kInput);
    require(again.ok(), "a pattern's text is a pattern");
    const auto parts = pattern.match(name);
    require(again.value().match(name).has_value() == parts.has_value(), "a pattern matches what its text matches");
    if (!parts) return;
    for (const auto& numbers : parts->numbers) {
        for (const auto& number : numbers)
            require(!number || *number >= 0, "numbers in names have no sign");
    }
}

void tryPattern(const NamePattern& pattern) {
    for (const std::string_view name : kNames)
        checkMatch(pattern, name);
}

} // namespace

void recognitionRules(std::string_view bytes) {
    if (const auto pattern = NamePattern::parse(bytes, kInput); pattern.ok()) tryPattern(pattern.value());
    const auto rules = rulesFrom(bytes, kInput);
    if (!rules.ok()) return checkError(rules.error());
    for (const RecognitionRule& rule : rules.value().ops) {
        require(!rule.ops.empty(), "a rule names ops");
        for (const auto& op : rule.ops) {
            require(op.kinds.size() <= 2, "at most two ops make a pair");
            tryPattern(op.name);
        }
        for (const auto& transfer : rule.transfers)
            tryPattern(transfer.name);
        if (rule.thread) tryPattern(*rule.thread);
        if (rule.process) tryPattern(*rule.process);
        (void)rule.namesStages();
    }
}

void ruleNames(std::string_view bytes) {
    constexpr std::string_view kBetween = "\n---\n";
    const std::size_t at = std::min(bytes.find(kBetween), bytes.size());
    std::vector<NamePattern> patterns;
    if (auto pattern = NamePattern::parse(bytes.substr(0, at), kInput); pattern.ok())
        patterns.push_back(std::move(pattern).value());
    const auto rules = rulesFrom(bytes.substr(0, at), kInput);
    if (rules.ok()) {
        for (const RecognitionRule& rule : rules.value().ops) {
            for (const auto& op : rule.ops)
                patterns.push_back(op.name);
            for (const auto& transfer : rule.transfers)
                patterns.push_back(transfer.name);
        }
    }
    std::string_view names = bytes.substr(std::min(at + kBetween.size(), bytes.size()));
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find('\n'));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        for (const NamePattern& pattern : patterns)
            checkMatch(pattern, name);
    }
}

} // namespace bubblescope::fuzz
