#include "core/net/token.h"

#include "core/base/open_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace bubblescope::net {
namespace {

/// Pipes, such as a shell's <(…), are not checked.
bool othersRead(const std::string& file) {
    std::error_code failed;
    const auto status = std::filesystem::status(file, failed);
    using std::filesystem::perms;
    constexpr perms kOthers = perms::group_all | perms::others_all;
    return !failed && std::filesystem::is_regular_file(status) && (status.permissions() & kOthers) != perms::none;
}

} // namespace

Result<std::string> readToken(const std::string& file) {
    std::string token;
    if (file.empty()) {
        const char* const given = std::getenv(kTokenVariable);
        token = given != nullptr ? given : "";
        if (token.empty()) {
            return usageError("streams over the network need a token",
                              fmt::format("give --token-file FILE, or set {}", kTokenVariable));
        }
    } else {
        if (othersRead(file))
            return inputError(file, "other users can read the token", fmt::format("run chmod 600 {}", file));
        constexpr std::size_t kLongestFile = 1 << 16;
        BUBBLESCOPE_ASSIGN(token, readInputText(file, "a token", kLongestFile));
        token.resize(std::min(token.find('\n'), token.size()));
        if (token.empty()) return inputError(file, "no token can be read", "its first line is the token");
    }
    constexpr std::size_t kLongest = 1024;
    if (token.size() > kLongest || token.find('\n') != std::string::npos)
        return inputError(file.empty() ? kTokenVariable : file, "the token is no line of at most 1024 characters");
    return token;
}

} // namespace bubblescope::net
