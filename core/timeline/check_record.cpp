#include "core/timeline/check_record.h"

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

} // namespace bubblescope
