// libFuzzer's way in. Every program is made from this file, with the name of its target.

#include "tests/fuzz/targets.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::string_view kName = BUBBLESCOPE_FUZZ_TARGET;

auto target() {
    for (const bubblescope::fuzz::Target& known : bubblescope::fuzz::targets()) {
        if (known.name == kName) return known.run;
    }
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto run = target();
    run({reinterpret_cast<const char*>(data), size}); // what it throws ends the program, and libFuzzer keeps the input
    return 0;
}
