#include "core/formats/source/replacing_file.h"

#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

namespace bubblescope {
namespace {

using testing::HasSubstr;

Status writeTo(const std::filesystem::path& target, std::string_view text) {
    ReplacingFile file(target);
    file.write(text);
    return file.commit();
}

std::size_t filesIn(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(ReplacingFile, ReplacesTheFileAtTheEnd) {
    const test::ScratchFolder folder;
    const auto target = folder.write("out", "before");
    {
        ReplacingFile file(target);
        file.write("half");
    }
    EXPECT_EQ(test::readAll(target), "before") << "it was not committed";
    EXPECT_EQ(filesIn(folder.path()), 1U);
    ASSERT_TRUE(writeTo(target, "after").ok());
    EXPECT_EQ(test::readAll(target), "after");
    EXPECT_EQ(filesIn(folder.path()), 1U);
}

TEST(ReplacingFile, ALinkStaysAndItsFileIsReplaced) {
    const test::ScratchFolder folder;
    const auto behind = folder.write("behind", "before");
    std::filesystem::create_symlink("behind", folder.path() / "link");
    ASSERT_TRUE(writeTo(folder.path() / "link", "after").ok());
    EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
    EXPECT_EQ(test::readAll(behind), "after");

    std::filesystem::create_symlink("nowhere", folder.path() / "dangling");
    const Status refused = writeTo(folder.path() / "dangling", "text");
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), HasSubstr("leads nowhere"));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
}

TEST(ReplacingFile, ALinkInTheWayOfTheTemporaryFileIsNotFollowed) {
    const test::ScratchFolder folder;
    const auto victim = folder.write("victim", "precious");
    std::filesystem::create_symlink("victim", folder.path() / "out.part");
    ASSERT_TRUE(writeTo(folder.path() / "out", "text").ok());
    EXPECT_EQ(test::readAll(victim), "precious");
    EXPECT_EQ(test::readAll(folder.path() / "out"), "text");
}

TEST(ReplacingFile, ALinkToAFileOfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    const test::ScratchFolder folder;
    const auto foreign = folder.write("foreign", "before");
    ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
    std::filesystem::create_symlink("foreign", folder.path() / "link");
    const Status refused = writeTo(folder.path() / "link", "text");
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), HasSubstr("another user"));
    EXPECT_EQ(test::readAll(foreign), "before");
}

TEST(ReplacingFile, PipesAndDevicesAreWrittenAsTheyAre) {
    const test::ScratchFolder folder;
    const auto pipe = folder.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_TRUE(writeTo(pipe, "text").ok());
    std::array<char, 16> got{};
    EXPECT_EQ(::read(reader, got.data(), got.size()), 4);
    ::close(reader);
    ASSERT_TRUE(writeTo("/dev/null", "text").ok());
    const Status full = writeTo("/dev/full", "text");
    ASSERT_FALSE(full.ok());
    EXPECT_THAT(full.error().text(), HasSubstr("/dev/full"));
    EXPECT_THAT(full.error().text(), HasSubstr("No space left"));
}

} // namespace
} // namespace bubblescope
