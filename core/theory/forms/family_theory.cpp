#include "core/theory/forms/family_theory.h"

#include <algorithm>
#include <array>

namespace bubblescope {

std::span<const FamilyTheory> familyTheories() {
    static const std::array kTheories{fThenBTheory(),
                                      loopedBfsTheory(),
                                      circularTheory(),
                                      interleavedFThenBTheory(),
                                      oneFOneBTheory(),
                                      eager1F1BTheory(),
                                      seq1F1BTheory(),
                                      seqPipeTheory(),
                                      seqVppTheory(),
                                      seqSmartVppTheory(),
                                      vppBalancedMemoryTheory(),
                                      interleaved1F1BTheory(),
                                      oneFOneBOverlapTheory(),
                                      interleavedOverlapTheory(),
                                      zbH1Theory(),
                                      interleavedZbTheory(),
                                      zbH2Theory(),
                                      zbVTheory(),
                                      vHalfTheory(),
                                      vMinTheory(),
                                      v1F1BTheory(),
                                      dualPipeVTheory(),
                                      dualPipeTheory(),
                                      stpTheory(),
                                      chimeraTheory(),
                                      bitPipeTheory(),
                                      hanayoTheory(),
                                      pipeDream2BwTheory(),
                                      pipeDreamTheory()};
    return kTheories;
}

const FamilyTheory* findFamilyTheory(std::string_view family) {
    const auto theories = familyTheories();
    const auto found = std::ranges::find(theories, family, &FamilyTheory::family);
    return found == theories.end() ? nullptr : &*found;
}

} // namespace bubblescope
