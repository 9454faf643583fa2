#include "core/net/secret.h"

#include "core/base/field.h"
#include "core/base/open_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

namespace bubblescope::net {
namespace {

/// Does not check pipes, such as a shell's <(…).
bool othersRead(const std::string& file) {
    std::error_code failed;
    const auto status = std::filesystem::status(file, failed);
    using std::filesystem::perms;
    constexpr perms kOthers = perms::group_all | perms::others_all;
    return !failed && std::filesystem::is_regular_file(status) && (status.permissions() & kOthers) != perms::none;
}

/// SHA-256 as defined in FIPS 180-4. Used only for short texts; implemented here because builds may lack
/// OpenSSL.
class Sha256 {
public:
    void add(std::string_view text) {
        length_ += text.size();
        rest_ += text;
        std::size_t at = 0;
        for (; rest_.size() - at >= kBlock; at += kBlock)
            takeBlock(rest_.data() + at);
        rest_.erase(0, at);
    }
    [[nodiscard]] Proof finish() {
        const std::uint64_t bits = 8 * length_;
        std::string padding(1, '\x80');
        while ((rest_.size() + padding.size() + sizeof bits) % kBlock != 0)
            padding.push_back('\0');
        for (int shift = 56; shift >= 0; shift -= 8)
            padding.push_back(static_cast<char>((bits >> shift) & 0xff));
        add(padding);
        Proof out{};
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<char>((state_[i / 4] >> (24 - 8 * (i % 4))) & 0xff);
        return out;
    }

    static constexpr std::size_t kBlock = 64;

private:
    void takeBlock(const char* bytes) {
        std::array<std::uint32_t, 64> words{};
        for (std::size_t i = 0; i < kBlock; ++i)
            words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(bytes[i]);
        for (std::size_t i = 16; i < words.size(); ++i) {
            const std::uint32_t a = words[i - 15];
            const std::uint32_t b = words[i - 2];
            words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + words[i - 7] +
                       (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
        }
        auto [a, b, c, d, e, f, g, h] = state_;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::uint32_t choice = (e & f) ^ (~e & g);
            const std::uint32_t first =
                h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kRounds[i] + words[i];
            const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
            const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
            h = g;
            g = f;
            f = e;
            e = d + first;
            d = c;
            c = b;
            b = a;
            a = first + second;
        }
        const std::array<std::uint32_t, 8> more{a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < more.size(); ++i)
            state_[i] += more[i];
    }

    static constexpr std::array<std::uint32_t, 64> kRounds{
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::uint64_t length_ = 0;
    std::string rest_; ///< less than a block
};

} // namespace

Proof proofOf(std::string_view secret, std::string_view message) {
    std::string key(secret);
    if (key.size() > Sha256::kBlock) {
        Sha256 hash;
        hash.add(key);
        key = bytesOf(hash.finish());
    }
    key.resize(Sha256::kBlock, '\0');
    const auto hashed = [&key](char pad, std::string_view text) {
        std::string block = key;
        for (char& byte : block)
            byte = static_cast<char>(byte ^ pad);
        Sha256 hash;
        hash.add(block);
        hash.add(text);
        return hash.finish();
    };
    const Proof inner = hashed('\x36', message);
    return hashed('\x5c', bytesOf(inner));
}

Nonce makeNonce() {
    Nonce nonce{};
    ::arc4random_buf(nonce.data(), nonce.size());
    return nonce;
}

bool equalSecrets(std::string_view a, std::string_view b) {
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
    return difference == 0;
}

Result<std::string> readToken(const std::string& file) {
    std::string token;
    if (file.empty()) {
        const char* const given = std::getenv(kTokenVariable);
        token = given != nullptr ? given : "";
        if (token.empty()) {
            return usageError("streams over the network need a token",
                              fmt::format("use {}, or set {}", Field("token_file").is("FILE"), kTokenVariable));
        }
    } else {
        if (othersRead(file))
            return inputError(file, "other users can read the token", fmt::format("run chmod 600 {}", file));
        constexpr std::size_t kLongestFile = 1 << 16;
        BUBBLESCOPE_ASSIGN(token, readInputText(file, "a token", kLongestFile));
        token.resize(std::min(token.find('\n'), token.size()));
        if (token.empty()) return inputError(file, "cannot read a token", "write the token on its first line");
    }
    constexpr std::size_t kLongest = 1024;
    if (token.size() > kLongest || token.find('\n') != std::string::npos)
        return inputError(file.empty() ? kTokenVariable : file,
                          "the token must be a single line of at most 1024 characters");
    return token;
}

} // namespace bubblescope::net
