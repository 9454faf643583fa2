#pragma once

#include "core/base/result.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// Secrets shared by two processes, and proofs of having a secret without sending it.
namespace bubblescope::net {

/// Environment variable that contains the token if no file is specified.
inline constexpr const char* kTokenVariable = "BUBBLESCOPE_TOKEN";

/// Reads the token shared by both ends of a stream: the first line of `file`, or the environment variable if `file` is
/// empty. Errors: Usage if neither is specified; Input if the file cannot be read, if other users can read it, or if
/// the token is empty or longer than 1024 bytes.
[[nodiscard]] Result<std::string> readToken(const std::string& file);

inline constexpr std::size_t kProofBytes = 32;
using Proof = std::array<char, kProofBytes>;
using Nonce = std::array<char, kProofBytes>;

/// Computes the HMAC-SHA256 of the message with the secret as the key.
[[nodiscard]] Proof proofOf(std::string_view secret, std::string_view message);

/// Unpredictable bytes that never repeat.
[[nodiscard]] Nonce makeNonce();

/// Compares two strings in constant time, which does not reveal the position of the first difference.
[[nodiscard]] bool equalSecrets(std::string_view a, std::string_view b);

[[nodiscard]] inline std::string_view bytesOf(const std::array<char, kProofBytes>& bytes) {
    return {bytes.data(), bytes.size()};
}

} // namespace bubblescope::net
