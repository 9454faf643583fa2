#pragma once

#include "core/base/result.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// Secrets that two processes share, and proofs of having one without sending it.
namespace bubblescope::net {

/// The environment variable for a token if no file is given.
inline constexpr const char* kTokenVariable = "BUBBLESCOPE_TOKEN";

/// The token shared by both sides of a stream: the first line of `file`, or the environment variable if `file` is
/// empty. Errors: Usage if there is neither; Input if the file cannot be read, if other users can read it, or if the
/// token is empty or longer than 1024 bytes.
[[nodiscard]] Result<std::string> readToken(const std::string& file);

inline constexpr std::size_t kProofBytes = 32;
using Proof = std::array<char, kProofBytes>;
using Nonce = std::array<char, kProofBytes>;

/// HMAC-SHA256 of the message with the secret as its key.
[[nodiscard]] Proof proofOf(std::string_view secret, std::string_view message);

/// Unpredictable bytes that never repeat.
[[nodiscard]] Nonce makeNonce();

/// Compares two texts in constant time, so that the time does not reveal where they differ.
[[nodiscard]] bool equalSecrets(std::string_view a, std::string_view b);

[[nodiscard]] inline std::string_view bytesOf(const std::array<char, kProofBytes>& bytes) {
    return {bytes.data(), bytes.size()};
}

} // namespace bubblescope::net
