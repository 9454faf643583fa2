#include "core/formats/source/file_bytes.h"

#include "core/base/descriptor.h"
#include "core/base/open_input.h"
#include "core/formats/source/packing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace bubblescope {
namespace {

constexpr std::size_t kReadPiece = std::size_t{1} << 20;
/// Smaller files are read, so that later changes to the file do not matter. Copying larger ones would take longer than
/// parsing them, because the system has to allocate pages.
constexpr std::size_t kMappedFrom = std::size_t{256} << 10;
/// Smaller compressed files are unpacked at once.
constexpr std::size_t kUnpackedAheadFrom = std::size_t{256} << 10;

Error systemError(const std::string& where, std::string_view what) {
    return inputError(where, fmt::format("{}: {}", what, std::strerror(errno)),
                      "check the name and your read permission");
}

constexpr std::size_t kToItsEnd = std::numeric_limits<std::size_t>::max();

/// Reads at most `longest` bytes; `expected` is the length of the content, if known. Endless input, for instance from a
/// device, is abandoned at a limit, or at once if its beginning is not `plausible`.
Result<FileBytes> readWhole(int file, std::uintmax_t expected, std::size_t longest, const std::string& where,
                            const PlausibleBeginning& plausible, LoadProgress& progress) {
    auto buffer = std::make_shared<ByteBuffer>();
    buffer->reserve(expected > 0 ? static_cast<std::size_t>(expected) + 1 : kReadPiece);
    bool asked = !plausible;
    while (true) {
        if (progress.stopRequested()) return cancelledError();
        if (buffer->room() == 0) buffer->reserve(buffer->size() * 2);
        const std::size_t wanted = std::min({buffer->room(), kReadPiece, longest - buffer->size()});
        const ssize_t count = ::read(file, buffer->end(), wanted);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return systemError(where, "cannot be read");
        if (count == 0) break;
        buffer->grew(static_cast<std::size_t>(count));
        if (!asked && buffer->size() >= kReadPiece) {
            asked = true;
            if (!plausible(buffer->text())) break;
        }
        if (buffer->size() > readLimit()) {
            return inputError(
                where, fmt::format("is longer than {} MB and does not fit in this machine's memory", readLimit() >> 20),
                "write the data to a file, which can be larger than memory");
        }
    }
    const std::string_view text = buffer->text();
    return FileBytes(std::move(buffer), text);
}

/// The offset after which a file of `size` bytes is a hole, which can be arbitrarily large without taking room on the
/// disk.
std::size_t endOfData(int file, std::size_t size) {
    constexpr int kMostParts = 10'000; // a file with more holes is read as it is
    off_t end = 0;
    std::optional<std::size_t> found;
    for (int part = 0; part < kMostParts && !found; ++part) {
        const off_t data = ::lseek(file, end, SEEK_DATA);
        if (data < 0)
            found = errno == ENXIO ? static_cast<std::size_t>(end) : size;
        else if (end = ::lseek(file, data, SEEK_HOLE); end < 0)
            found = size;
    }
    ::lseek(file, 0, SEEK_SET);
    return found.value_or(size);
}

Result<FileBytes> openFile(const std::filesystem::path& path, const std::string& where, DiagnosticLog& log,
                           const PlausibleBeginning& plausible, LoadProgress& progress) {
    if (path == kStandardInput) return readWhole(STDIN_FILENO, 0, kToItsEnd, where, plausible, progress);
    BUBBLESCOPE_ASSIGN(const Descriptor file, openInput(path.string()));
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    const bool small = !failed && size < kMappedFrom;
    const std::size_t end = failed ? kToItsEnd : endOfData(file.get(), size);
    const bool hole = !failed && end < size;
    if (hole) log.add("hole", Sentence(where), say("the file ends with a hole (no data), which was not read"));
    if (auto mapped = small ? nullptr : MappedFile::map(file.get())) {
        FileBytes bytes(std::move(mapped));
        if (hole) bytes.cut(std::min(end, bytes.text().size()));
        return bytes;
    }
    return readWhole(file.get(), small ? size : 0, hole ? end : kToItsEnd, where, plausible, progress);
}

Result<FileBytes> openAndUnpack(const std::filesystem::path& file, DiagnosticLog& log, LoadProgress& progress,
                                const PlausibleBeginning& plausible) {
    const std::string where = file == kStandardInput ? "standard input" : file.string();
    BUBBLESCOPE_ASSIGN(FileBytes bytes, openFile(file, where, log, plausible, progress));
    const auto packing = packingOf(bytes.text());
    if (!packing) return bytes;
    if (bytes.text().size() >= kUnpackedAheadFrom) {
        if (auto text = UnpackedText::open(bytes.owner(), bytes.text(), *packing, where, log, progress)) {
            BUBBLESCOPE_TRY(text->extend(kReadPiece));
            return FileBytes(std::move(text));
        }
    }
    BUBBLESCOPE_ASSIGN(Unpacked unpacked, unpack(bytes.text(), *packing, where, progress));
    BUBBLESCOPE_TRY(reportFault(unpacked, where, log));
    progress.beginStage(1.0);
    auto buffer = std::make_shared<ByteBuffer>(std::move(unpacked.bytes));
    const std::string_view text = buffer->text();
    return FileBytes(std::move(buffer), text, true);
}

} // namespace

Result<FileBytes> openFileBytes(const std::filesystem::path& file, DiagnosticLog& log, LoadProgress& progress,
                                const PlausibleBeginning& plausible) {
    BUBBLESCOPE_ASSIGN(FileBytes bytes, openAndUnpack(file, log, progress, plausible));
    bytes.setLoad(progress.control().total);
    return bytes;
}

} // namespace bubblescope
