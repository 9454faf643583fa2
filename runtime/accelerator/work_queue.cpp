#include "runtime/accelerator/work_queue.h"

namespace bubblescope::runtime {

void queueDigest(WorkQueue& on, std::uint64_t* to, const void* data, std::int64_t bytes) {
    if (bytes == 0) return;
    on.launch(DigestKernel{to, static_cast<const unsigned char*>(data), bytes});
}

DigestPage::DigestPage(WorkQueue& home, WorkQueue& first) : home_(home), buffer_(home.pool().take(kBytes)) {
    first.device().zero(buffer_.as<void>(), buffer_.bytes(), first.stream());
}

std::uint64_t DigestPage::sum(std::size_t index) {
    if (index >= fetched_.size()) {
        // Fetches all digests handed out so far: their kernels are queued, and a caller that needs one will soon need
        // others.
        const std::size_t known = fetched_.size();
        fetched_.resize(used_);
        home_.device().copyOut(fetched_.data() + known, at(known),
                               static_cast<std::int64_t>((used_ - known) * sizeof(std::uint64_t)), home_.stream());
    }
    return fetched_[index];
}

std::uint64_t DeviceDigest::value() const {
    return DigestKernel::digestOf(page_->sum(index_), bytes_);
}

DeviceDigest DigestPages::next(std::int64_t bytes, WorkQueue& user) {
    if (!page_ || page_->full()) page_ = std::make_shared<DigestPage>(home_, user);
    return {page_, page_->take(), bytes};
}

} // namespace bubblescope::runtime
