#include "core/cost/communicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, 5> kCommunicatorNames{"one", "direction", "edge", "pair", "tag"};

bool matches(const CommunicatorRule& rule, Payload payload, Rank from, Rank to) {
    return rule.payload.value_or(payload) == payload && rule.from.value_or(from) == from && rule.to.value_or(to) == to;
}

} // namespace

std::string_view communicatorKindName(CommunicatorKind kind) {
    return kind == CommunicatorKind::Rules ? "rules" : kCommunicatorNames[static_cast<std::size_t>(kind)];
}

std::optional<CommunicatorKind> communicatorKindFromName(std::string_view name) {
    const auto found = std::ranges::find(kCommunicatorNames, name);
    if (found == kCommunicatorNames.end()) return std::nullopt;
    return static_cast<CommunicatorKind>(found - kCommunicatorNames.begin());
}

std::int64_t Communicators::of(Payload payload, Rank from, Rank to, int pp) const {
    switch (kind) {
    case CommunicatorKind::One: return 0;
    case CommunicatorKind::Direction: return payload == Payload::Activation ? 0 : 1;
    case CommunicatorKind::Edge: return std::int64_t{from.value} * pp + to.value;
    case CommunicatorKind::Pair: return std::int64_t{std::min(from, to).value} * pp + std::max(from, to).value;
    case CommunicatorKind::Tag: return -1;
    case CommunicatorKind::Rules: break;
    }
    const auto rule =
        std::ranges::find_if(rules, [&](const CommunicatorRule& each) { return matches(each, payload, from, to); });
    if (rule == rules.end()) return -1;
    // Rules with the same name refer to one communicator.
    return std::ranges::find(rules, rule->name, &CommunicatorRule::name) - rules.begin();
}

std::string Communicators::nameOf(std::int64_t number, int pp) const {
    switch (kind) {
    case CommunicatorKind::One: return "all";
    case CommunicatorKind::Direction: return number == 0 ? "activations" : "gradients";
    case CommunicatorKind::Edge: return fmt::format("{}→{}", number / pp, number % pp);
    case CommunicatorKind::Pair: return fmt::format("{} and {}", number / pp, number % pp);
    case CommunicatorKind::Tag: return {};
    case CommunicatorKind::Rules: break;
    }
    return number < 0 ? std::string{} : rules[static_cast<std::size_t>(number)].name;
}

} // namespace bubblescope
