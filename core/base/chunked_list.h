#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace bubblescope {

/// A list that grows without moving what it holds: of lists of many millions, copies would be half the cost.
template <class T>
class ChunkedList {
public:
    void push_back(const T& item) {
        if (chunks_.empty() || chunks_.back().size() == chunks_.back().capacity()) {
            const std::size_t last = chunks_.empty() ? kSmallest / 2 : chunks_.back().size();
            chunks_.emplace_back().reserve(std::min(2 * last, kLargest));
        }
        chunks_.back().push_back(item);
    }

    /// Gives all items to `out`, in place of what it held, whose room is used again.
    void moveTo(std::vector<T>& out) {
        std::size_t size = 0;
        for (const std::vector<T>& chunk : chunks_)
            size += chunk.size();
        out.clear();
        out.reserve(size);
        for (std::vector<T>& chunk : chunks_) {
            out.insert(out.end(), std::make_move_iterator(chunk.begin()), std::make_move_iterator(chunk.end()));
            std::vector<T>().swap(chunk);
        }
        chunks_.clear();
    }

private:
    static constexpr std::size_t kSmallest = 2; // there may be as many lists as items
    static constexpr std::size_t kLargest = std::size_t{1} << 16;

    std::vector<std::vector<T>> chunks_;
};

} // namespace bubblescope
