#include "tests/support/emulated_peers.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime::test {

/// A group of operations on one communicator, on its stream.
struct EmulatedPeers::Ends {
    std::vector<Operation> operations;
    bool begun = false;
    std::size_t done = 0;
    TimeNs time{0}; ///< of the begin, then of the last transfer's end
};

/// The data that the members of a communicator share.
struct EmulatedPeers::World {
    struct Posted {
        std::shared_ptr<Ends> group;
        std::size_t operation;
    };
    using Pair = std::pair<int, int>; ///< from, to

    std::vector<bool> members;
    std::map<Pair, std::deque<Posted>> sends;
    std::map<Pair, std::deque<Posted>> receives;
    std::vector<bool> aborted;

    void post(int self, const std::shared_ptr<Ends>& group) {
        for (std::size_t i = 0; i < group->operations.size(); ++i) {
            const Operation& operation = group->operations[i];
            if (operation.sends) {
                sends[{self, operation.peer}].push_back({group, i});
            } else {
                receives[{operation.peer, self}].push_back({group, i});
            }
        }
    }

    /// Its memory is not touched any more.
    void abort(int self) {
        aborted[static_cast<std::size_t>(self)] = true;
        for (auto& [pair, posted] : sends) {
            if (pair.first == self) posted.clear();
        }
        for (auto& [pair, posted] : receives) {
            if (pair.second == self) posted.clear();
        }
    }

    void match(TimeNs copy_time) {
        for (auto& [pair, from] : sends) {
            std::deque<Posted>& to = receives[pair];
            while (!from.empty() && !to.empty()) {
                const Posted send = from.front();
                const Posted receive = to.front();
                from.pop_front();
                to.pop_front();
                const Operation& source = send.group->operations[send.operation];
                const Operation& target = receive.group->operations[receive.operation];
                if (source.bytes != target.bytes) throw std::logic_error("a send meets a receive of another length");
                std::memcpy(target.data, source.data, static_cast<std::size_t>(source.bytes));
                const TimeNs end = std::max(send.group->time, receive.group->time) + copy_time;
                for (const Posted& posted : {send, receive}) {
                    ++posted.group->done;
                    posted.group->time = std::max(posted.group->time, end);
                }
            }
        }
    }
};

class EmulatedPeers::Comm final : public PeerComm {
public:
    Comm(EmulatedPeers& library, std::shared_ptr<World> world, int self)
        : library_(library), world_(std::move(world)), self_(self) {}
    ~Comm() override {
        Comm::abort();
        const std::lock_guard lock(library_.mutex_);
        --library_.comms_;
    }

    void send(const void* from, std::int64_t bytes, int peer, Accelerator::Stream stream) override {
        add({true, const_cast<void*>(from), bytes, peer, stream}); // only read
    }
    void receive(void* to, std::int64_t bytes, int peer, Accelerator::Stream stream) override {
        add({false, to, bytes, peer, stream});
    }

    bool ready() override {
        std::shared_ptr<Ends> launched;
        {
            const std::lock_guard lock(library_.mutex_);
            if (library_.one_gpu_ && world_->members.size() > 1 && std::ranges::count(world_->members, false) == 0) {
                throw std::runtime_error(
                    "NCCL cannot join a communicator: invalid usage (Duplicate GPU detected : rank " +
                    std::to_string(self_) + " and rank " + std::to_string(self_ == 0 ? 1 : 0) +
                    " both on CUDA device 8000)");
            }
            if (library_.groups_until_failure_ == 0) throw std::runtime_error(library_.failure_);
            if (!joined_) return joined_ = std::ranges::count(world_->members, false) == 0;
            if (!issued_) return true;
            if (patience_-- > 0) return false;
            launched = std::exchange(issued_, nullptr);
        }
        launch(launched);
        return true;
    }

    void abort() noexcept override {
        {
            const std::lock_guard lock(library_.mutex_);
            world_->abort(self_);
        }
        library_.device_.wake();
    }

