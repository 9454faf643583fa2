#include "core/formats/source/replacing_file.h"

#include "core/formats/source/existing_results.h"

#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>

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
    EXPECT_THAT(refused.error().text(), HasSubstr("broken symbolic link"));
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

/// A disk that is full, as a limit on the size of files.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

TEST(ReplacingFile, AFullDiskLeavesWhatWasThere) {
    const test::ScratchFolder folder;
    const auto old = folder.write("old", "before");
    constexpr rlim_t kRoom = 64 << 10;
    const FullDisk full(kRoom);
    for (const std::filesystem::path& target : {old, folder.path() / "new"}) {
        const Status written = writeTo(target, std::string(3 * kRoom, 'x'));
        ASSERT_FALSE(written.ok());
        EXPECT_THAT(written.error().text(), HasSubstr(target.string()));
        EXPECT_THAT(written.error().text(), HasSubstr("nothing was written under that name"));
    }
    EXPECT_EQ(test::readAll(old), "before");
    EXPECT_EQ(filesIn(folder.path()), 1U) << "of the halves nothing stays";
}

TEST(ReplacingFile, OfSeveralFilesAllAppearOrNone) {
    const test::ScratchFolder folder;
    const auto write = [&](std::size_t second) -> Status {
        BUBBLESCOPE_ASSIGN(ReplacingFiles files, ReplacingFiles::in(folder.path() / "result"));
        int number = 0;
        for (const std::size_t bytes : {std::size_t{100}, second, std::size_t{100}}) {
            BUBBLESCOPE_ASSIGN(ReplacingFile* const file, files.begin(std::to_string(number++)));
            file->write(std::string(bytes, 'x'));
        }
        return files.commit();
    };
    constexpr std::size_t kRoom = 64 << 10;
    {
        const FullDisk full(kRoom);
        EXPECT_FALSE(write(kRoom + 1).ok());
        EXPECT_EQ(filesIn(folder.path() / "result"), 0U);
    }
    ASSERT_TRUE(write(kRoom + 1).ok());
    EXPECT_EQ(filesIn(folder.path() / "result"), 3U);
}

TEST(ReplacingFile, WhatAnotherProgramWroteInTheMeantimeStays) {
    const test::ScratchFolder folder;
    ReplacingFile file(folder.path() / "out");
    file.write("ours");
    const auto theirs = folder.write("out", "theirs");
    const Status refused = file.commit();
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), HasSubstr("another program"));
    EXPECT_EQ(test::readAll(theirs), "theirs");
}

TEST(ReplacingFile, PermissionsOfAReplacedFileStay) {
    const test::ScratchFolder folder;
    const auto secret = folder.write("secret", "before");
    std::filesystem::permissions(secret, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    ASSERT_TRUE(writeTo(secret, "after").ok());
    struct stat status {};
    ASSERT_EQ(::stat(secret.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(ExistingResults, AreNotReplacedUnlessAsked) {
    const test::ScratchFolder folder;
    const auto file = folder.write("result.json", "{}");
    const auto empty = folder.write("empty", "");
    const Status refused = mustBeNew(file);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
    EXPECT_THAT(refused.error().text(), HasSubstr("use force"));
    for (const std::filesystem::path& fine :
         {empty, folder.path() / "new", std::filesystem::path("/dev/null"), std::filesystem::path("-"), folder.path()})
        EXPECT_TRUE(mustBeNew(fine).ok()) << fine;

    EXPECT_TRUE(mustHoldNone(folder.path(), ".pftrace").ok()) << "other files are no traces";
    EXPECT_TRUE(mustHoldNone(folder.path() / "new", ".pftrace").ok());
    folder.write("rank0.pftrace", "x");
    folder.write("rank1.pftrace", "x");
    const Status held = mustHoldNone(folder.path(), ".pftrace");
    ASSERT_FALSE(held.ok());
    EXPECT_THAT(held.error().text(), HasSubstr("and 1 more"));
    ASSERT_TRUE(removeAll(folder.path(), ".pftrace").ok());
    EXPECT_EQ(filesIn(folder.path()), 2U);
}

} // namespace
} // namespace bubblescope
