#pragma once

#include "core/aadiff/digest.h"
#include "runtime/accelerator/kernels/forms.h"

namespace bubblescope::runtime {

/// Adds the terms of each of several arrays, of any size and alignment, to a sum of its own; digestOf() turns a sum
/// into the digest of core/aadiff/digest.h. A row belongs to one array; each array has as many rows as its size needs.
/// The list is part of the kernel's arguments, which may have at most 4 KB.
struct DigestKernel {
    using Form = RowForm;
    using Varies = void;                ///< each digest has a place of its own
    static constexpr int kArrays = 128; ///< a power of two
    static constexpr std::int64_t kWord = 8;
    static constexpr std::int64_t kAligned = 16; ///< bytes that a GPU moves with one instruction
    static constexpr std::int64_t kRun = 4;      ///< words per term of the sum; they are loaded concurrently
    /// Runs per row; a small number, so that even a tensor of a few MiB has thread blocks for all processors.
    static constexpr std::int64_t kBlock = 1 << 9;

    struct Array {
        const unsigned char* data;
        std::int64_t bytes;

        BUBBLESCOPE_PORTABLE std::int64_t words() const { return (bytes + kWord - 1) / kWord; }
        BUBBLESCOPE_PORTABLE std::int64_t runs() const { return (words() + kRun - 1) / kRun; }
        BUBBLESCOPE_PORTABLE std::int64_t rows() const { return (runs() + kBlock - 1) / kBlock; }
        /// The terms of the run of words that starts with word `first`.
        BUBBLESCOPE_PORTABLE std::uint64_t sumOfRun(std::int64_t first) const {
            std::uint64_t run[kRun];
            fetch(run, first);
            std::uint64_t sum = 0;
            for (std::int64_t word = 0; word < kRun; ++word) {
                if (first + word < words()) sum += digest::term(static_cast<std::uint64_t>(first + word), run[word]);
            }
            return sum;
        }

    private:
        /// True if the run is complete and can be moved kAligned bytes at a time.
        BUBBLESCOPE_PORTABLE bool whole(std::int64_t first) const {
            return (first + kRun) * kWord <= bytes && reinterpret_cast<std::uintptr_t>(data) % kAligned == 0;
        }
        BUBBLESCOPE_PORTABLE void fetch(std::uint64_t (&run)[kRun], std::int64_t first) const {
            if (whole(first)) {
                memcpy(run, __builtin_assume_aligned(data + first * kWord, kAligned), sizeof run);
                return;
            }
            for (std::int64_t word = 0; word < kRun; ++word)
                run[word] = wordAt(first + word);
        }
        /// Number of the array's bytes in word `i`, which may be the last word or beyond the end.
        BUBBLESCOPE_PORTABLE std::int64_t bytesOf(std::int64_t i) const {
            const std::int64_t there = bytes - i * kWord;
            return there < kWord ? there : kWord;
        }
        BUBBLESCOPE_PORTABLE std::uint64_t wordAt(std::int64_t i) const {
            std::uint64_t word = 0;
            for (std::int64_t byte = 0, there = bytesOf(i); byte < there; ++byte)
                word |= static_cast<std::uint64_t>(data[i * kWord + byte]) << static_cast<unsigned>(8 * byte);
            return word;
        }
    };

    /// `sums` has a place for each array, in the order of add().
    explicit DigestKernel(std::uint64_t* sums) : to(sums) {
        for (std::int32_t& row : first_rows)
            row = INT32_MAX; // after every row, so that a search ends before the places that are not used
    }
    /// At most kArrays times.
    void add(const void* data, std::int64_t bytes) {
        const Array array{static_cast<const unsigned char*>(data), bytes};
        arrays[count] = array;
        first_rows[count++] = all_rows;
        all_rows += static_cast<std::int32_t>(array.rows());
    }
    /// Computes the digest from a sum, on the host.
    static std::uint64_t digestOf(std::uint64_t sum, std::int64_t bytes) {
        return digest::finish(sum, static_cast<std::uint64_t>(bytes));
    }

    struct State {
        std::uint64_t sum;
    };
    using Part = std::uint64_t;
    static constexpr int kPasses = 1;

    BUBBLESCOPE_PORTABLE std::int64_t rows() const { return all_rows; }
    BUBBLESCOPE_PORTABLE static std::int64_t columns() { return 0; }
    BUBBLESCOPE_PORTABLE std::int64_t terms(std::int64_t row) const {
        const int array = arrayOf(row);
        const std::int64_t left = arrays[array].runs() - (row - first_rows[array]) * kBlock;
        return left < kBlock ? left : kBlock;
    }
    BUBBLESCOPE_PORTABLE static Part zero(int /*pass*/) { return 0; }
    BUBBLESCOPE_PORTABLE Part term(int /*pass*/, std::int64_t row, std::int64_t i, const State& /*state*/) const {
        const int array = arrayOf(row);
        return arrays[array].sumOfRun(((row - first_rows[array]) * kBlock + i) * kRun);
    }
    BUBBLESCOPE_PORTABLE static Part combine(int /*pass*/, Part a, Part b) { return a + b; }
    BUBBLESCOPE_PORTABLE void total(int /*pass*/, Part sum, State& state) const { state.sum = sum; }
    BUBBLESCOPE_PORTABLE void write(std::int64_t /*row*/, std::int64_t /*i*/, const State& /*state*/) const {}
    BUBBLESCOPE_PORTABLE void finish(std::int64_t row, const State& state) const {
        addAtomically(to + arrayOf(row), state.sum);
    }

    std::uint64_t* to;
    std::int32_t count = 0;
    std::int32_t all_rows = 0;
    std::int32_t first_rows[kArrays]; ///< by array
    Array arrays[kArrays] = {};

private:
    /// The last array that starts at or before the row: arrays without rows come before the one that has the row. A
    /// fixed number of steps without branches, which a compiler can move out of the loop over a row's terms.
    BUBBLESCOPE_PORTABLE int arrayOf(std::int64_t row) const {
        int at = 0;
        for (int step = kArrays / 2; step > 0; step /= 2)
            at += first_rows[at + step] <= row ? step : 0;
        return at;
    }
};
static_assert(sizeof(DigestKernel) <= 4096, "kernels have at most 4 KB of arguments");

} // namespace bubblescope::runtime
