// operator new that tells the meter, where no sanitizer does.

#include <cstdlib>
#include <malloc.h>
#include <new>

namespace bubblescope::fuzz {
void countNew(std::size_t bytes);
void countDelete(std::size_t bytes);
} // namespace bubblescope::fuzz

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

void* counted(void* pointer) {
    if (pointer == nullptr) throw std::bad_alloc();
    bubblescope::fuzz::countNew(::malloc_usable_size(pointer));
    return pointer;
}

void uncounted(void* pointer) {
    if (pointer != nullptr) bubblescope::fuzz::countDelete(::malloc_usable_size(pointer));
    std::free(pointer);
}

} // namespace

void* operator new(std::size_t bytes) {
    return counted(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t align) {
    const auto step = static_cast<std::size_t>(align);
    return counted(std::aligned_alloc(step, (bytes + step - 1) / step * step));
}
void operator delete(void* pointer) noexcept {
    uncounted(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
    uncounted(pointer);
}
void operator delete(void* pointer, std::align_val_t) noexcept {
    uncounted(pointer);
}
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept {
    uncounted(pointer);
}

#endif
