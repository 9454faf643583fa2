#include "profiler/capture/watcher_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace bubblescope::profiler {
namespace {

bool inodeOf(int descriptor, std::uint64_t& inode) noexcept {
    struct stat about {};
    if (::fstat(descriptor, &about) != 0) return false;
    inode = about.st_ino;
    return true;
}

} // namespace

void WatcherLink::connect(std::string_view name) noexcept {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.empty() || name.size() + 1 > sizeof address.sun_path) return;
    std::memcpy(address.sun_path + 1, name.data(), name.size()); // the leading zero marks an abstract socket
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int made = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool ours = ::connect(made, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                      ::getsockopt(made, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                      (peer.uid == ::getuid() || peer.uid == ::geteuid() || peer.uid == 0);
    if (!ours || !inodeOf(made, inode_)) {
        ::close(made);
        return;
    }
    descriptor_ = made;
}

bool WatcherLink::isOpen() const noexcept {
    std::uint64_t inode = 0;
    return descriptor_ >= 0 && inodeOf(descriptor_, inode) && inode == inode_;
}

bool WatcherLink::send(const void* message, std::size_t bytes, int descriptor) const noexcept {
    if (!isOpen()) return false;
    iovec text{const_cast<void*>(message), bytes}; // sendmsg() only reads it
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {};
    msghdr head{};
    head.msg_iov = &text;
    head.msg_iovlen = 1;
    if (descriptor >= 0) {
        head.msg_control = room;
        head.msg_controllen = sizeof room;
        cmsghdr* const rights = CMSG_FIRSTHDR(&head);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    }
    return ::sendmsg(descriptor_, &head, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

void WatcherLink::state(const Account& account) const noexcept {
    [[maybe_unused]] const bool sent = send(&account, sizeof account, -1); // if this fails, the losses stay unknown
}

Descriptor WatcherLink::receive() const noexcept {
    constexpr int kPatience = 200; // ms
    pollfd waited{descriptor_, POLLIN, 0};
    if (::poll(&waited, 1, kPatience) <= 0) return Descriptor();
    Message answer;
    iovec text{&answer, sizeof answer};
    int number = -1;
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof number)] = {};
    msghdr head{};
    head.msg_iov = &text;
    head.msg_iovlen = 1;
    head.msg_control = room;
    head.msg_controllen = sizeof room;
    if (::recvmsg(descriptor_, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return Descriptor();
    const cmsghdr* const rights = CMSG_FIRSTHDR(&head);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return Descriptor();
    std::memcpy(&number, CMSG_DATA(rights), sizeof number);
    return Descriptor(number);
}

std::unique_ptr<EventMemory> WatcherLink::sharedMemory(std::size_t bytes) const noexcept {
    if (!isOpen()) return nullptr;
    auto made = EventMemory::createShared(bytes);
    const Message give{Message::Kind::Give, bytes};
    if (made != nullptr && send(&give, sizeof give, made->descriptor())) return made;
    made = nullptr;
    const Message ask{Message::Kind::Ask, bytes};
    if (!send(&ask, sizeof ask, -1)) return nullptr;
    Descriptor file = receive();
    return file.isOpen() ? EventMemory::createIn(std::move(file)) : nullptr;
}

} // namespace bubblescope::profiler
