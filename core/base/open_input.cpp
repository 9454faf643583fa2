#include "core/base/open_input.h"

#include "core/base/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

namespace bubblescope {
namespace {

Error unreadable(const std::string& file, std::string_view as, std::string_view reason) {
    return inputError(file,
                      as.empty() ? fmt::format("cannot be read: {}", reason)
                                 : fmt::format("cannot be read as {}: {}", as, reason),
                      "check the name and the permissions");
}

} // namespace

Result<Descriptor> openInput(const std::string& file, std::chrono::milliseconds patience) {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!opened.isOpen() || ::fstat(opened.get(), &status) != 0) return unreadable(file, {}, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) return inputError(file, "is a folder, not a file");
    if (S_ISFIFO(status.st_mode)) {
        pollfd waited{opened.get(), POLLIN, 0};
        if (::poll(&waited, 1, static_cast<int>(patience.count())) == 0)
            return inputError(file, "is a pipe without a writer", "start its writer first");
    }
    const int flags = ::fcntl(opened.get(), F_GETFL);
    [[maybe_unused]] const int ignored = ::fcntl(opened.get(), F_SETFL, flags & ~O_NONBLOCK);
    return opened;
}

namespace {

Result<std::string> readAll(int input, const std::string& file, std::string_view as, std::size_t most) {
    constexpr std::size_t kPiece = std::size_t{64} << 10;
    std::string text;
    while (true) {
        const std::size_t before = text.size();
        text.resize(std::min(before + kPiece, most + 1));
        const ssize_t got = ::read(input, text.data() + before, text.size() - before);
        text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unreadable(file, as, std::strerror(errno));
        if (text.size() > most)
            return unreadable(file, as,
                              fmt::format("it is longer than {}", formatBytes(static_cast<std::int64_t>(most))));
        if (got == 0) return text;
    }
}

Result<std::string> standardInput(std::string_view as, std::size_t most) {
    static std::mutex reads;
    static std::optional<std::string> text;
    const std::lock_guard lock(reads);
    if (!text) {
        BUBBLESCOPE_ASSIGN(text, readAll(STDIN_FILENO, "standard input", as, most));
    }
    return *text;
}

} // namespace

Result<std::string> readInputText(const std::string& file, std::string_view as, std::size_t most) {
    std::string text;
    if (file == "-") {
        BUBBLESCOPE_ASSIGN(text, standardInput(as, most));
    } else {
        BUBBLESCOPE_ASSIGN(const Descriptor input, openInput(file));
        BUBBLESCOPE_ASSIGN(text, readAll(input.get(), file, as, most));
    }
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    if (text.empty()) return unreadable(file, as, "it is empty");
    return text;
}

} // namespace bubblescope
