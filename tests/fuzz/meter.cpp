#include "tests/fuzz/meter.h"

#include "tests/fuzz/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

// Sanitizers report every allocation. Without them operator new does, in tests/fuzz/count_new.cpp.
extern "C" {
[[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                            void (*)(const volatile void*)); // NOLINT
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void*);              // NOLINT
// Clang's counters of branches (-fprofile-instr-generate).
[[gnu::weak]] std::uint64_t* __llvm_profile_begin_counters(); // NOLINT
[[gnu::weak]] std::uint64_t* __llvm_profile_end_counters();   // NOLINT
[[gnu::weak]] void __llvm_profile_set_filename(const char*);  // NOLINT
}

namespace bubblescope::fuzz {
namespace {

std::atomic<bool> measuring{false};
std::atomic<std::int64_t> now{0};
std::atomic<std::int64_t> most{0};
std::atomic<std::int64_t> sum{0};

bool hasCounters() {
    return &__llvm_profile_begin_counters != nullptr && &__llvm_profile_end_counters != nullptr;
}

} // namespace

void countNew(std::size_t bytes) {
    if (!measuring.load(std::memory_order_relaxed)) return;
    const auto count = static_cast<std::int64_t>(bytes);
    sum.fetch_add(count, std::memory_order_relaxed);
    const std::int64_t held = now.fetch_add(count, std::memory_order_relaxed) + count;
    std::int64_t before = most.load(std::memory_order_relaxed);
    while (held > before && !most.compare_exchange_weak(before, held, std::memory_order_relaxed)) {
    }
}

void countDelete(std::size_t bytes) {
    if (measuring.load(std::memory_order_relaxed))
        now.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

Meter::Meter() {
    static const bool hooked = [] {
        if (&__llvm_profile_set_filename != nullptr) __llvm_profile_set_filename("/dev/null");
        if (&__sanitizer_install_malloc_and_free_hooks == nullptr) return false;
        __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t bytes) { countNew(bytes); },
                                                  [](const volatile void* pointer) {
                                                      if (pointer != nullptr)
                                                          countDelete(__sanitizer_get_allocated_size(pointer));
                                                  });
        return true;
    }();
    (void)hooked;
    now = most = sum = 0;
    if (hasCounters()) std::fill(__llvm_profile_begin_counters(), __llvm_profile_end_counters(), 0);
    measuring = true;
}

Meter::~Meter() {
    measuring = false;
}

Used Meter::used() const {
    Used used;
    used.peak = static_cast<std::size_t>(most.load());
    used.allocated = static_cast<std::size_t>(sum.load());
    if (!hasCounters()) return used;
    for (const std::uint64_t* at = __llvm_profile_begin_counters(); at != __llvm_profile_end_counters(); ++at)
        used.branches += *at;
    return used;
}

void requireLinear(const Used& used, std::size_t input, const Bounds& bounds) {
    static const bool print = std::getenv("BUBBLESCOPE_FUZZ_METER") != nullptr;
    if (print) {
        std::fprintf(stderr, "%zu bytes: peak %zu, allocated %zu, branches %llu\n", input, used.peak, used.allocated,
                     static_cast<unsigned long long>(used.branches));
    }
    const auto within = [input](std::uint64_t count, std::uint64_t per_byte, std::uint64_t least, const char* what) {
        if (count <= per_byte * input + least) return;
        const std::string said =
            fmt::format("{} {} for {} bytes, more than {} a byte and {}", what, count, input, per_byte, least);
        throw BrokenPromise(said);
    };
    within(used.peak, bounds.peak_per_byte, bounds.peak, "memory:");
    within(used.allocated, bounds.allocated_per_byte, bounds.allocated, "allocated in all:");
    within(used.branches, bounds.branches_per_byte, bounds.branches, "work in branches:");
}

} // namespace bubblescope::fuzz
