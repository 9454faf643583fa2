#include "runtime/accelerator/work_queue.h"

namespace bubblescope::runtime {

void queueDigest(WorkQueue& on, std::uint64_t* to, const void* data, std::int64_t bytes) {
    DigestKernel kernel{to, static_cast<const unsigned char*>(data), bytes};
    if (kernel.rows() == 1) return on.launch(kernel);
    const Buffer sums = on.pool().take(kernel.rows() * static_cast<std::int64_t>(sizeof(std::uint64_t)));
    kernel.to = sums.as<std::uint64_t>();
    on.launch(kernel);
    on.launch(DigestTotalKernel{to, sums.as<std::uint64_t>(), kernel.rows(), bytes});
}

std::uint64_t DigestPage::value(std::size_t index) {
    if (index >= fetched_.size()) {
        // Fetches all digests handed out so far: their kernels are queued, and a caller that needs one needs others
        // soon.
        const std::size_t known = fetched_.size();
        fetched_.resize(used_);
        home_.device().copyOut(fetched_.data() + known, at(known),
                               static_cast<std::int64_t>((used_ - known) * sizeof(std::uint64_t)), home_.stream());
    }
    return fetched_[index];
}

DeviceDigest DigestPages::next() {
    if (!page_ || page_->full()) page_ = std::make_shared<DigestPage>(home_);
    return {page_, page_->take()};
}

} // namespace bubblescope::runtime
