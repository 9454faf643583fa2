// Inputs from other processes: the memory that a job shares with its watcher, messages to the watcher's socket, and a
// connection to a monitor without a proof. Also notes, and pairs of traces.

#include "core/analysis/comparison/compare_runs.h"
#include "core/formats/notes_file.h"
#include "core/net/admission.h"
#include "core/recognise/run.h"
#include "profiler/capture/rank_identity.h"
#include "profiler/job/left_memory.h"
#include "profiler/job/process_watcher.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/portions.h"
#include "tests/fuzz/targets.h"
#include "tests/support/recorded_memory.h"
#include "tests/support/scratch_folder.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace bubblescope::fuzz {
namespace {

using namespace bubblescope::profiler;
namespace fs = std::filesystem;

const test::ScratchFolder& folder() {
    static const test::ScratchFolder made;
    return made;
}

fs::path emptyFolder() {
    const fs::path dir = folder().path() / "traces";
    fs::remove_all(dir);
    fs::create_directories(dir);
    return dir;
}

std::span<std::byte> bytesOf(EventMemory& memory) {
    auto* const begin = reinterpret_cast<std::byte*>(&memory.header());
    return {begin, event_memory::kHeaderBytes + std::size_t{memory.chunks()} * event_memory::kChunkBytes};
}

constexpr std::size_t kShared = 2 * event_memory::kChunkBytes; ///< for records

/// The memory of a process that recorded some ranges and was killed.
const std::vector<std::byte>& memoryOfAKilledProcess() {
    static const std::vector<std::byte> bytes = [] {
        test::RecordedMemory memory(kShared);
        for (const std::string_view name : {"F0", "B0", "a range that is open"})
            memory.recorder().push(name, 0);
        memory.recorder().pop(0);
        memory.recorder().push("domain", 1);
        DescribedProcess process;
        process.process = {.host = "node", .clock = "boot", .pid = 77, .program = "train"};
        process.identity.rank = 1;
        event_memory::Header& header = memory.memory().header();
        const std::string text = processText(process);
        std::copy(text.begin(), text.end(), header.identity.begin());
        header.identity_bytes = text.size();
        const std::span<std::byte> all = bytesOf(memory.memory());
        return std::vector<std::byte>(all.begin(), all.end());
    }();
    return bytes;
}

/// Overwrites numbers, most of them in the parts that say where something is.
void overwrite(std::span<std::byte> memory, Portions& from) {
    while (from.any()) {
        const auto part = from.number();
        auto at = std::size_t{from.number<std::uint16_t>()};
        if (part % 4 == 1) at += offsetof(event_memory::Header, threads);
        if (part % 4 == 2) at += event_memory::kHeaderBytes;
        if (part % 4 == 3) at = at * std::size_t{61} % memory.size();
        const std::string_view value = from.text(part / 4 % 9);
        at = std::min(at, memory.size() - value.size());
        if (!value.empty()) std::memcpy(memory.data() + at, value.data(), value.size());
    }
}

void checkLeft(const LeftByProcess& left) {
    for (const auto& [name, member] : perfetto::kCaptureCounts) {
        require(left.counts.*member >= 0, "counts are not negative");
        require(left.stated.counts.*member >= 0, "stated counts are not negative");
    }
    require(!left.written || left.recorded, "only a process that recorded leaves something");
}

} // namespace

void leftMemory(std::string_view bytes) {
    static const std::unique_ptr<EventMemory> memory = EventMemory::create(kShared);
    const std::span<std::byte> all = bytesOf(*memory);
    const std::vector<std::byte>& whole = memoryOfAKilledProcess();
    require(all.size() == whole.size(), "memory of one size has one layout");
    std::memcpy(all.data(), whole.data(), whole.size());
    Portions from(bytes);
    overwrite(all, from);
    checkLeft(writeWhatIsLeft(*memory, emptyFolder(), "SIGKILL"));
}

