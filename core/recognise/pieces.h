#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {

/// A list of pieces, each in separate memory. Lists are joined without copying, and used pieces are freed individually.
/// A piece is a List with contiguous elements of type T.
template <class T, class List = std::vector<T>>
class Pieces {
    template <bool kConst>
    class Iterator {
        using Lists = std::conditional_t<kConst, const std::vector<List>, std::vector<List>>;
        using Item = std::conditional_t<kConst, const T, T>;

    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = Item*;
        using reference = Item&;

        Iterator() = default;
        Iterator(Lists& lists, std::size_t piece) : lists_(&lists), piece_(piece) { enter(); }
        reference operator*() const { return *at_; }
        pointer operator->() const { return at_; }
        Iterator& operator++() {
            if (++at_ == end_) {
                ++piece_;
                enter();
            }
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

    private:
        /// Moves to the start of this piece or, if it is empty, of the next non-empty one; null after the last.
        void enter() {
            while (piece_ < lists_->size() && (*lists_)[piece_].empty())
                ++piece_;
            const bool is_end = piece_ >= lists_->size();
            at_ = is_end ? nullptr : (*lists_)[piece_].data();
            end_ = is_end ? nullptr : at_ + (*lists_)[piece_].size();
        }

        Lists* lists_ = nullptr;
        std::size_t piece_ = 0;
        Item* at_ = nullptr;
        Item* end_ = nullptr;
    };

public:
    using value_type = T;
    using iterator = Iterator<false>;
    using const_iterator = Iterator<true>;

    [[nodiscard]] iterator begin() { return {lists_, 0}; }
    [[nodiscard]] iterator end() { return {lists_, lists_.size()}; }
    [[nodiscard]] const_iterator begin() const { return {lists_, 0}; }
    [[nodiscard]] const_iterator end() const { return {lists_, lists_.size()}; }

    [[nodiscard]] std::size_t size() const {
        std::size_t all = 0;
        for (const List& list : lists_)
            all += list.size();
        return all;
    }
    [[nodiscard]] bool empty() const { return size() == 0; }

    template <class Item = T>
    void push_back(Item&& item) {
        last().push_back(std::forward<Item>(item));
    }
    /// The last list, to which elements can be appended.
    [[nodiscard]] List& last() { return lists_.empty() ? lists_.emplace_back() : lists_.back(); }
    void append(List list) {
        if (!list.empty()) lists_.push_back(std::move(list));
    }
    void append(Pieces more) {
        for (List& list : more.lists_)
            append(std::move(list));
    }
    [[nodiscard]] std::span<const List> lists() const { return lists_; }
    void clear() { lists_.clear(); }
    template <class Predicate>
    void eraseIf(const Predicate& predicate) {
        using std::erase_if;
        for (List& list : lists_)
            erase_if(list, predicate);
    }
    /// Calls `use(list)` for all pieces in order, and frees each piece after the call.
    template <class Use>
    void consume(const Use& use) {
        for (List& list : lists_) {
            const List used = std::move(list);
            use(used);
        }
        lists_.clear();
    }

private:
    std::vector<List> lists_;
};

} // namespace bubblescope
