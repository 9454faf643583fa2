#include "core/formats/perfetto/packet_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace bubblescope::perfetto {
namespace {

Error fileError(const std::filesystem::path& path, std::string_view what, int code) {
    Error error = runError(fmt::format("{}: {}", what, std::strerror(code)),
                           "check that the folder is writable and has free space");
    error.where = path.string();
    return error;
}

/// Names of traces can be guessed, and their folder may be writable by others. Therefore never write through an
/// existing link, except into a pipe or a device if the link belongs to this user.
bool leadsToDevice(const std::filesystem::path& path, const struct stat& link) {
    struct stat behind {};
    return S_ISLNK(link.st_mode) && link.st_uid == ::geteuid() && ::stat(path.c_str(), &behind) == 0 &&
           (S_ISCHR(behind.st_mode) || S_ISFIFO(behind.st_mode));
}

int openNew(const std::filesystem::path& path) {
    constexpr int kMode = 0644;
    struct stat old {};
    if (::lstat(path.c_str(), &old) == 0) {
        if (leadsToDevice(path, old)) return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        if ((S_ISREG(old.st_mode) || S_ISLNK(old.st_mode)) && ::unlink(path.c_str()) != 0) return -1;
    }
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, kMode);
}

} // namespace

Result<PacketFile> PacketFile::create(std::filesystem::path path) {
    const int descriptor = openNew(path);
    if (descriptor < 0) return fileError(path, "cannot create the trace file", errno);
    return PacketFile(std::move(path), descriptor);
}

Result<PacketFile> PacketFile::open(std::filesystem::path path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return fileError(path, "cannot open the trace file", errno);
    return PacketFile(std::move(path), descriptor);
}

Result<PacketFile> PacketFile::openUpTo(std::filesystem::path path, std::int64_t length) {
    BUBBLESCOPE_ASSIGN(PacketFile file, open(path));
    if (file.length_ <= length) return file;
    file.length_ = length;
    std::filesystem::path beside = path;
    beside += ".part";
    BUBBLESCOPE_TRY(file.moveTo(beside));
    if (::rename(beside.c_str(), path.c_str()) != 0) {
        const int code = errno;
        ::unlink(beside.c_str());
        return fileError(path, "cannot replace the trace file", code);
    }
    file.path_ = std::move(path);
    return file;
}

PacketFile::PacketFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
    struct stat about {};
    if (::fstat(descriptor_, &about) != 0) return;
    device_ = about.st_dev;
    inode_ = about.st_ino;
    length_ = about.st_size;
}

PacketFile::PacketFile(PacketFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), device_(other.device_),
      inode_(other.inode_), length_(other.length_) {}

PacketFile& PacketFile::operator=(PacketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    std::swap(length_, other.length_);
    return *this;
}

PacketFile::~PacketFile() {
    struct stat about {};
    const bool ours = descriptor_ >= 0 && ::fstat(descriptor_, &about) == 0 && about.st_ino == inode_;
    if (ours) ::close(descriptor_);
}

Status PacketFile::reopen() {
    struct stat about {};
    if (::fstat(descriptor_, &about) == 0 && about.st_dev == device_ && about.st_ino == inode_) return {};
    descriptor_ = -1; // closed, or reused by now
    BUBBLESCOPE_ASSIGN(PacketFile again, open(path_));
    if (again.device_ != device_ || again.inode_ != inode_)
        return fileError(path_, "the trace file was replaced by another one", ESTALE);
    descriptor_ = std::exchange(again.descriptor_, -1);
    return {};
}

bool PacketFile::isInPlace() const {
    struct stat about {};
    return ::stat(path_.c_str(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

Status PacketFile::copyFrom(int from, std::int64_t length) {
    std::array<char, std::size_t{64} << 10> buffer{};
    while (length_ < length) {
        const auto most = static_cast<std::size_t>(std::min<std::int64_t>(length - length_, buffer.size()));
        const ssize_t got = ::pread(from, buffer.data(), most, length_);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fileError(path_, "the trace file cannot be restored", got < 0 ? errno : EIO);
        BUBBLESCOPE_TRY(append({buffer.data(), static_cast<std::size_t>(got)}));
    }
    return {};
}

Status PacketFile::moveTo(std::filesystem::path path) {
    struct stat about {};
    if (::fstat(descriptor_, &about) != 0 || about.st_dev != device_ || about.st_ino != inode_)
        return fileError(path_, "the trace file was removed", ENOENT);
    // Opened by descriptor number, because a removed file has no name.
    const std::string own = fmt::format("/proc/self/fd/{}", descriptor_);
    const int from = ::open(own.c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0) return fileError(path_, "the trace file was removed", errno);
    Result<PacketFile> made = create(std::move(path));
    const Status copied = made.ok() ? made.value().copyFrom(from, length_) : Status(made.error());
    ::close(from);
    if (copied.ok())
        *this = std::move(made).value();
    else if (made.ok())
        ::unlink(made.value().path().c_str());
    return copied;
}

Status PacketFile::append(std::string_view packets) {
    BUBBLESCOPE_TRY(reopen());
    std::string_view rest = packets;
    while (!rest.empty()) {
        const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int code = written < 0 ? errno : ENOSPC;
            // A partial packet at the end would cause a diagnostic in readers. If truncating fails too, they can still
            // read everything before it.
            if (rest.size() != packets.size()) {
                [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, length_);
            }
            Error error = fileError(path_, "cannot write the trace file", code);
            if (length_ > 0) error.hint += fmt::format("; its first {} bytes are intact and readable", length_);
            return error;
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    length_ += static_cast<std::int64_t>(packets.size());
    return {};
}

} // namespace bubblescope::perfetto
