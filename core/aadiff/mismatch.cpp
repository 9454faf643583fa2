#include "core/aadiff/mismatch.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace bubblescope {
namespace {

/// The layout of a floating-point format.
struct FloatShape {
    unsigned bits = 0;
    unsigned mantissa = 0;
};

std::optional<FloatShape> shapeOf(ElementType type) {
    switch (type) {
    case ElementType::Float16: return FloatShape{16, 10};
    case ElementType::BFloat16: return FloatShape{16, 7};
    case ElementType::Float32: return FloatShape{32, 23};
    case ElementType::Float64: return FloatShape{64, 52};
    default: return std::nullopt;
    }
}

/// Index of a value among the representable numbers: 0 for zero, negative for negative numbers. Empty for NaNs.
std::optional<std::int64_t> placeOf(std::uint64_t bits, FloatShape shape) {
    const std::uint64_t sign = std::uint64_t{1} << (shape.bits - 1);
    const std::uint64_t size = bits & (sign - 1);
    const std::uint64_t infinity = (sign - 1) >> shape.mantissa << shape.mantissa;
    if (size > infinity) return std::nullopt;
    const auto place = static_cast<std::int64_t>(size);
    return (bits & sign) != 0 ? -place : place;
}

std::optional<std::int64_t> distance(std::uint64_t a, std::uint64_t b, ElementType type) {
    const auto shape = shapeOf(type);
    if (!shape) return std::nullopt;
    const auto of_a = placeOf(a, *shape);
    const auto of_b = placeOf(b, *shape);
    if (!of_a || !of_b) return std::nullopt;
    // The distance between doubles of opposite signs may need more than 63 bits.
    const auto apart =
        static_cast<std::uint64_t>(std::max(*of_a, *of_b)) - static_cast<std::uint64_t>(std::min(*of_a, *of_b));
    return static_cast<std::int64_t>(std::min(apart, std::uint64_t{INT64_MAX}));
}

std::uint64_t load(const void* data, std::int64_t index, std::size_t bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(data) + static_cast<std::size_t>(index) * bytes, bytes);
    return bits;
}

} // namespace

std::int64_t bytesOf(ElementType type) {
    switch (type) {
    case ElementType::Bits8: return 1;
    case ElementType::Bits16:
    case ElementType::Float16:
    case ElementType::BFloat16: return 2;
    case ElementType::Bits32:
    case ElementType::Float32: return 4;
    case ElementType::Bits64:
    case ElementType::Float64: return 8;
    }
    return 1;
}

TensorDifference elementDifference(const void* first, const void* second, std::int64_t elements, ElementType type) {
    const auto bytes = static_cast<std::size_t>(bytesOf(type));
    TensorDifference result;
    result.elements = elements;
    for (std::int64_t i = 0; i < elements; ++i) {
        const std::uint64_t a = load(first, i, bytes);
        const std::uint64_t b = load(second, i, bytes);
        if (a == b) continue;
        if (result.differing++ > 0) continue;
        result.first = i;
        result.first_bits = a;
        result.second_bits = b;
        result.ulp = distance(a, b, type);
    }
    return result;
}

namespace {

Sentence whatDiffers(CheckKind kind) {
    switch (kind) {
    case CheckKind::Replay: return say("the second execution differs from the first");
    case CheckKind::KnownAnswer: return say("the result differs from the known answer");
    case CheckKind::Transfer: return say("received data differs from the sent data");
    case CheckKind::Replicas: return say("values that must be equal on several ranks differ");
    case CheckKind::Weights: return say("weights changed between two optimizer steps");
    case CheckKind::Elsewhere: return say("another rank's execution differs from the first");
    }
    return {};
}

Sentence flippedText(const TensorDifference& difference) {
    const std::vector<int> bits = flippedBits(difference);
    if (bits.size() == 1) return say(", bit {} flipped", bits.front());
    std::vector<Sentence> names;
    for (const int bit : bits)
        names.emplace_back(std::to_string(bit));
    return say(", bits {} flipped", sayListed(names));
}

} // namespace

void setOutcome(CheckRecord& check, std::uint64_t first, std::uint64_t second) {
    check.first = first;
    check.second = second;
    check.outcome = first == second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
}

Verdict verdictOf(std::uint64_t first, std::uint64_t second, std::span<const std::uint64_t> here,
                  std::span<const std::uint64_t> there) {
    const auto agree = [](std::span<const std::uint64_t> digests) {
        return !digests.empty() && std::ranges::count(digests, digests.front()) == std::ssize(digests);
    };
    if (!there.empty() && !agree(there)) return Verdict::Everywhere;
    if (!there.empty() && (!agree(here) || there.front() != here.front())) return Verdict::Device;
    return agree(here) && (here.front() == first || here.front() == second) ? Verdict::Transient : Verdict::Open;
}

std::vector<int> flippedBits(const TensorDifference& difference) {
    std::vector<int> bits;
    for (int bit = 0; bit < 64; ++bit) {
        if (((difference.first_bits ^ difference.second_bits) >> static_cast<unsigned>(bit) & 1U) != 0)
            bits.push_back(bit);
    }
    return bits;
}

Sentence mismatchPlace(const CheckRecord& check, const CheckedDevice& device) {
    Sentence out = say("step {}, rank {}", check.step, check.rank.value);
    if (check.replica != 0) out += say(" of replica {}", check.replica);
    if (check.tensor_rank != 0) out += say(", tensor rank {}", check.tensor_rank);
    if (const Sentence where = device.text(); !where.empty()) out += say(" ({})", where);
    if (check.kind == CheckKind::KnownAnswer) return out += say(", test '{}'", check.tensor);
    return out += say(", {} of layer {}, {}", opName(check.op), check.layer, check.tensor);
}

Sentence differenceText(const CheckRecord& check) {
    Sentence out = whatDiffers(check.kind);
    if (!check.difference) return out += say(" (digests {:016x} and {:016x})", check.first, check.second);
    const TensorDifference& difference = *check.difference;
    out += say(": {} of {} elements differ, the first at {}: {:x} and {:x}", difference.differing, difference.elements,
               difference.first, difference.first_bits, difference.second_bits);
    out += flippedText(difference);
    return out += difference.ulp ? say(", {} ulp apart", *difference.ulp) : say(", one of them NaN");
}

Sentence verdictText(const CheckRecord& check) {
    switch (check.verdict) {
    case Verdict::Open: return say("The op was not executed again, so the cause is unknown.");
    case Verdict::Transient: return say("Further executions on the same rank agree, so the fault was transient.");
    case Verdict::Device: return say("The mismatch recurs on this rank but not on others: suspect the hardware.");
    case Verdict::Everywhere:
        return say("Repeated executions also differ on other ranks: the code is not deterministic.");
    }
    return {};
}

Sentence verdictAdvice(const CheckRecord& check) {
    switch (check.verdict) {
    case Verdict::Open:
        return say("Repeat the op before drawing conclusions. Treat everything trained since step {} as suspect.",
                   check.step);
    case Verdict::Transient:
        return say("Go back to the checkpoint before step {}. Record the device; replace it if this recurs.",
                   check.step);
    case Verdict::Device:
        return say("Remove the device from the job, go back to the checkpoint before step {}, and have the vendor test "
                   "the device.",
                   check.step);
    case Verdict::Everywhere:
        return say("Look for float atomics, differing workspaces, split-K products and unseeded random numbers in this "
                   "op. Until they are removed, its checks cannot detect hardware faults.");
    }
    return {};
}

} // namespace bubblescope
