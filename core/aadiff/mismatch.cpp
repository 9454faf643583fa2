#include "core/aadiff/mismatch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bubblescope {
namespace {

std::string_view whatDiffers(CheckKind kind) {
    switch (kind) {
    case CheckKind::Replay: return "the second execution differs from the first";
    case CheckKind::KnownAnswer: return "the answer is not the one that is known";
    case CheckKind::Transfer: return "what was received is not what was sent";
    case CheckKind::Replicas: return "ranks that must hold the same do not";
    case CheckKind::Weights: return "weights changed between two steps of the optimizer";
    case CheckKind::Elsewhere: return "another rank's execution differs from the first";
    }
    return "";
}

} // namespace

std::vector<int> flippedBits(const TensorDifference& difference) {
    std::vector<int> bits;
    for (int bit = 0; bit < 64; ++bit) {
        if (((difference.first_bits ^ difference.second_bits) >> static_cast<unsigned>(bit) & 1U) != 0)
            bits.push_back(bit);
    }
    return bits;
}

std::string mismatchPlace(const CheckRecord& check, const CheckedDevice& device) {
    std::string out = fmt::format("step {}, rank {}", check.step, check.rank.value);
    if (check.replica != 0) out += fmt::format(" of replica {}", check.replica);
    if (check.tensor_rank != 0) out += fmt::format(", tensor rank {}", check.tensor_rank);
    if (const std::string where = device.text(); !where.empty()) out += fmt::format(" ({})", where);
    if (check.kind == CheckKind::KnownAnswer) return out + fmt::format(", test '{}'", check.tensor);
    return out + fmt::format(", {} of layer {}, {}", opName(check.op), check.layer, check.tensor);
}

std::string differenceText(const CheckRecord& check) {
    std::string out(whatDiffers(check.kind));
    if (!check.difference) return out + fmt::format(" (digests {:016x} and {:016x})", check.first, check.second);
    const TensorDifference& difference = *check.difference;
    out += fmt::format(": {} of {} elements, the first at {}: {:x} and {:x}", difference.differing, difference.elements,
                       difference.first, difference.first_bits, difference.second_bits);
    const std::vector<int> bits = flippedBits(difference);
    out += fmt::format(", bit{} {} flipped", bits.size() == 1 ? "" : "s", fmt::join(bits, ", "));
    return difference.ulp ? out + fmt::format(", {} ulp apart", *difference.ulp) : out + ", one of them not a number";
}

std::string verdictText(const CheckRecord& check) {
    switch (check.verdict) {
    case Verdict::Open: return "It was not repeated, so what is to blame is open.";
    case Verdict::Transient: return "Repeated on the same rank, both agree: a transient fault.";
    case Verdict::Device: return "It comes back on this rank and not on another: suspect the hardware.";
    case Verdict::Everywhere: return "Other ranks depart from themselves too: the code is not deterministic.";
    }
    return {};
}

std::string verdictAdvice(const CheckRecord& check) {
    switch (check.verdict) {
    case Verdict::Open:
        return fmt::format("Let mismatches be repeated before anybody draws conclusions; until then take what was "
                           "trained since step {} as doubtful.",
                           check.step);
    case Verdict::Transient:
        return fmt::format("Go back to the checkpoint before step {}, and keep count of the device: one that does it "
                           "again is to be replaced.",
                           check.step);
    case Verdict::Device:
        return fmt::format("Take the device out of the job, go back to the checkpoint before step {}, and have it "
                           "tested by its vendor.",
                           check.step);
    case Verdict::Everywhere:
        return "Look for float atomics, workspaces that differ, split-K products and unseeded random numbers in this "
               "op. "
               "Until they are gone its checks say nothing of the hardware.";
    }
    return {};
}

} // namespace bubblescope
