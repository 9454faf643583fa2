#include "core/formats/source/replacing_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace bubblescope {

ReplacingFile::ReplacingFile(std::filesystem::path target) : target_(std::move(target)), place_(target_) {
    if (const auto packing = packingAskedFor(target_)) packer_ = makePacker(*packing);
    open();
}

ReplacingFile::~ReplacingFile() {
    if (committed_ || !file_.isOpen() || temporary_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void ReplacingFile::open() {
    struct stat status {};
    if (::lstat(target_.c_str(), &status) != 0) return openBeside(); // it is new, or opening tells why not
    if (S_ISLNK(status.st_mode)) {
        if (::stat(target_.c_str(), &status) != 0) {
            problem_ = "it is a symbolic link that leads nowhere";
            return;
        }
        if (S_ISREG(status.st_mode) && status.st_uid != ::geteuid()) {
            problem_ = "it is a symbolic link to a file of another user";
            return;
        }
        std::error_code failed;
        place_ = std::filesystem::canonical(target_, failed);
        if (failed) problem_ = failed.message();
    }
    if (!problem_.empty()) return;
    if (S_ISREG(status.st_mode)) return openBeside();
    file_ = Descriptor(::open(place_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_.isOpen()) problem_ = std::strerror(errno);
}

void ReplacingFile::openBeside() {
    constexpr int kTries = 100; // a program that was killed may have left its own
    for (int i = 0; i < kTries && !file_.isOpen(); ++i) {
        temporary_ = place_;
        temporary_ += i == 0 ? std::string(".part") : fmt::format(".{}-{}.part", ::getpid(), i);
        file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
        if (!file_.isOpen() && errno != EEXIST) break;
    }
    if (!file_.isOpen()) problem_ = std::strerror(errno);
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
    return inputError(target_.string(), fmt::format("cannot be written: {}", problem_),
                      "check that the folder exists, can be written to and has room");
}

Status ReplacingFile::commit() {
    flush();
    if (packer_) {
        std::string packed;
        packing_failed_ = !packer_->finish(packed) || packing_failed_;
        put(packed);
    }
    if (packing_failed_) return inputError(target_.string(), "cannot be packed: there is not enough memory");
    if (!problem_.empty()) return failure();
    if (temporary_.empty()) {
        committed_ = true;
        return {};
    }
    std::error_code failed;
    std::filesystem::rename(temporary_, place_, failed);
    if (failed) return inputError(target_.string(), fmt::format("cannot be replaced: {}", failed.message()));
    committed_ = true;
    return {};
}

Status makeFolder(const std::filesystem::path& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (!failed) return {};
    return inputError(folder.string(), fmt::format("cannot be made a folder: {}", failed.message()),
                      "name a folder that can be written");
}

} // namespace bubblescope
