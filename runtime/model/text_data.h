#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::runtime {

/// Text as training data: every byte is a token, so there are 256 tokens.
class TextData {
public:
    static constexpr int kVocabulary = 256;

    /// A short built-in text, so that a run needs no file.
    [[nodiscard]] static std::shared_ptr<const TextData> demo();
    /// Error: Input, if the file cannot be read or is empty.
    [[nodiscard]] static Result<std::shared_ptr<const TextData>> read(const std::filesystem::path& file);
    explicit TextData(std::string text) : text_(std::move(text)) {}

    /// `count` sequences of `length` tokens, and for each token the token that follows it. The position of a sequence
    /// in the text depends only on the seed, the step, the micro-batch, and the sequence's number in the micro-batch. A
    /// text shorter than a sequence is repeated.
    struct Sequences {
        std::vector<int> tokens;  ///< count x length, sequence after sequence
        std::vector<int> targets; ///< in the same order as `tokens`
    };
    [[nodiscard]] Sequences sequences(std::uint64_t seed, std::int64_t step, int microbatch, int count,
                                      int length) const;

    /// The number of positions in the text at which a sequence may start.
    [[nodiscard]] std::int64_t places(int length) const;

    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string text_; ///< not empty
};

} // namespace bubblescope::runtime
