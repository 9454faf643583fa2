#include "core/formats/perfetto/packet_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace bubblescope::perfetto {
namespace {

Error fileError(const std::filesystem::path& path, std::string_view what, int code) {
    Error error = runError(fmt::format("{}: {}", what, std::strerror(code)),
                           "check that the folder can be written to and has room");
    error.where = path.string();
    return error;
}

} // namespace

Result<PacketFile> PacketFile::create(std::filesystem::path path) {
    constexpr int kMode = 0644;
    struct stat old {};
    const bool replaces = ::lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode);
    if (replaces && ::unlink(path.c_str()) != 0) return fileError(path, "the trace file cannot be replaced", errno);
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kMode);
    if (descriptor < 0) return fileError(path, "the trace file cannot be created", errno);
    return PacketFile(std::move(path), descriptor);
}

PacketFile::PacketFile(PacketFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), length_(other.length_) {}

PacketFile& PacketFile::operator=(PacketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(length_, other.length_);
    return *this;
}

PacketFile::~PacketFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Status PacketFile::append(std::string_view packets) {
    std::string_view rest = packets;
    while (!rest.empty()) {
        const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int code = written < 0 ? errno : ENOSPC;
            // Half a packet at the end would cost readers the last packet and a diagnostic; if truncating fails too,
            // they still read everything before it.
            if (rest.size() != packets.size()) {
                [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, length_);
            }
            return fileError(path_, "the trace file cannot be written", code);
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    length_ += static_cast<std::int64_t>(packets.size());
    return {};
}

} // namespace bubblescope::perfetto
