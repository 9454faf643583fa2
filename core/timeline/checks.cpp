#include "core/timeline/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace bubblescope {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 6> kKindNames{"replay",   "known-answer", "transfer",
                                                     "replicas", "weights",      "elsewhere"};
constexpr std::array<std::string_view, 4> kOutcomes{"equal", "mismatch", "aborted", "skipped"};
constexpr std::array<std::string_view, 4> kVerdicts{"open", "transient", "device", "everywhere"};

template <typename Value, std::size_t N>
std::optional<Value> parse(const std::array<std::string_view, N>& names, std::string_view name) {
    for (std::size_t i = 0; i < N; ++i) {
        if (names[i] == name) return static_cast<Value>(i);
    }
    return std::nullopt;
}

} // namespace

std::string checkName(const CheckRecord& check) {
    return fmt::format("{} layer {}", opName(check.op), check.layer);
}

std::string_view checkKindName(CheckKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}
std::string_view checkOutcomeName(CheckOutcome outcome) {
    return kOutcomes[static_cast<std::size_t>(outcome)];
}
std::string_view verdictName(Verdict verdict) {
    return kVerdicts[static_cast<std::size_t>(verdict)];
}

std::optional<CheckKind> parseCheckKind(std::string_view name) {
    return parse<CheckKind>(kKindNames, name);
}
std::optional<CheckOutcome> parseCheckOutcome(std::string_view name) {
    return parse<CheckOutcome>(kOutcomes, name);
}
std::optional<Verdict> parseVerdict(std::string_view name) {
    return parse<Verdict>(kVerdicts, name);
}

namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 24> kTensorNames{"normalised",
                                                        "deviations",
                                                        "columns",
                                                        "attention",
                                                        "attended",
                                                        "part",
                                                        "hidden",
                                                        "loss",
                                                        "logits gradient",
                                                        "output",
                                                        "hidden gradient",
                                                        "normalised gradient",
                                                        "attended gradient",
                                                        "columns gradient",
                                                        "earlier gradient",
                                                        "input gradient",
                                                        "weight gradient",
                                                        "weights",
                                                        "gradient sum",
                                                        "activation",
                                                        "gradient",
                                                        "product",
                                                        "sums",
                                                        "copy"};
static_assert(kTensorNames.size() == static_cast<std::size_t>(CheckedTensor::Copy) + 1);

} // namespace

std::string_view tensorName(CheckedTensor tensor) {
    return kTensorNames[static_cast<std::size_t>(tensor)];
}

std::optional<CheckedTensor> parseTensor(std::string_view name) {
    const auto same = [](char a, char b) { return a == b || (a == ' ' && b == '-'); };
    for (std::size_t i = 0; i < kTensorNames.size(); ++i) {
        if (std::ranges::equal(kTensorNames[i], name, same)) return static_cast<CheckedTensor>(i);
    }
    return std::nullopt;
}

namespace {

void merge(std::vector<std::pair<TimeNs, TimeNs>>& spans) {
    std::ranges::sort(spans);
    std::size_t kept = 0;
    for (const auto& span : spans) {
        if (kept > 0 && span.first <= spans[kept - 1].second)
            spans[kept - 1].second = std::max(spans[kept - 1].second, span.second);
        else
            spans[kept++] = span;
    }
    spans.resize(kept);
}

} // namespace

Sentence CheckedDevice::text() const {
    if (host.empty()) return device.empty() ? Sentence() : say("device {}", device);
    return device.empty() ? say("host {}", host) : say("device {} of host {}", device, host);
}

void CheckLog::sort() {
    std::ranges::stable_sort(
        checks, {}, [](const CheckRecord& check) { return std::tuple(placeOf(check), check.step, check.start); });
    std::ranges::stable_sort(
        digests, {}, [](const DigestRecord& digest) { return std::tuple(placeOf(digest), digest.step, digest.time); });
}

std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps) {
    std::vector<StepReplays> result;
    std::map<std::pair<int, int>, std::size_t> index_of; // by step and replica
    for (const CheckRecord& check : log.checks) {
        if (check.end <= check.start || check.tensor_rank != 0) continue;
        if (result.empty()) {
            result.resize(steps.size());
            for (std::size_t s = 0; s < steps.size(); ++s) {
                result[s].resize(steps[s].ranks.size());
                index_of[{steps[s].index, steps[s].replica}] = s;
            }
        }
        const auto found = index_of.find({check.step, check.replica});
        if (found == index_of.end() || check.rank.index() >= result[found->second].size()) continue;
        result[found->second][check.rank.index()].emplace_back(check.start, check.end);
    }
    for (StepReplays& step : result)
        std::ranges::for_each(step, merge);
    return result;
}

} // namespace bubblescope
