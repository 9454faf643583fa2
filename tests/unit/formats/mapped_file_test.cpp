#include "core/formats/source/mapped_file.h"

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>

namespace bubblescope {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20;

/// Pages of mapped files in this process's memory, in kB; 0 if the system does not state it.
long residentFiles() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
    }
    return 0;
}

std::shared_ptr<const MappedFile> mapped(const std::filesystem::path& path) {
    std::ofstream(path, std::ios::binary) << std::string(kBytes, 'x');
    const int descriptor = open(path.c_str(), O_RDONLY);
    auto file = MappedFile::map(descriptor);
    close(descriptor);
    return file;
}

std::size_t countOf(const MappedFile& file) {
    return static_cast<std::size_t>(std::count(file.text().begin(), file.text().end(), 'x'));
}

TEST(MappedFile, GivesItsPagesBackAndReadsThemAgain) {
    const test::ScratchFolder folder;
    const auto first = mapped(folder.path() / "first");
    const auto second = mapped(folder.path() / "second");
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    ASSERT_EQ(countOf(*first) + countOf(*second), 2 * kBytes);
    const long before = residentFiles();
    if (before == 0) GTEST_SKIP() << "the system does not say what is in memory";
    MappedFile::releaseAll();
    const long freed = before - residentFiles();
    EXPECT_GE(freed, static_cast<long>(kBytes / 1024)); // of 32 MiB; others may map files meanwhile
    EXPECT_EQ(countOf(*first) + countOf(*second), 2 * kBytes);
    EXPECT_FALSE(first->lost());
}

TEST(MappedFile, ReleasesOnlyWhatIsStillMapped) {
    const test::ScratchFolder folder;
    { const auto gone = mapped(folder.path() / "gone"); }
    std::string other(kBytes, 'y'); // may have its addresses
    MappedFile::releaseAll();
    EXPECT_EQ(other, std::string(kBytes, 'y'));
}

} // namespace
} // namespace bubblescope
