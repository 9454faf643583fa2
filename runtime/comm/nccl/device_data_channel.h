#pragma once

#include "runtime/comm/data_channel.h"
#include "runtime/comm/nccl/nccl_channel.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Tensors between the devices of processes, over a PeerLibrary. A transfer is queued on a stream of its link; there it
/// waits for the computation of the tensor, and the receiver's compute stream waits for it. What is queued in which
/// order follows from the plan of links, so no rank asks a peer before queueing.
///
/// A tensor that is sent keeps its memory until the transfer is done: no computation of a rank waits for a transfer to
/// a peer. Together with receives that are queued at least up to the needed one, this means that transfers cannot block
/// a valid schedule.
class DeviceDataChannel final : public DataChannel {
public:
    /// `ids` holds one result of PeerLibrary::makeId() for each link. Begins to connect; see connected().
    DeviceDataChannel(LinkContext context, std::vector<PeerLink> links, std::vector<std::string> ids, Rank self);
    /// Stages that hold received tensors must have been destroyed.
    ~DeviceDataChannel() override;

    /// True once all links of this rank are connected; must be called until then, before any other function.
    [[nodiscard]] bool connected();
    /// What connected() waits for: "the link from rank 0 to rank 1".
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

} // namespace bubblescope::runtime
