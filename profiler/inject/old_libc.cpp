// The library is loaded into jobs on clusters whose C library may be years older than that of the machine it was built
// on. For functions with a new version since glibc 2.28, this file selects the old version, or implements them with
// older functions. Everything in this file is hidden: it does not affect the job's own calls.

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GLIBC__)

// NOLINTBEGIN: names and types are those of the C library.
#define BUBBLESCOPE_HIDDEN extern "C" __attribute__((visibility("hidden")))

#define BUBBLESCOPE_OLD(result, name, parameters, arguments, ...)    \
    asm(".symver bubblescope_old_" #name ", " #name "@GLIBC_2.2.5"); \
    extern "C" result bubblescope_old_##name parameters __VA_ARGS__; \
    BUBBLESCOPE_HIDDEN result name parameters __VA_ARGS__ {          \
        return bubblescope_old_##name arguments;                     \
    }

BUBBLESCOPE_OLD(int, pthread_create,
                (pthread_t * thread, const pthread_attr_t* attributes, void* (*run)(void*), void* with),
                (thread, attributes, run, with), noexcept)
BUBBLESCOPE_OLD(int, pthread_detach, (pthread_t thread), (thread), noexcept)
BUBBLESCOPE_OLD(int, pthread_once, (pthread_once_t * once, void (*run)()), (once, run))
BUBBLESCOPE_OLD(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* before), (how, set, before), noexcept)
BUBBLESCOPE_OLD(void*, dlopen, (const char* file, int mode), (file, mode), noexcept)
BUBBLESCOPE_OLD(void*, dlsym, (void* library, const char* name), (library, name), noexcept)
BUBBLESCOPE_OLD(char*, dlerror, (), (), noexcept)

// Since glibc 2.38, the headers and the C++ runtime call these functions by new names, which also accept binary
// numbers.
#define BUBBLESCOPE_OLD_NUMBER(result, name)                                                     \
    asm(".symver bubblescope_old_" #name ", " #name "@GLIBC_2.2.5");                             \
    extern "C" result bubblescope_old_##name(const char* text, char** end, int base) noexcept;   \
    BUBBLESCOPE_HIDDEN result __isoc23_##name(const char* text, char** end, int base) noexcept { \
        return bubblescope_old_##name(text, end, base);                                          \
    }

BUBBLESCOPE_OLD_NUMBER(long, strtol)
BUBBLESCOPE_OLD_NUMBER(unsigned long, strtoul)
BUBBLESCOPE_OLD_NUMBER(long long, strtoll)
BUBBLESCOPE_OLD_NUMBER(unsigned long long, strtoull)

// The C++ runtime calls it by the name that it has had since glibc 2.34.
asm(".symver bubblescope_old_pthread_key_create, pthread_key_create@GLIBC_2.2.5");
extern "C" int bubblescope_old_pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept;
BUBBLESCOPE_HIDDEN int __pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
    return bubblescope_old_pthread_key_create(key, destroy);
}

/// Jobs have threads: if this were set, the C++ runtime would count references without atomic operations.
BUBBLESCOPE_HIDDEN char __libc_single_threaded;
char __libc_single_threaded = 0;

BUBBLESCOPE_HIDDEN int stat(const char* path, struct stat* about) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, about, 0));
}
BUBBLESCOPE_HIDDEN int lstat(const char* path, struct stat* about) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW));
}
BUBBLESCOPE_HIDDEN int fstat(int descriptor, struct stat* about) noexcept {
    return static_cast<int>(::syscall(SYS_fstat, descriptor, about));
}
BUBBLESCOPE_HIDDEN int fstat64(int descriptor, struct stat64* about) noexcept {
    return static_cast<int>(::syscall(SYS_fstat, descriptor, about));
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace {

struct Wanted {
    std::uintptr_t address;
    dl_find_object* found;
};

int findIn(dl_phdr_info* object, std::size_t, void* data) {
    const auto& wanted = *static_cast<Wanted*>(data);
    const ElfW(Phdr)* frames = nullptr;
    bool holds = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) frames = &part;
        if (part.p_type != PT_LOAD || wanted.address < begin || wanted.address >= begin + part.p_memsz) continue;
        holds = true;
        wanted.found->dlfo_map_start = reinterpret_cast<void*>(begin);
        wanted.found->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
    }
    if (!holds || frames == nullptr) return 0;
    wanted.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
    return 1;
}

} // namespace

/// Exceptions use it to find the frames that they unwind.
BUBBLESCOPE_HIDDEN int _dl_find_object(void* address, dl_find_object* found) noexcept {
    *found = {};
    Wanted wanted{reinterpret_cast<std::uintptr_t>(address), found};
    return ::dl_iterate_phdr(findIn, &wanted) == 1 ? 0 : -1;
}
#endif
// NOLINTEND
#endif
