#include "core/formats/source/file_bytes.h"

#include "core/formats/source/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace bubblescope {
namespace {

constexpr std::size_t kReadPiece = std::size_t{1} << 20;
/// Smaller files are read: whatever happens to the file then, the content stays.
constexpr std::size_t kMappedFrom = std::size_t{4} << 20;

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

/// `expected`: how long the content is, if known.
Result<FileBytes> readWhole(std::FILE* file, std::uintmax_t expected, const std::string& where,
                            LoadProgress& progress) {
    auto buffer = std::make_shared<ByteBuffer>();
    buffer->reserve(expected > 0 ? static_cast<std::size_t>(expected) + 1 : kReadPiece);
    for (;;) {
        if (progress.stopRequested()) return cancelledError();
        if (buffer->room() == 0) buffer->reserve(buffer->size() * 2);
        const std::size_t wanted = std::min(buffer->room(), kReadPiece);
        const std::size_t count = std::fread(buffer->end(), 1, wanted, file);
        buffer->grew(count);
        if (count < wanted) break;
    }
    if (std::ferror(file) != 0) return systemError(where, "cannot be read");
    const std::string_view text = buffer->text();
    return FileBytes(std::move(buffer), text);
}

Result<FileBytes> openFile(const std::filesystem::path& path, const std::string& where, LoadProgress& progress) {
    if (path == kStandardInput) return readWhole(stdin, 0, where, progress);
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) return inputError(where, "is a folder, not a file");
    errno = 0;
    const OpenFile file(std::fopen(path.string().c_str(), "rb"));
    if (!file) return systemError(where, "cannot be opened");
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    const bool small = !failed && size < kMappedFrom;
    if (auto mapped = small ? nullptr : MappedFile::map(fileno(file.get()))) return FileBytes(std::move(mapped));
    return readWhole(file.get(), small ? size : 0, where, progress);
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
