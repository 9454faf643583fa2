// libFuzzer's way in. Every program is made from this file, with the name of its target.

#include "tests/fuzz/mutators/mutate.h"
#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr std::string_view kName = BUBBLESCOPE_FUZZ_TARGET;

#ifdef BUBBLESCOPE_FUZZ_CONFIG
auto target() {
    return bubblescope::fuzz::configFile;
}
#else
auto target() {
    for (const bubblescope::fuzz::Target& known : bubblescope::fuzz::targets()) {
        if (known.name == kName) return known.run;
    }
    std::abort();
}
#endif

/// Null: libFuzzer's own changes serve.
auto mutatorOf() -> std::string (*)(std::string_view, std::size_t, bubblescope::fuzz::Random&) {
    namespace fuzz = bubblescope::fuzz;
    constexpr auto is = [](auto... names) { return ((kName == names) || ...); };
    if (is("perfetto_trace", "live_stream", "captured")) return fuzz::mutateProtobuf;
    if (is("chrome_json", "json_args", "torchtitan_log", "job_log", "cost_files", "layer_times", "memory_model",
           "notes_file", "op_costs", "primus_record", "recognition_rules", "rocprof_json", "schedule_json", "load_run",
           "round_trip", "run_pair"))
        return fuzz::mutateJson;
    if (is("unpack")) return fuzz::mutatePacked;
    if (is("nsys_database")) return fuzz::mutateDatabase;
    return nullptr;
}

} // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most); // NOLINT

namespace bubblescope::fuzz {

std::string mutateBytes(std::string bytes, std::size_t most) {
    const std::size_t before = std::min(bytes.size(), most);
    constexpr std::size_t kGrowth = 4096;
    bytes.resize(std::max<std::size_t>(std::min(most, before + kGrowth), 1));
    bytes.resize(::LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), before, bytes.size()));
    return bytes;
}

std::size_t repetitions(std::size_t bytes, std::size_t most, Random& random) {
    const std::size_t full = most / std::max<std::size_t>(bytes, 1);
    const std::size_t few = 1 + below(random, 8);
    if (full == 0) return 0;
    return below(random, 8) == 0 ? 1 + below(random, full) : std::min(few, full);
}

} // namespace bubblescope::fuzz

/// libFuzzer calls it instead of its own changes, which the pieces get.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, // NOLINT
                                               unsigned seed) {
    static const auto mutator = mutatorOf();
    if (mutator == nullptr) return ::LLVMFuzzerMutate(data, size, most);
    bubblescope::fuzz::Random random(seed);
    const std::string out = mutator({reinterpret_cast<const char*>(data), size}, most, random);
    const std::size_t length = std::min(out.size(), most);
    std::memcpy(data, out.data(), length);
    return length;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto run = target();
    run({reinterpret_cast<const char*>(data), size}); // what it throws ends the program, and libFuzzer keeps the input
    return 0;
}
