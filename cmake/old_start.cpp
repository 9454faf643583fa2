// Programs begin with the version of __libc_start_main() that glibc before 2.34 has as well. With it, a program must
// run its constructors itself, which newer start files no longer do.

#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__)

// NOLINTBEGIN: names and types are those of the C library and the linker.
extern "C" {

using Constructor = void (*)(int, char**, char**);
extern Constructor __preinit_array_start[] __attribute__((visibility("hidden")));
extern Constructor __preinit_array_end[] __attribute__((visibility("hidden")));
extern Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((visibility("hidden")));
void _init();

asm(".symver bubblescope_old_start, __libc_start_main@GLIBC_2.2.5");
int bubblescope_old_start(int (*main)(int, char**, char**), int count, char** arguments, Constructor construct,
                          void (*destroy)(), void (*unload)(), void* stack_end);

static void bubblescope_construct(int count, char** arguments, char** environment) {
    for (Constructor* run = __preinit_array_start; run != __preinit_array_end; ++run)
        (*run)(count, arguments, environment);
    _init();
    for (Constructor* run = __init_array_start; run != __init_array_end; ++run)
        (*run)(count, arguments, environment);
}

/// Destructors are run by the dynamic linker, in all versions.
__attribute__((visibility("hidden"))) int __libc_start_main(int (*main)(int, char**, char**), int count,
                                                            char** arguments, Constructor, void (*)(), void (*unload)(),
                                                            void* stack_end) {
    return bubblescope_old_start(main, count, arguments, bubblescope_construct, nullptr, unload, stack_end);
}
}
// NOLINTEND
#endif
