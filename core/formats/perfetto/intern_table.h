#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::perfetto {

/// Gives texts numbers from 1 on, in the order in which they come. Every recorded slice asks for half a dozen of them,
/// so a text that is known is found without a walk through memory: in a table that is at most half full.
class InternTable {
public:
    struct Number {
        std::uint64_t number = 0;
        bool is_new = false;
    };

    [[nodiscard]] Number numberOf(std::string_view text) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        const std::uint64_t hash = hashOf(text);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.number == 0) {
                slot = {hash, letters_.size(), text.size(), ++count_};
                letters_ += text;
                return {slot.number, true};
            }
            if (slot.hash == hash && std::string_view(letters_).substr(slot.begin, slot.size) == text)
                return {slot.number, false};
        }
    }

private:
    struct Slot {
        std::uint64_t hash = 0;
        std::size_t begin = 0; ///< in letters_
        std::size_t size = 0;
        std::uint64_t number = 0; ///< 0: free
    };

    static std::uint64_t hashOf(std::string_view text);
    void grow();

    std::vector<Slot> slots_; ///< a power of two of them
    std::string letters_;
    std::uint64_t count_ = 0;
};

} // namespace bubblescope::perfetto
