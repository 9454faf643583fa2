#include "runtime/accelerator/work_queue.h"

#include <algorithm>

namespace bubblescope::runtime {

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

std::size_t DigestPages::take(std::size_t count, WorkQueue& user) {
    if (!page_ || page_->room() < count) page_ = std::make_shared<DigestPage>(home_, user);
    return page_->take(count);
}

std::vector<DeviceDigest> DigestPages::queue(std::span<const DigestedArray> arrays, WorkQueue& user) {
    std::vector<DeviceDigest> digests;
    digests.reserve(arrays.size());
    while (!arrays.empty()) {
        const std::size_t count = std::min<std::size_t>(arrays.size(), DigestKernel::kArrays);
        const std::size_t first = take(count, user);
        DigestKernel kernel(page_->at(first));
        for (const DigestedArray& array : arrays.first(count)) {
            kernel.add(array.data, array.bytes);
            digests.emplace_back(page_, first + digests.size() % DigestKernel::kArrays, array.bytes);
        }
        if (kernel.rows() > 0) user.launch(kernel);
        arrays = arrays.subspan(count);
    }
    return digests;
}

DeviceDigest DigestPages::next(std::int64_t bytes, WorkQueue& user) {
    const std::size_t at = take(1, user);
    return {page_, at, bytes};
}

} // namespace bubblescope::runtime