namespace {

/// Sends a message, with a file if `file` is not −1.
void sendTo(int socket, std::string_view text, int file) {
    iovec part{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (file >= 0) {
        message.msg_control = room.data();
        message.msg_controllen = room.size();
        cmsghdr* const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    (void)::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// A message that a process of the same user may send: memory that it wrote into, a request, an account, or anything.
void sendMessage(int socket, Portions& from) {
    using Kind = WatcherLink::Message::Kind;
    const auto what = from.number();
    if (what % 4 == 0) return sendTo(socket, from.text(from.number()), -1);
    if (what % 4 == 1) {
        WatcherLink::Account account;
        std::string_view numbers = from.text(from.number() % 160);
        std::memcpy(reinterpret_cast<char*>(&account) + sizeof account.head, numbers.data(), numbers.size());
        const std::string_view identity = from.text(from.number());
        std::copy(identity.begin(), identity.end(), account.identity.begin());
        return sendTo(socket, {reinterpret_cast<const char*>(&account), sizeof account}, -1);
    }
    constexpr std::uint64_t kMost = 1 << 20;
    const WatcherLink::Message message{what % 4 == 2 ? Kind::Give : Kind::Ask, from.number<std::uint64_t>() % kMost};
    const std::string_view text{reinterpret_cast<const char*>(&message), sizeof message};
    if (message.kind == Kind::Ask) return sendTo(socket, text, -1);
    const int file = ::memfd_create("given", MFD_CLOEXEC);
    const std::vector<std::byte>& whole = memoryOfAKilledProcess();
    std::vector<std::byte> given(whole.begin(), whole.end());
    Portions changes(from.text(from.number()));
    overwrite(given, changes);
    if (what >= 128) given.resize(given.size() / 256 * what);
    (void)!::write(file, given.data(), given.size());
    sendTo(socket, text, file);
    ::close(file);
}

} // namespace

void watcherSocket(std::string_view bytes) {
    auto watcher = ProcessWatcher::start(emptyFolder());
    require(watcher.ok(), "processes can be watched");
    const std::string& name = watcher.value()->name();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    require(::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0, "the watcher listens");
    Portions from(bytes);
    constexpr int kMost = 8; // messages
    for (int sent = 0; sent < kMost && from.any(); ++sent)
        sendMessage(socket, from);
    ::close(socket);
    const ProcessWatcher::Report report = watcher.value()->finish(std::chrono::milliseconds(0));
    require(report.refused == 0 && report.running >= 0, "processes of the same user are not refused");
    for (const LeftByProcess& left : report.processes)
        checkLeft(left);
}

void stranger(std::string_view bytes) {
    net::Address address{"127.0.0.1", 0};
    auto listener = net::Listener::open(address);
    require(listener.ok(), "a port can be opened");
    auto admission = net::Admission::open(std::move(listener).value(), {"the secret", "no", {}});
    require(admission.ok(), "an admission begins");
    net::Connector connector(address);
    require(connector.wait(net::Clock::now() + std::chrono::seconds(5)) == net::Connector::Stage::Connected,
            "a stranger can connect");
    net::Socket socket = connector.take();
    const linger reset{1, 0}; // or ports would run out after thousands of inputs
    (void)::setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    TimeNs now{0};
    const auto poll = [&] {
        constexpr std::size_t kRoom = 4;
        require(admission.value().poll(now += std::chrono::milliseconds(100), kRoom).empty(),
                "nobody is admitted without a proof");
    };
    poll();
    constexpr std::size_t kPiece = 97;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
        (void)::send(socket.descriptor(), bytes.data(), std::min(kPiece, bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
        poll();
    }
    now += std::chrono::minutes(1);
    poll();
    poll();
    require(admission.value().strangers() == 0, "a stranger is held for a while only");
}

void notesFile(std::string_view bytes) {
    const fs::path file = folder().write("trace.notes.json", bytes);
    const auto notes = readNotes(file);
    if (!notes.ok()) return checkError(notes.error(), "trace.notes.json");
    require(writeNotes(file, notes.value()).ok(), "notes can be written");
    const auto again = readNotes(file);
    require(again.ok() && again.value() == notes.value(), "notes are read as they were written");
}

void runPair(std::string_view bytes) {
    constexpr std::string_view kBetween = "\n---\n";
    const std::size_t at = std::min(bytes.find(kBetween), bytes.size());
    JobControl control;
    std::vector<LoadedTrace> runs;
    const std::array halves{bytes.substr(0, at), bytes.substr(std::min(at + kBetween.size(), bytes.size()))};
    for (const std::string_view half : halves) {
        auto loaded = loadTrace({folder().write(kInput, half)}, control);
        if (!loaded.ok()) return checkError(loaded.error());
        if (loaded.value().no_pipeline) return;
        runs.push_back(std::move(loaded).value());
    }
    const RunComparison comparison = compareRuns(runs[0].run, runs[1].run);
    const std::size_t steps_a = runs[0].run.steps.size();
    require(comparison.steps_a <= steps_a && comparison.steps_b <= runs[1].run.steps.size(), "steps are counted once");
    for (const Change& change : comparison.changes)
        require(change.low <= change.shift && change.shift <= change.high, "a change lies in its interval");
    require(compareRuns(runs[0].run, runs[0].run).changes.empty(), "a run does not differ from itself");
}

} // namespace bubblescope::fuzz
