#include "core/formats/source/load_progress.h"
#include "core/formats/source/packing.h"
#include "tests/fuzz/mutators/mutate.h"

#include <algorithm>

namespace bubblescope::fuzz {
namespace {

std::string packed(Packing packing, const std::string& bytes) {
    std::string out;
    const auto packer = makePacker(packing);
    (void)(packer->add(bytes, out) && packer->finish(out));
    return out;
}

} // namespace

std::string mutatePacked(std::string_view file, std::size_t most, Random& random) {
    constexpr std::size_t kMostPlain = std::size_t{4} << 20;
    const auto packing = packingOf(file);
    if (!packing) return packed(below(random, 2) == 0 ? Packing::Gzip : Packing::Zstd, std::string(file));
    if (below(random, 3) == 0) return mutateBytes(std::string(file), most);
    JobControl control;
    LoadProgress progress(control, file.size());
    auto unpacked = unpack(file, *packing, "mutated", progress);
    if (!unpacked.ok()) return mutateBytes(std::string(file), most);
    std::string plain(unpacked.value().bytes.text().substr(0, kMostPlain));
    switch (below(random, 4)) {
    case 0: plain = mutateJson(plain, kMostPlain, random); break;
    case 1: plain = mutateBytes(plain, plain.size() + 64); break;
    case 2: { // what packs well
        const std::size_t begin = below(random, plain.size() + 1);
        const std::string part = plain.substr(begin, 1 + below(random, 64));
        const std::size_t count = repetitions(part.size() + 1, kMostPlain - std::min(kMostPlain, plain.size()), random);
        for (std::size_t i = 0; i < count; ++i)
            plain += part;
        break;
    }
    default: // one more member
        return std::string(file) + packed(below(random, 2) == 0 ? Packing::Gzip : Packing::Zstd,
                                          plain.substr(0, below(random, plain.size() + 1)));
    }
    return packed(*packing, plain);
}

} // namespace bubblescope::fuzz
