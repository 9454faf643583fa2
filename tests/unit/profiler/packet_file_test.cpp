#include "core/formats/perfetto/packet_file.h"

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>

namespace bubblescope::perfetto {
namespace {

/// Lets this process write files up to a size only, as a full disk would.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) {
        old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &old_limit_);
        rlimit limit = old_limit_;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_limit_);
        std::signal(SIGXFSZ, old_handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit old_limit_{};
    void (*old_handler_)(int) = nullptr;
};

TEST(PacketFile, HoldsEveryBatchAsSoonAsItIsAppended) {
    const test::ScratchFolder dir;
    Result<PacketFile> file = PacketFile::create(dir.path() / "a");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(test::readAll(dir.path() / "a"), "");
    ASSERT_TRUE(file.value().append("one").ok());
    EXPECT_EQ(test::readAll(dir.path() / "a"), "one");
    ASSERT_TRUE(file.value().append("two").ok());
    EXPECT_EQ(test::readAll(dir.path() / "a"), "onetwo");
}

TEST(PacketFile, ReplacesAnOlderFile) {
    const test::ScratchFolder dir;
    std::ofstream(dir.path() / "a") << "of an earlier run";
    ASSERT_TRUE(PacketFile::create(dir.path() / "a").ok());
    EXPECT_EQ(test::readAll(dir.path() / "a"), "");
}

TEST(PacketFile, NamesTheFileThatCannotBeCreated) {
    const test::ScratchFolder dir;
    const Result<PacketFile> file = PacketFile::create(dir.path() / "missing" / "a");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().kind, ErrorKind::Run);
    EXPECT_EQ(file.error().where, (dir.path() / "missing" / "a").string());
}

TEST(PacketFile, TakesBackABatchThatDoesNotFit) {
    const test::ScratchFolder dir;
    const std::filesystem::path path = dir.path() / "a";
    Result<PacketFile> file = PacketFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value().append("whole").ok());
    {
        const FileSizeLimit limit(8);
        const Status failed = file.value().append("too long");
        ASSERT_FALSE(failed.ok());
        EXPECT_EQ(failed.error().kind, ErrorKind::Run);
        EXPECT_EQ(failed.error().where, path.string());
        EXPECT_NE(failed.error().hint.find("its first 5 bytes are intact"), std::string::npos) << failed.error().hint;
    }
    EXPECT_EQ(test::readAll(path), "whole");
    EXPECT_TRUE(file.value().append(" again").ok());
    EXPECT_EQ(test::readAll(path), "whole again");
}

TEST(PacketFile, GoesOnInANewFileWithAllThatARemovedOneHeld) {
    const test::ScratchFolder folder;
    auto file = PacketFile::create(folder.path() / "a.pftrace");
    ASSERT_TRUE(file.ok()) << file.error().text();
    ASSERT_TRUE(file.value().append("before ").ok());
    EXPECT_TRUE(file.value().isInPlace());
    std::filesystem::remove(folder.path() / "a.pftrace");
    EXPECT_FALSE(file.value().isInPlace());
    const Status nowhere = file.value().moveTo(folder.path() / "missing" / "a.pftrace");
    EXPECT_FALSE(nowhere.ok());
    ASSERT_TRUE(file.value().moveTo(folder.path() / "a.pftrace").ok()) << "as if nothing had been tried before";
    EXPECT_TRUE(file.value().isInPlace());
    ASSERT_TRUE(file.value().append("after").ok());
    EXPECT_EQ(test::readAll(folder.path() / "a.pftrace"), "before after");
    EXPECT_EQ(file.value().length(), 12);
}

TEST(PacketFile, IsContinuedWithoutWhatWasHalfWritten) {
    const test::ScratchFolder folder;
    const std::filesystem::path path = folder.write("a.pftrace", "whole, hal");
    std::ifstream reader(path);
    auto file = PacketFile::openUpTo(path, 5);
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_TRUE(file.value().isInPlace());
    ASSERT_TRUE(file.value().append(" again").ok());
    EXPECT_EQ(test::readAll(path), "whole again");
    std::string old;
    std::getline(reader, old);
    EXPECT_EQ(old, "whole, hal") << "readers can tell the files apart";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    ASSERT_TRUE(PacketFile::openUpTo(path, 11).ok());
    EXPECT_EQ(test::readAll(path), "whole again");
}

} // namespace
} // namespace bubblescope::perfetto
