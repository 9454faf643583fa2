#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The calls of a batch and their arguments, kept until the batch is complete and can be compared with earlier batches.
class BatchCalls {
public:
    /// `arguments` are compared byte by byte; `call` is run later.
    template <class Arguments>
    void add(const Arguments& arguments, std::function<void()> call) {
        static_assert(std::is_trivially_copyable_v<Arguments>);
        static constexpr char kKind = 0; // its address identifies the type
        append(&kKind);
        append(arguments);
        calls_.push_back(std::move(call));
    }
    [[nodiscard]] bool empty() const { return calls_.empty(); }
    [[nodiscard]] const std::vector<std::function<void()>>& calls() const { return calls_; }
    [[nodiscard]] const std::string& arguments() const { return arguments_; }
    void clear() {
        calls_.clear();
        arguments_.clear();
    }

private:
    template <class Value>
    void append(Value value) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
        __builtin_clear_padding(&value); // without this, equal arguments might look different, which only costs time
#endif
#endif
        arguments_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    std::string arguments_;
    std::vector<std::function<void()>> calls_;
};

/// Objects made from batches, by key and arguments. Keeps the `kept` most recently used objects per key.
template <class Made>
class RecurringBatches {
public:
    explicit RecurringBatches(std::size_t kept) : kept_(kept) {}

    /// The object made for these arguments; null if there is no such object.
    [[nodiscard]] Made* find(std::uint64_t key, const std::string& arguments) {
        std::list<Entry>& entries = by_key_[key];
        for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
            if (entry->arguments != arguments) continue;
            entries.splice(entries.begin(), entries, entry);
            return &entry->made;
        }
        return nullptr;
    }
    /// Returns the slot for a new object: an empty object, or the oldest object of its key, which the caller changes or
    /// replaces. Fill it immediately.
    [[nodiscard]] Made& add(std::uint64_t key, const std::string& arguments) {
        std::list<Entry>& entries = by_key_[key];
        if (entries.size() < kept_) {
            entries.emplace_front();
        } else {
            entries.splice(entries.begin(), entries, std::prev(entries.end()));
        }
        entries.front().arguments = arguments;
        return entries.front().made;
    }
    template <class Visit>
    void forEach(const Visit& visit) {
        for (auto& [key, entries] : by_key_) {
            for (Entry& entry : entries)
                visit(entry.made);
        }
    }

private:
    struct Entry {
        std::string arguments;
        Made made{};
    };
    std::size_t kept_;
    std::map<std::uint64_t, std::list<Entry>> by_key_; ///< most recently used first
};

} // namespace bubblescope::runtime
