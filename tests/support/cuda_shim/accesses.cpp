// GCC and Clang report every access to memory of code that is compiled with -fsanitize=thread by calls of these
// functions. The library that usually takes them knows threads of the system; here they are those of a block.

#include <cstddef>
#include <cstdint>

namespace cuda_shim {

void touched(const void* at, std::size_t bytes, bool writes);

} // namespace cuda_shim

#define BUBBLESCOPE_ACCESS(bytes)                  \
    void __tsan_read##bytes(void* at) {            \
        cuda_shim::touched(at, bytes, false);      \
    }                                              \
    void __tsan_write##bytes(void* at) {           \
        cuda_shim::touched(at, bytes, true);       \
    }                                              \
    void __tsan_unaligned_read##bytes(void* at) {  \
        cuda_shim::touched(at, bytes, false);      \
    }                                              \
    void __tsan_unaligned_write##bytes(void* at) { \
        cuda_shim::touched(at, bytes, true);       \
    }

extern "C" {
BUBBLESCOPE_ACCESS(1)
BUBBLESCOPE_ACCESS(2)
BUBBLESCOPE_ACCESS(4)
BUBBLESCOPE_ACCESS(8)
BUBBLESCOPE_ACCESS(16)
void __tsan_read_range(void* at, std::size_t bytes) {
    cuda_shim::touched(at, bytes, false);
}
void __tsan_write_range(void* at, std::size_t bytes) {
    cuda_shim::touched(at, bytes, true);
}
/// Not reported: blocks of a kernel may meet here.
std::uint64_t __tsan_atomic64_fetch_add(volatile std::uint64_t* at, std::uint64_t value, int /*order*/) {
    const std::uint64_t was = *at;
    *at = was + value;
    return was;
}
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void** /*at*/) {}
void __tsan_vptr_update(void** /*at*/, void* /*value*/) {}
}

#undef BUBBLESCOPE_ACCESS
