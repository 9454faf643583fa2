#include "core/formats/source/replacing_file.h"

#include "core/formats/source/standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace bubblescope {

ReplacingFile::ReplacingFile(std::filesystem::path target) : target_(std::move(target)), place_(target_) {
    if (const auto packing = packingAskedFor(target_)) packer_ = makePacker(*packing);
    open();
}

ReplacingFile::~ReplacingFile() {
    if (committed_ || temporary_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void ReplacingFile::open() {
    if (target_ == kStandardOutput) {
        file_ = Descriptor(::fcntl(standardOutput(), F_DUPFD_CLOEXEC, 0));
        if (!file_.isOpen()) problem_ = std::strerror(errno);
        return;
    }
    struct stat status {};
    if (::lstat(target_.c_str(), &status) != 0)
        return openBeside(); // the file is new, or opening it will report the
                             // error
    if (S_ISLNK(status.st_mode)) {
        if (::stat(target_.c_str(), &status) != 0) {
            problem_ = "it is a broken symbolic link";
            return;
        }
        if (S_ISREG(status.st_mode) && status.st_uid != ::geteuid()) {
            problem_ = "it is a symbolic link to another user's file";
            return;
        }
        std::error_code failed;
        place_ = std::filesystem::canonical(target_, failed);
        if (failed) problem_ = failed.message();
    }
    if (!problem_.empty()) return;
    if (S_ISREG(status.st_mode)) {
        existed_ = true;
        openBeside();
        constexpr mode_t kPermissions = 0777; // the owner's permissions are kept, too, if a mask removed some
        if (file_.isOpen()) [[maybe_unused]]
            const int ignored = ::fchmod(file_.get(), status.st_mode & kPermissions);
        return;
    }
    file_ = Descriptor(::open(place_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_.isOpen()) problem_ = std::strerror(errno);
}

void ReplacingFile::openBeside() {
    constexpr int kTries = 100; // a killed program may have left a temporary file
    for (int i = 0; i < kTries && !file_.isOpen(); ++i) {
        temporary_ = place_;
        temporary_ += i == 0 ? std::string(".part") : fmt::format(".{}-{}.part", ::getpid(), i);
        file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
        if (!file_.isOpen() && errno != EEXIST) break;
    }
    if (!file_.isOpen()) {
        problem_ = std::strerror(errno);
        temporary_.clear(); // it belongs to another program
    }
}

void ReplacingFile::flush() {
    if (packer_) {
        std::string packed;
        packing_failed_ = !packer_->add(pending_, packed) || packing_failed_;
        put(packed);
    } else {
        put(pending_);
    }
    pending_.clear();
}

void ReplacingFile::put(std::string_view bytes) {
    while (!bytes.empty() && problem_.empty()) {
        const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written > 0)
            bytes.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            problem_ = std::strerror(errno);
    }
}

Error ReplacingFile::failure() const {
    // Until a temporary file replaces the target, the old content stays untouched.
    return inputError(
        target_.string(), fmt::format("cannot be written: {}", problem_),
        temporary_.empty()
            ? "check that the folder exists, is writable and has free space"
            : "nothing was written under that name; check that the folder is writable and has free space");
}

Status ReplacingFile::finish() {
    if (finished_) return {};
    flush();
    if (packer_) {
        std::string packed;
        packing_failed_ = !packer_->finish(packed) || packing_failed_;
        put(packed);
    }
    // With remote disks (NFS), a full disk may only be reported now.
    if (problem_.empty() && !temporary_.empty() && ::close(file_.release()) != 0 && errno != EINTR)
        problem_ = std::strerror(errno);
    if (packing_failed_) return inputError(target_.string(), "cannot be compressed: not enough memory");
    if (!problem_.empty()) return failure();
    finished_ = true;
    return {};
}

Status ReplacingFile::commit() {
    BUBBLESCOPE_TRY(finish());
    if (temporary_.empty()) {
        committed_ = true;
        return {};
    }
    // Not every file system can refuse to replace.
    const unsigned how = existed_ ? 0 : RENAME_NOREPLACE;
    int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place_.c_str(), how) == 0 ? 0 : errno;
    if (failed == EINVAL || failed == ENOSYS) failed = std::rename(temporary_.c_str(), place_.c_str()) == 0 ? 0 : errno;
    if (failed == EEXIST)
        return inputError(target_.string(), "was changed by another program in the meantime", "use another name");
    if (failed != 0) return inputError(target_.string(), fmt::format("cannot be replaced: {}", std::strerror(failed)));
    committed_ = true;
    return {};
}

Result<ReplacingFiles> ReplacingFiles::in(std::filesystem::path folder) {
    BUBBLESCOPE_TRY(makeFolder(folder));
    return ReplacingFiles(std::move(folder));
}

Result<ReplacingFile*> ReplacingFiles::begin(const std::string& name) {
    if (!files_.empty()) BUBBLESCOPE_TRY(files_.back()->finish());
    return files_.emplace_back(std::make_unique<ReplacingFile>(folder_ / name)).get();
}

Status ReplacingFiles::commit() {
    if (!files_.empty()) BUBBLESCOPE_TRY(files_.back()->finish());
    for (const auto& file : files_)
        BUBBLESCOPE_TRY(file->commit());
    return {};
}

Status makeFolder(const std::filesystem::path& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (!failed) return {};
    return inputError(folder.string(), fmt::format("cannot create this folder: {}", failed.message()),
                      "use a writable folder");
}

Status makeWritableFolder(const std::filesystem::path& folder) {
    BUBBLESCOPE_TRY(makeFolder(folder));
    std::string name = (folder / ".bubblescope-XXXXXX").string();
    const Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (file.isOpen()) {
        ::unlink(name.c_str());
        return {};
    }
    if (errno == ENOSPC || errno == EDQUOT) return {}; // the writer reports it, and there may be room by then
    return inputError(folder.string(), fmt::format("cannot be written to: {}", std::strerror(errno)),
                      "use a writable folder");
}

} // namespace bubblescope
