#include "runtime/backend/nccl/connect_devices.h"

#include "core/base/field.h"
#include "runtime/backend/nccl/link_plan.h"
#include "runtime/backend/nccl/nccl_channel.h"
#include "runtime/comm/channels.h"
#include "runtime/comm/process_transport.h"
#include "runtime/model/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Tensors between the devices of processes, over a PeerLibrary. A transfer is queued on a stream of its link, where it
/// waits until the tensor has been computed; the receiver's compute stream waits for the transfer. The plan of links
/// determines the order of queueing, so no rank has to communicate with a peer before it queues.
///
/// A sent tensor keeps its memory until the transfer is done, so no computation of a rank waits for a transfer to a
/// peer. Receives are queued at least up to the needed message, so transfers cannot block a valid schedule.
class DeviceDataChannel final : public DataChannel {
public:
    /// `ids` has one result of PeerLibrary::makeId() per link. Starts to connect; see connected().
    DeviceDataChannel(LinkContext context, std::vector<PeerLink> links, std::vector<std::string> ids, Rank self);
    /// Stages that hold received tensors must have been destroyed.
    ~DeviceDataChannel() override;

    /// True once all links of this rank are connected. Call it repeatedly until then, before any other function.
    [[nodiscard]] bool connected();
    /// The link that connected() is waiting for: "the link from rank 0 to rank 1".
    [[nodiscard]] std::string waitsFor() const;

    void expect(std::span<const Expected> messages) override;
    void send(Rank to, const MessageKey& key, Message message) override;
    void progress() override;
    [[nodiscard]] std::optional<Arrived> take(Rank from, const MessageKey& key) override;
    [[nodiscard]] bool busy() const override;
    void abort() override;

private:
    using Label = std::tuple<Content, std::int32_t, Rank, Rank>; ///< content, number of the sum for a part, from, to

    [[nodiscard]] static Label labelOf(Rank from, Rank to, const MessageKey& key) {
        return {key.content, key.content == Content::Part ? key.sequence : 0, from, to};
    }
    void joinNext();
    void add(const PeerLink& link, std::unique_ptr<PeerComm> comm);
    [[nodiscard]] NcclChannel& endFor(const Label& label);

    LinkContext context_;
    Rank self_;
    std::vector<PeerLink> links_; ///< all links of the run
    std::vector<std::string> ids_;
    std::size_t next_ = 0; ///< index of the next link to connect
    std::unique_ptr<PeerComm> joining_;
    std::vector<std::unique_ptr<NcclChannel>> ends_; ///< this rank's ends
    std::map<Label, NcclChannel*> by_label_;
    bool aborted_ = false;
};

namespace {

std::string nameOf(const PeerLink& link) {
    if (link.one_way)
        return fmt::format("the link from rank {} to rank {}", link.members[0].value, link.members[1].value);
    std::string ranks;
    for (const Rank member : link.members)
        ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", member.value);
    return fmt::format("the link between ranks {}", ranks);
}

/// Calls `work()`, which uses the library. Rethrows its exceptions with the link's name prepended.
template <class Work>
auto namingItsLink(const NcclChannel& end, const Work& work) {
    try {
        return work();
    } catch (const std::exception& e) {
        throw std::runtime_error(fmt::format("{} failed: {}", nameOf(end.link()), e.what()));
    }
}

} // namespace

DeviceDataChannel::DeviceDataChannel(LinkContext context, std::vector<PeerLink> links, std::vector<std::string> ids,
                                     Rank self)
    : context_(std::move(context)), self_(self), links_(std::move(links)), ids_(std::move(ids)) {
    joinNext();
}

DeviceDataChannel::~DeviceDataChannel() {
    // Received tensors are in the links' memory, which a run that has ended early may still be reading.
    try {
        context_.queue->bindThread();
        context_.queue->finish();
    } catch (const std::exception&) {
        // The device has failed, so no work is running on it.
    }
    context_.queue->forgetOps();
    for (const auto& end : ends_)
        end->releaseTensors();
    context_.queue->freeReturned();
}

void DeviceDataChannel::joinNext() {
    // Connects one link at a time, in an order shared by all ranks, so that no two ranks wait for each other.
    while (next_ < links_.size() && !std::ranges::count(links_[next_].members, self_))
        ++next_;
    if (next_ == links_.size()) return;
    const std::vector<Rank>& members = links_[next_].members;
    const auto place = std::ranges::find(members, self_) - members.begin();
    joining_ = context_.library->join(ids_[next_], static_cast<int>(place), static_cast<int>(members.size()),
                                      links_[next_].one_way);
}