    /// The library's lock is held.
    void take(std::vector<Operation> operations) {
        constexpr int kAskedInVain = 2;
        issued_ = std::make_shared<Ends>();
        issued_->operations = std::move(operations);
        patience_ = kAskedInVain;
    }

private:
    void add(const Operation& operation) {
        const std::lock_guard lock(library_.mutex_);
        const auto group = library_.groups_.find(std::this_thread::get_id());
        if (group == library_.groups_.end()) throw std::logic_error("a transfer outside a group");
        if (!joined_ || issued_) throw std::logic_error("a communicator is used before it is ready");
        if (std::exchange(stream_, operation.stream) != operation.stream && used_)
            throw std::logic_error("a communicator is used on two streams");
        if (operation.peer < 0 || static_cast<std::size_t>(operation.peer) >= world_->members.size())
            throw std::logic_error("a communicator has no such member");
        used_ = true;
        group->second.emplace_back(this, operation);
    }

    void launch(const std::shared_ptr<Ends>& group) {
        // The task may outlive the communicator.
        const auto over = [world = world_, self = self_, group, library = &library_](TimeNs& time) {
            const std::lock_guard lock(library->mutex_);
            if (world->aborted[static_cast<std::size_t>(self)]) return true;
            if (!std::exchange(group->begun, true)) {
                group->time = time;
                world->post(self, group);
            }
            world->match(library->device_.copy_time);
            if (group->done < group->operations.size()) return false;
            time = std::max(time, group->time);
            return true;
        };
        library_.device_.submitUntil(over, stream_);
    }

    EmulatedPeers& library_;
    std::shared_ptr<World> world_;
    int self_;
    bool joined_ = false;
    bool used_ = false;
    Accelerator::Stream stream_ = nullptr;
    std::shared_ptr<Ends> issued_;
    int patience_ = 0;
};

std::string EmulatedPeers::makeId() {
    const std::lock_guard lock(mutex_);
    const std::string id = "id" + std::to_string(1000 + worlds_.size());
    worlds_.emplace(id, std::make_shared<World>());
    return id;
}

std::unique_ptr<PeerComm> EmulatedPeers::join(const std::string& id, int rank, int size, bool /*one_way*/) {
    const std::lock_guard lock(mutex_);
    const auto found = worlds_.find(id);
    if (found == worlds_.end()) throw std::logic_error("an identity that nobody made");
    World& world = *found->second;
    if (world.members.empty()) {
        world.members.resize(static_cast<std::size_t>(size));
        world.aborted.resize(static_cast<std::size_t>(size));
    }
    if (world.members.size() != static_cast<std::size_t>(size)) throw std::logic_error("members differ in the size");
    if (world.members[static_cast<std::size_t>(rank)]) throw std::logic_error("two members with one rank");
    world.members[static_cast<std::size_t>(rank)] = true;
    ++comms_;
    ++joined_;
    return std::make_unique<Comm>(*this, found->second, rank);
}

void EmulatedPeers::beginGroup() {
    const std::lock_guard lock(mutex_);
    if (!groups_.try_emplace(std::this_thread::get_id()).second) throw std::logic_error("a group within a group");
}

void EmulatedPeers::endGroup() {
    const std::lock_guard lock(mutex_);
    const auto found = groups_.find(std::this_thread::get_id());
    if (found == groups_.end()) throw std::logic_error("no group to end");
    if (groups_until_failure_ > 0) --groups_until_failure_;
    std::map<Comm*, std::vector<Operation>> by_comm;
    for (const auto& [comm, operation] : found->second)
        by_comm[comm].push_back(operation);
    groups_.erase(found);
    for (auto& [comm, operations] : by_comm)
        comm->take(std::move(operations));
}

void EmulatedPeers::putOnOneGpu() {
    const std::lock_guard lock(mutex_);
    one_gpu_ = true;
}

void EmulatedPeers::breakAfter(int groups, std::string why) {
    const std::lock_guard lock(mutex_);
    groups_until_failure_ = groups;
    failure_ = std::move(why);
}

int EmulatedPeers::comms() const {
    const std::lock_guard lock(mutex_);
    return comms_;
}

int EmulatedPeers::joined() const {
    const std::lock_guard lock(mutex_);
    return joined_;
}

} // namespace bubblescope::runtime::test
