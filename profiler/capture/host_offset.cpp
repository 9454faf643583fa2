#include "profiler/capture/host_offset.h"

#include <unistd.h>

#include <fstream>
#include <optional>
#include <system_error>

namespace bubblescope::profiler {
namespace {

constexpr const char* kWords = "wall clock ahead by ns: ";

std::optional<TimeNs> readOffset(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string words(std::char_traits<char>::length(kWords), ' ');
    std::int64_t offset = 0;
    if (!file.read(words.data(), static_cast<std::streamsize>(words.size())) || words != kWords || !(file >> offset))
        return std::nullopt;
    return TimeNs{offset};
}

} // namespace

TimeNs agreedOffset(const std::filesystem::path& dir, const std::string& clock, TimeNs measured) {
    if (clock.empty()) return measured;
    const std::filesystem::path agreed = dir / (".clock-" + clock);
    if (const auto known = readOffset(agreed)) return *known;
    std::error_code ignored;
    std::filesystem::create_directories(dir, ignored);
    const std::filesystem::path own = dir / (".clock-" + clock + "." + std::to_string(::getpid()));
    {
        std::ofstream file(own);
        file << kWords << measured.count() << '\n';
    }
    // The first process to link decides; its file is complete by then.
    [[maybe_unused]] const int linked = ::link(own.c_str(), agreed.c_str());
    std::filesystem::remove(own, ignored);
    return readOffset(agreed).value_or(measured);
}

} // namespace bubblescope::profiler
