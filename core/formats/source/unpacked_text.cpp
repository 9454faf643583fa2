#include "core/formats/source/unpacked_text.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// The amount of text to unpack ahead of the reader.
constexpr std::size_t kAhead = std::size_t{4} << 20;

} // namespace

std::shared_ptr<UnpackedText> UnpackedText::open(std::shared_ptr<const void> owner, std::string_view packed,
                                                 Packing packing, std::string where, DiagnosticLog& log,
                                                 LoadProgress& progress) {
    auto place = ByteBuffer::atFixedPlace(unpackedLimit(packed.size()));
    if (!place) return nullptr;
    return std::shared_ptr<UnpackedText>(
        new UnpackedText(std::move(owner), packed, packing, std::move(where), *std::move(place), log, progress));
}

UnpackedText::UnpackedText(std::shared_ptr<const void> owner, std::string_view packed, Packing packing,
                           std::string where, ByteBuffer place, DiagnosticLog& log, LoadProgress& progress)
    : owner_(std::move(owner)), packed_(packed), where_(std::move(where)), log_(log), progress_(progress),
      unpacking_(std::in_place, packed, packing, unpackedLimit(packed.size()), progress.control()) {
    out_.bytes = std::move(place);
    startNext();
}

void UnpackedText::startNext() {
    out_.bytes.reuseReleased(kAhead + kAhead / 2);
    ahead_.add([this] {
        const std::size_t enough = out_.bytes.size() + kAhead;
        Chunk chunk;
        while (chunk.state == Unpacking::State::More && out_.bytes.size() < enough)
            chunk.state = unpacking_->next(out_);
        chunk.packed = unpacking_->at();
        chunk.size = out_.bytes.size();
        return chunk;
    });
}

Status UnpackedText::extend(std::size_t size) {
    while (!complete_ && text_.size() < size) {
        const Chunk chunk = ahead_.take();
        text_ = out_.bytes.text().substr(0, chunk.size);
        packed_done_ = chunk.packed;
        if (chunk.state == Unpacking::State::More) {
            startNext();
            continue;
        }
        complete_ = true;
        Status ended = chunk.state == Unpacking::State::Failed ? Status{unpacking_->failure(where_)}
                                                               : reportFault(out_, where_, log_);
        unpacking_.reset(); // waits for pieces that are no longer needed but still read the compressed bytes
        out_.bytes.giveBackReleased();
        owner_.reset();
        BUBBLESCOPE_TRY(std::move(ended));
    }
    return progress_.stopRequested() ? Status{cancelledError()} : Status{};
}

std::size_t UnpackedText::expectedSize() const {
    if (complete_ || packed_done_ == 0) return text_.size();
    const double share = static_cast<double>(packed_done_) / static_cast<double>(packed_.size());
    return static_cast<std::size_t>(static_cast<double>(text_.size()) / share);
}

void UnpackedText::release(std::size_t end) {
    out_.bytes.release(std::min(end, text_.size()));
}

Status reportFault(const Unpacked& unpacked, const std::string& where, DiagnosticLog& log) {
    if (unpacked.fault.empty()) return {};
    const Sentence place = say("{}, byte {}", where, unpacked.fault_at);
    if (unpacked.bytes.size() == 0)
        return inputError(place.text(), unpacked.fault,
                          "copy the file again, or copy it from where it was first written");
    log.add(unpacked.cut_off ? "truncated" : "corrupt", place,
            unpacked.cut_off ? say("the compressed data is truncated; everything up to that point was read")
                             : say("the compressed data is corrupt; everything before the corruption was read"));
    return {};
}

} // namespace bubblescope
