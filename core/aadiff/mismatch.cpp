#include "core/aadiff/mismatch.h"

namespace bubblescope {
namespace {

Sentence whatDiffers(CheckKind kind) {
    switch (kind) {
    case CheckKind::Replay: return say("the second execution differs from the first");
    case CheckKind::KnownAnswer: return say("the answer is not the one that is known");
    case CheckKind::Transfer: return say("what was received is not what was sent");
    case CheckKind::Replicas: return say("ranks that must hold the same do not");
    case CheckKind::Weights: return say("weights changed between two steps of the optimizer");
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
    out += say(": {} of {} elements, the first at {}: {:x} and {:x}", difference.differing, difference.elements,
               difference.first, difference.first_bits, difference.second_bits);
    out += flippedText(difference);
    return out += difference.ulp ? say(", {} ulp apart", *difference.ulp) : say(", one of them not a number");
}

Sentence verdictText(const CheckRecord& check) {
    switch (check.verdict) {
    case Verdict::Open: return say("It was not repeated, so what is to blame is open.");
    case Verdict::Transient: return say("Repeated on the same rank, both agree: a transient fault.");
    case Verdict::Device: return say("It comes back on this rank and not on another: suspect the hardware.");
    case Verdict::Everywhere: return say("Other ranks depart from themselves too: the code is not deterministic.");
    }
    return {};
}

Sentence verdictAdvice(const CheckRecord& check) {
    switch (check.verdict) {
    case Verdict::Open:
        return say("Let mismatches be repeated before anybody draws conclusions; until then take what was "
                   "trained since step {} as doubtful.",
                   check.step);
    case Verdict::Transient:
        return say("Go back to the checkpoint before step {}, and keep count of the device: one that does it "
                   "again is to be replaced.",
                   check.step);
    case Verdict::Device:
        return say("Take the device out of the job, go back to the checkpoint before step {}, and have it "
                   "tested by its vendor.",
                   check.step);
    case Verdict::Everywhere:
        return say(
            "Look for float atomics, workspaces that differ, split-K products and unseeded random numbers in this "
            "op. "
            "Until they are gone its checks say nothing of the hardware.");
    }
    return {};
}

} // namespace bubblescope
