#include "core/formats/source/replacing_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace bubblescope {

ReplacingFile::ReplacingFile(std::filesystem::path target) : target_(std::move(target)), temporary_(target_) {
    temporary_ += ".part";
    if (const auto packing = packingAskedFor(target_)) packer_ = makePacker(*packing);
    errno = 0;
    stream_.open(temporary_, std::ios::binary | std::ios::trunc);
}

ReplacingFile::~ReplacingFile() {
    if (committed_ || !stream_.is_open()) return;
    stream_.close();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
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

Status ReplacingFile::commit() {
    flush();
    if (packer_) {
        std::string packed;
        packing_failed_ = !packer_->finish(packed) || packing_failed_;
        put(packed);
    }
    if (packing_failed_) return inputError(target_.string(), "cannot be packed: there is not enough memory");
    stream_.flush();
    if (!stream_) {
        return inputError(target_.string(), fmt::format("cannot be written: {}", std::strerror(errno)),
                          "check that the folder exists, can be written to and has room");
    }
    std::error_code failed;
    std::filesystem::rename(temporary_, target_, failed);
    if (failed) return inputError(target_.string(), fmt::format("cannot be replaced: {}", failed.message()));
    committed_ = true;
    return {};
}

} // namespace bubblescope
