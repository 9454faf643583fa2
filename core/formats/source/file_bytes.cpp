#include "core/formats/source/file_bytes.h"

#include "core/formats/source/packing.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define BUBBLESCOPE_MAPS_FILES 1
#endif

namespace bubblescope {
namespace {

constexpr std::size_t kReadPiece = std::size_t{1} << 20;

struct CloseFile {
    void operator()(std::FILE* file) const {
        if (file != stdin) std::fclose(file); // NOLINT(cert-err33-c): it was only read
    }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

Error systemError(const std::string& where, std::string_view what) {
    return inputError(where, fmt::format("{}: {}", what, std::strerror(errno)),
                      "check the name and that you may read it");
}

Result<FileBytes> readWhole(std::FILE* file, const std::string& where, LoadProgress& progress) {
    auto buffer = std::make_shared<ByteBuffer>();
    for (;;) {
        if (progress.stopRequested()) return cancelledError();
        if (buffer->room() < kReadPiece) buffer->reserve(std::max(2 * kReadPiece, buffer->size() * 2));
        const std::size_t count = std::fread(buffer->end(), 1, kReadPiece, file);
        buffer->grew(count);
        if (count < kReadPiece) break;
    }
    if (std::ferror(file) != 0) return systemError(where, "cannot be read");
    const std::string_view text = buffer->text();
    return FileBytes(std::move(buffer), text);
}

#ifdef BUBBLESCOPE_MAPS_FILES

/// Nothing if the file is not a regular one or cannot be mapped: then read it.
std::optional<FileBytes> mapFile(std::FILE* file) {
    struct stat status {};
    const int descriptor = fileno(file);
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (begin == MAP_FAILED) return std::nullopt;
    madvise(begin, size, MADV_SEQUENTIAL);
    std::shared_ptr<const void> owner(begin, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); });
    return FileBytes(std::move(owner), {static_cast<const char*>(begin), size}, true);
}

} // namespace

void FileBytes::release(std::size_t begin, std::size_t end) const {
    if (!mapped_) return;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    begin -= begin % page;
    end -= end % page;
    if (begin < end) madvise(const_cast<char*>(text_.data()) + begin, end - begin, MADV_DONTNEED);
}

namespace {

#else

std::optional<FileBytes> mapFile(std::FILE*) {
    return std::nullopt;
}

} // namespace

void FileBytes::release(std::size_t, std::size_t) const {}

namespace {

#endif

Result<FileBytes> openFile(const std::filesystem::path& path, const std::string& where, LoadProgress& progress) {
    if (path == kStandardInput) return readWhole(stdin, where, progress);
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) return inputError(where, "is a folder, not a file");
    errno = 0;
    const OpenFile file(std::fopen(path.string().c_str(), "rb"));
    if (!file) return systemError(where, "cannot be opened");
    if (auto mapped = mapFile(file.get())) return std::move(*mapped);
    return readWhole(file.get(), where, progress);
}

} // namespace

Result<FileBytes> loadFileBytes(const std::filesystem::path& file, DiagnosticLog& log, LoadProgress& progress) {
    const std::string where = file == kStandardInput ? "standard input" : file.string();
    BUBBLESCOPE_ASSIGN(FileBytes bytes, openFile(file, where, progress));
    const auto packing = packingOf(bytes.text());
    if (!packing) return bytes;

    constexpr double kUnpackingFraction = 0.4; // fraction of the time of loading a compressed file
    progress.beginStage(kUnpackingFraction);
    BUBBLESCOPE_ASSIGN(Unpacked unpacked, unpack(bytes.text(), *packing, where, progress));
    if (!unpacked.fault.empty()) {
        const Sentence place = say("{}, byte {}", where, unpacked.fault_at);
        if (unpacked.bytes.size() == 0) {
            return inputError(place.text(), unpacked.fault, "copy the file again, or from where it was written");
        }
        log.add(unpacked.cut_off ? "truncated" : "corrupt", place,
                unpacked.cut_off ? say("the packed data are cut off; everything before it is read")
                                 : say("the packed data are damaged; everything before it is read"));
    }
    progress.beginStage(1.0);
    auto buffer = std::make_shared<ByteBuffer>(std::move(unpacked.bytes));
    const std::string_view text = buffer->text();
    return FileBytes(std::move(buffer), text);
}

} // namespace bubblescope
