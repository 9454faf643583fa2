#include "runtime/comm/activity_board.h"

#include "core/base/descriptor.h"
#include "runtime/clock/host_clock.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace bubblescope::runtime {

/// Two copies: the writer fills the copy that `version` does not select, then selects it. If a process is killed while
/// it writes, its previous entry therefore remains readable.
struct ActivityBoard::Entry {
    static constexpr std::uint64_t kMagic = 0x62756262'6c655f61;

    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint64_t> version; ///< 0 = nothing was written
    std::array<Activity, 2> copies;

    static_assert(std::is_trivially_copyable_v<Activity> && std::atomic<std::uint64_t>::is_always_lock_free);
};

/// The shared memory of one entry.
class ActivityBoard::Mapping {
public:
    /// Takes ownership of the file; null if it cannot be mapped, or if its size may change.
    static std::unique_ptr<Mapping> of(Descriptor file) {
        struct stat about {};
        const int seals = file.isOpen() ? ::fcntl(file.get(), F_GET_SEALS) : -1;
        if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &about) != 0) return nullptr;
        if (about.st_size != static_cast<off_t>(sizeof(Entry))) return nullptr;
        void* const at = ::mmap(nullptr, sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        if (at == MAP_FAILED) return nullptr;
        return std::unique_ptr<Mapping>(new Mapping(static_cast<Entry*>(at), std::move(file)));
    }
    static std::unique_ptr<Mapping> make() {
        Descriptor file(::memfd_create("bubblescope-activity", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!file.isOpen() || ::ftruncate(file.get(), static_cast<off_t>(sizeof(Entry))) != 0 ||
            ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
            return nullptr;
        std::unique_ptr<Mapping> made = of(std::move(file));
        if (made) made->entry_->magic.store(Entry::kMagic, std::memory_order_release);
        return made;
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(entry_, sizeof(Entry)); }

    [[nodiscard]] Entry& entry() const { return *entry_; }
    [[nodiscard]] int file() const { return file_.get(); }

private:
    Mapping(Entry* entry, Descriptor file) : entry_(entry), file_(std::move(file)) {}

    Entry* entry_;
    Descriptor file_; ///< kept open for other processes to open
};

namespace {

/// The data that a process publishes: the location of its entry, and the cores that it may use.
struct Card {
    std::string machine; ///< machine in which its process ids are valid
    std::int64_t pid = 0;
    std::int64_t file = -1;
    std::string cores; ///< one character per core: '1' if the process may use it
};

std::string ownCores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return "1";
    std::string cores;
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
        cores += CPU_ISSET(core, &set) ? '1' : '0';
    cores.erase(cores.find_last_not_of('0') + 1);
    return cores;
}

/// Processes with equal machine names can open each other's files.
std::string machineName() {
    std::error_code failed;
    const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/pid", failed);
    return systemClockName() + '/' + space.string();
}

std::optional<Card> cardOf(const std::string& text) {
    std::istringstream in(text);
    Card card;
    if (!(in >> card.machine >> card.pid >> card.file >> card.cores)) return std::nullopt;
    return card;
}

} // namespace

ActivityBoard::ActivityBoard() = default;
ActivityBoard::~ActivityBoard() = default;

Result<std::shared_ptr<ActivityBoard>> ActivityBoard::open(ProcessTeam& team) {
    std::shared_ptr<ActivityBoard> board(new ActivityBoard());
    board->own_ = static_cast<std::size_t>(team.rank());
    std::unique_ptr<Mapping> own = Mapping::make();
    const std::string machine = machineName();
    const std::string card = fmt::format("{} {} {} {}", machine, ::getpid(), own ? own->file() : -1, ownCores());
    const std::vector<std::string> same(static_cast<std::size_t>(team.size()), card);
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team.exchange(same));
    std::string cores;
    for (std::size_t r = 0; r < all.size(); ++r) {
        std::unique_ptr<Mapping>& entry = board->entries_.emplace_back();
        const std::optional<Card> of = cardOf(r == board->own_ ? card : all[r]);
        if (!of || of->machine != machine) continue;
        cores.resize(std::max(cores.size(), of->cores.size()), '0');
        for (std::size_t core = 0; core < of->cores.size(); ++core)
            cores[core] = std::max(cores[core], of->cores[core]);
        if (r == board->own_) {
            entry = std::move(own);
        } else if (of->file >= 0) {
            const std::string path = fmt::format("/proc/{}/fd/{}", of->pid, of->file);
            entry = Mapping::of(Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
            if (entry && entry->entry().magic.load(std::memory_order_acquire) != Entry::kMagic) entry.reset();
        }
        board->ranks_ += entry && r != board->own_ ? 1 : 0;
    }
    board->cores_ = std::max(1, static_cast<int>(std::ranges::count(cores, '1')));
    return board;
}

void ActivityBoard::write(const Activity& activity) noexcept {
    if (!entries_[own_]) return;
    Entry& entry = entries_[own_]->entry();
    const std::uint64_t next = entry.version.load(std::memory_order_relaxed) + 1;
    // This copy was last published two versions ago, so a process that is reading it now will see a newer version
    // afterwards, and read again.
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(static_cast<void*>(&entry.copies[next % 2]), &activity, sizeof activity);
    entry.version.store(next, std::memory_order_release);
}

std::optional<Activity> ActivityBoard::read(Rank rank) const noexcept {
    if (rank.index() >= entries_.size() || !entries_[rank.index()]) return std::nullopt;
    const Entry& entry = entries_[rank.index()]->entry();
    for (;;) {
        const std::uint64_t version = entry.version.load(std::memory_order_acquire);
        if (version == 0) return std::nullopt;
        Activity activity;
        std::memcpy(static_cast<void*>(&activity), &entry.copies[version % 2], sizeof activity);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (entry.version.load(std::memory_order_relaxed) == version) return activity;
    }
}

int ActivityBoard::othersBusy() const noexcept {
    int busy = 0;
    for (std::size_t r = 0; r < entries_.size(); ++r) {
        const std::optional<Activity> activity = r == own_ ? std::nullopt : read(Rank{r});
        busy += activity && activity->busy() ? 1 : 0;
    }
    return busy;
}

} // namespace bubblescope::runtime
