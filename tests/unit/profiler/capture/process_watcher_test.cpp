#include "profiler/job/process_watcher.h"

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace bubblescope::profiler {
namespace {

/// As anybody can who reads /proc/net/unix.
int connectTo(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const int made = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::connect(made, reinterpret_cast<const sockaddr*>(&address), length) == 0) return made;
    ::close(made);
    return -1;
}

/// For its lifetime, this process may have no more than so many descriptors, until the watcher raises that.
class FewDescriptors {
public:
    explicit FewDescriptors(rlim_t most) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit few{most, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
    rlimit before_{};
};

/// A process that records into shared memory and ends by _exit.
pid_t startProcess(const std::string& watcher) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    WatcherLink link;
    link.connect(watcher);
    const auto memory = link.sharedMemory(1 << 20);
    if (memory != nullptr) memory->header().lost_begins.store(7);
    ::usleep(200'000);
    ::_exit(memory != nullptr && memory->isShared() ? 0 : 1);
}

TEST(ProcessWatcher, RefusesOtherUsersAndServesItsOwnBeside) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    const test::ScratchFolder folder;
    auto watcher = ProcessWatcher::start(folder.path());
    ASSERT_TRUE(watcher.ok()) << watcher.error().text();
    constexpr int kMany = 600;
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
        for (int i = 0; i < kMany; ++i)
            connectTo(watcher.value()->name());
        ::usleep(400'000);
        ::_exit(0);
    }
    ::usleep(100'000);
    const pid_t own = startProcess(watcher.value()->name());
    int status = 0;
    ::waitpid(own, &status, 0);
    EXPECT_EQ(status, 0) << "it got memory that the watcher holds";
    ::waitpid(stranger, &status, 0);
    EXPECT_EQ(status, 0);
    const ProcessWatcher::Report report = watcher.value()->finish(std::chrono::milliseconds(500));
    EXPECT_EQ(report.refused, kMany);
    ASSERT_EQ(report.processes.size(), 1U);
    EXPECT_TRUE(report.processes.front().recorded);
}

TEST(ProcessWatcher, HoldsMoreProcessesThanItsLimitAtTheStartAllows) {
    const test::ScratchFolder folder;
    auto watcher = ProcessWatcher::start(folder.path());
    ASSERT_TRUE(watcher.ok()) << watcher.error().text();
    std::vector<pid_t> children;
    {
        const FewDescriptors few(64);
        for (int i = 0; i < 24; ++i)
            children.push_back(startProcess(watcher.value()->name()));
        for (const pid_t child : children) {
            int status = 0;
            ::waitpid(child, &status, 0);
        }
    }
    const ProcessWatcher::Report report = watcher.value()->finish(std::chrono::milliseconds(500));
    EXPECT_EQ(report.processes.size(), children.size()) << "each recorded something, and is in the account";
    for (const LeftByProcess& left : report.processes)
        EXPECT_TRUE(left.recorded);
    EXPECT_EQ(report.running, 0);
}

TEST(ProcessWatcher, ReadsAnAccountThatIsNonsenseAsNumbersThatCanBeAdded) {
    WatcherLink::Account account;
    account.recorded = 1;
    account.counts.ranges = INT64_MAX;
    account.counts.not_written = INT64_MIN;
    account.files = INT64_MIN;
    account.message_bytes = UINT64_MAX;
    account.identity_bytes = UINT64_MAX;
    account.identity.fill('x');
    const LeftByProcess left = leftByAccount(account);
    EXPECT_TRUE(left.recorded);
    EXPECT_FALSE(left.regular);
    EXPECT_GT(left.counts.ranges, 0);
    EXPECT_LE(left.counts.ranges, INT64_MAX / 15);
    EXPECT_EQ(left.counts.not_written, 0);
    EXPECT_EQ(left.stated.files, 0);
    EXPECT_EQ(left.message.size(), account.message.size());
}

} // namespace
} // namespace bubblescope::profiler
