#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::runtime {

/// A text as training data: every byte is a token, so there are 256 of them.
class TextData {
public:
    static constexpr int kVocabulary = 256;

    /// A short text of our own, so that a run needs no file.
    [[nodiscard]] static std::shared_ptr<const TextData> demo();
    /// Errors: Input, when the file cannot be read or is empty.
    [[nodiscard]] static Result<std::shared_ptr<const TextData>> read(const std::filesystem::path& file);
    explicit TextData(std::string text) : text_(std::move(text)) {}

    /// `count` sequences of `length` tokens, and for each token the one that follows it. Which part of the text a
    /// sequence is follows from (seed, step, micro-batch, its number in the micro-batch) alone; a text shorter than
    /// a sequence is repeated.
    struct Sequences {
        std::vector<int> tokens;  ///< count x length, sequence after sequence
        std::vector<int> targets; ///< likewise
    };
    [[nodiscard]] Sequences sequences(std::uint64_t seed, std::int64_t step, int microbatch, int count,
                                      int length) const;

    /// In how many places of the text a sequence may begin.
    [[nodiscard]] std::int64_t places(int length) const;

    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string text_; ///< not empty
};

} // namespace bubblescope::runtime
