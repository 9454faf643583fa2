#include "core/formats/source/mapped_file.h"

#if defined(__unix__) || defined(__APPLE__)

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace bubblescope {

/// Entries are never freed, only reused, because a signal may arrive at any time. A free one has `begin` 0.
struct MappedFile::Pages {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<bool> lost{false};
    Pages* next = nullptr;
};

/// The pages of all mapped files.
struct MappedPages {
    using Pages = MappedFile::Pages;

    static std::atomic<Pages*> first;
    static struct sigaction previous;
    static std::mutex mutex; ///< held while entries are taken and files are unmapped

    static void onBusError(int signal, siginfo_t* info, void* context) {
        const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        for (Pages* each = first.load(); each != nullptr; each = each->next) {
            const std::uintptr_t end = each->end.load();
            if (address < each->begin.load() || address >= end) continue;
            const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            const std::uintptr_t from = address - address % page;
            // Everything after it is missing as well.
            void* const zeros = mmap(reinterpret_cast<void*>(from), end - from, PROT_READ,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            if (zeros == MAP_FAILED) break;
            each->lost.store(true);
            return;
        }
        if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr)
            return previous.sa_sigaction(signal, info, context);
        if ((previous.sa_flags & SA_SIGINFO) == 0 && previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
            return previous.sa_handler(signal);
        std::signal(signal, SIG_DFL);
        std::raise(signal); // ends the process when this handler returns
    }

    static Pages* take(std::uintptr_t begin, std::uintptr_t end) {
        const std::scoped_lock lock(mutex);
        if (first.load() == nullptr) {
            struct sigaction action {};
            action.sa_sigaction = &onBusError;
            action.sa_flags = SA_SIGINFO | SA_ONSTACK;
            sigemptyset(&action.sa_mask);
            sigaction(SIGBUS, &action, &previous);
        }
        Pages* pages = first.load();
        while (pages != nullptr && pages->begin.load() != 0)
            pages = pages->next;
        if (pages == nullptr) {
            pages = new Pages;
            pages->next = first.load();
            first.store(pages);
        }
        pages->lost.store(false);
        pages->end.store(end);
        pages->begin.store(begin);
        return pages;
    }
};

std::atomic<MappedFile::Pages*> MappedPages::first{nullptr};
struct sigaction MappedPages::previous {};
std::mutex MappedPages::mutex;

std::shared_ptr<const MappedFile> MappedFile::map(int descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return nullptr;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (begin == MAP_FAILED) return nullptr;
    madvise(begin, size, MADV_SEQUENTIAL);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    Pages* const pages = MappedPages::take(address, address + (size + page - 1) / page * page);
    return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const char*>(begin), size}, pages));
}

MappedFile::~MappedFile() {
    const std::scoped_lock lock(MappedPages::mutex);
    // First, because the addresses may be mapped for something else as soon as they are free.
    pages_->begin.store(0);
    munmap(const_cast<char*>(text_.data()), text_.size());
}

bool MappedFile::lost() const {
    return pages_->lost.load();
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    begin -= begin % page;
    end -= end % page;
    if (begin < end) madvise(const_cast<char*>(text_.data()) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::releaseAll() {
    const std::scoped_lock lock(MappedPages::mutex); // nothing is unmapped meanwhile
    for (const Pages* each = MappedPages::first.load(); each != nullptr; each = each->next) {
        const std::uintptr_t begin = each->begin.load();
        if (begin != 0) madvise(reinterpret_cast<void*>(begin), each->end.load() - begin, MADV_DONTNEED);
    }
}

} // namespace bubblescope

#else

namespace bubblescope {

struct MappedFile::Pages {};

std::shared_ptr<const MappedFile> MappedFile::map(int) {
    return nullptr;
}
MappedFile::~MappedFile() = default;
bool MappedFile::lost() const {
    return false;
}
void MappedFile::release(std::size_t, std::size_t) const {}
void MappedFile::releaseAll() {}

} // namespace bubblescope

#endif