bool DeviceDataChannel::connected() {
    while (joining_) {
        if (!joining_->ready()) return false;
        add(links_[next_++], std::move(joining_));
        joinNext();
    }
    return true;
}

std::string DeviceDataChannel::waitsFor() const {
    return joining_ ? nameOf(links_[next_]) : std::string();
}

void DeviceDataChannel::add(const PeerLink& link, std::unique_ptr<PeerComm> comm) {
    if (!link.one_way) {
        ends_.push_back(std::make_unique<ExchangeChannel>(context_, link, self_, std::move(comm)));
        for (const LinkMessage& message : link.messages) {
            if (message.from == self_ || message.to == self_)
                by_label_[labelOf(message.from, message.to, message.key)] = ends_.back().get();
        }
        return;
    }
    if (link.members.front() == self_) {
        ends_.push_back(std::make_unique<SendChannel>(context_, link, self_, std::move(comm)));
    } else {
        ends_.push_back(std::make_unique<ReceiveChannel>(context_, link, self_, std::move(comm)));
    }
    by_label_[labelOf(link.members[0], link.members[1], link.messages.front().key)] = ends_.back().get();
}

NcclChannel& DeviceDataChannel::endFor(const Label& label) {
    const auto found = by_label_.find(label);
    if (found == by_label_.end()) throw std::logic_error("two ranks have no link for their transfers");
    return *found->second;
}

void DeviceDataChannel::expect(std::span<const Expected>) {
    for (const auto& end : ends_)
        end->expect();
    progress();
}

void DeviceDataChannel::send(Rank to, const MessageKey& key, Message message) {
    if (aborted_) return;
    endFor(labelOf(self_, to, key)).send(to, key, std::move(message.tensor));
    progress();
}

void DeviceDataChannel::progress() {
    if (aborted_) return;
    context_.queue->device().bindThread(); // called by the rank's thread and by the thread that advances messages
    for (const auto& end : ends_)
        namingItsLink(*end, [&end] { end->progress(); });
}

std::optional<DataChannel::Arrived> DeviceDataChannel::take(Rank from, const MessageKey& key) {
    if (aborted_) return std::nullopt;
    NcclChannel& end = endFor(labelOf(from, self_, key));
    std::optional<Tensor> tensor = namingItsLink(end, [&] { return end.take(from, key); });
    if (!tensor) return std::nullopt;
    return Arrived{std::move(*tensor), std::nullopt};
}

bool DeviceDataChannel::busy() const {
    return !aborted_ && std::ranges::any_of(ends_, [](const auto& end) { return end->busy(); });
}

void DeviceDataChannel::abort() {
    if (std::exchange(aborted_, true)) return;
    joining_.reset();
    for (const auto& end : ends_)
        end->abort();
}

namespace {

/// Enough to keep a GPU busy if the host is delayed.
constexpr std::size_t kOpsAhead = 16;

struct JoinLimit {
    HostClock& clock;
    TimeNs timeout{0};
};

/// The root creates the ids of all links: they must come from a process that lives until all have connected.
Result<std::vector<std::string>> idsOf(std::size_t links, PeerLibrary& library, ProcessTeam& team) {
    std::string all;
    Status made;
    try {
        for (std::size_t i = 0; team.isRoot() && i < links; ++i)
            all += library.makeId();
    } catch (const std::exception& e) {
        made = runError(fmt::format("rank 0: {}", e.what()));
    }
    BUBBLESCOPE_TRY(agree(std::move(made), team));
    BUBBLESCOPE_ASSIGN(all, team.broadcast(std::move(all)));
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < links; ++i)
        ids.push_back(all.substr(i * (all.size() / links), all.size() / links));
    return ids;
}

/// The result of a rank's attempt to connect. If a rank fails, the others time out waiting for it, so its error
/// explains more than theirs.
struct Outcome {
    std::string error; ///< empty = connected
    bool timeout = false;
};

Status agreeOn(const Outcome& own, ProcessTeam& team) {
    const std::string text = own.error.empty() ? std::string() : (own.timeout ? "t" : "e") + own.error;
    BUBBLESCOPE_ASSIGN(std::vector<std::string> all,
                       team.exchange(std::vector(static_cast<std::size_t>(team.size()), text)));
    std::erase(all, std::string());
    if (all.empty()) return {};
    const auto told = std::ranges::find(all, 'e', [](const std::string& error) { return error.front(); });
    std::string error = (told == all.end() ? all.front() : *told).substr(1);
    const bool shared_gpu = error.find("Duplicate GPU detected") != std::string::npos;
    return runError(std::move(error),
                    shared_gpu ? "start one process per GPU, or one process for all ranks"
                               : fmt::format("set NCCL_DEBUG=INFO to see NCCL's messages; {} sets the time limit",
                                             Field("timeout")));
}

Outcome waitUntilConnected(DeviceDataChannel& data, const JoinLimit& limit, Rank self) {
    constexpr TimeNs kNap{1'000'000};
    const TimeNs end = limit.clock.now() + limit.timeout;
    while (!data.connected()) {
        if (limit.clock.now() >= end) {
            return {fmt::format("rank {}: {} could not connect within {}", self.value, data.waitsFor(),
                                formatTime(limit.timeout)),
                    true};
        }
        limit.clock.sleepUntil(limit.clock.now() + kNap);
    }
    return {};
}

/// Connects all links. All processes of the team, each of which is one rank, call it together. Error: Run, the same on
/// all processes, if one of them could not connect.
Result<std::unique_ptr<DataChannel>> joinByLinks(const LinkContext& context, std::vector<PeerLink> links,
                                                 const JoinLimit& limit, ProcessTeam& team) {
    BUBBLESCOPE_ASSIGN(std::vector<std::string> ids, idsOf(links.size(), *context.library, team));
    const Rank self{team.rank()};
    std::unique_ptr<DeviceDataChannel> data;
    Outcome joined;
    try {
        data = std::make_unique<DeviceDataChannel>(context, std::move(links), std::move(ids), self);
        joined = waitUntilConnected(*data, limit, self);
    } catch (const std::exception& e) {
        joined.error = fmt::format("rank {}: {}{}", self.value,
                                   data ? data->waitsFor() + " could not connect: " : std::string(), e.what());
    }
    BUBBLESCOPE_TRY(agreeOn(joined, team));
    return std::unique_ptr<DataChannel>(std::move(data));
}

/// The shapes of the arrays in a run's messages.
std::function<ArrayShape(const MessageKey&)> shapesOf(const PeerJob& job, Storage activations, std::int64_t alignment) {
    return [job, activations, alignment, slices = job.plan.slices()](const MessageKey& key) -> ArrayShape {
        if (key.content == Content::GradientSum) {
            StageTask task = job.plan.taskOf(key.consumer);
            task.shard.size = job.mesh.tensor_ranks;
            return {flatLayout(job.model, task, alignment).size, 1, Storage::Float};
        }
        const bool part = key.content == Content::Part; // `sequence` then numbers sums
        const int slice = part ? 0 : key.sequence;
        const int length = job.model.sequence * (slice + 1) / slices - job.model.sequence * slice / slices;
        return {std::int64_t{job.model.batch} * length, std::int64_t{job.model.width},
                part ? Storage::Float : activations};
    };
}

} // namespace

DeviceConnector connectDevices(std::shared_ptr<PeerLibrary> library) {
    if (library == nullptr) return {};
    return [library = std::move(library)](const std::shared_ptr<RankQueue>& queue, Storage activations,
                                          const PeerJob& job,
                                          ProcessTeam& team) -> Result<std::unique_ptr<DataChannel>> {
        const int slices = job.plan.slices();
        if (job.mesh.tensor_ranks > 1 && job.model.sequence % slices != 0) {
            return usageError(
                fmt::format("sequences of {} tokens cannot be split into {} equal slices", job.model.sequence, slices),
                fmt::format("GPUs of several processes that share stages need equal slices: choose another {}",
                            Field("sequence")));
        }
        queue->limitAhead(kOpsAhead);
        std::vector<PeerLink> links = planLinks(job.schedule, job.plan, job.mesh);
        const auto own = std::ranges::count_if(links, [self = Rank{team.rank()}](const PeerLink& link) {
            return std::ranges::count(link.members, self) > 0;
        });
        queue->device().leaveRoomFor(static_cast<int>(own) * library->blocksOfTransfer());
        return joinByLinks({library, queue, shapesOf(job, activations, queue->traits().alignment), job.paced},
                           std::move(links), {job.clock, job.timeout}, team);
    };
}

} // namespace bubblescope::runtime
