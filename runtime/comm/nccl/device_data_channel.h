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

/// Tensors from one process's device to another's, by a PeerLibrary. A transfer is queued on a stream
/// of its link; it waits there for what computes the tensor, and the receiver's compute stream for it. What to queue in
/// which order follows from the plan of links, so nobody asks a peer before queueing.
///
/// What is sent keeps its memory until it is gone: nothing that a rank computes ever waits for a transfer to a peer.
/// With that, and with receives that are queued at least up to the one that is needed, a schedule that is valid cannot
/// be blocked by transfers.
class DeviceDataChannel final : public DataChannel {
public:
    /// `ids` has one of PeerLibrary::makeId() for each link. Begins to join; see connected().
    DeviceDataChannel(LinkContext context, std::vector<PeerLink> links, std::vector<std::string> ids, Rank self);
    /// The stages must be gone that hold what came.
    ~DeviceDataChannel() override;

    /// True once all links of this rank are joined; to be asked again until then, and before anything else is called.
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
    using Label = std::tuple<Content, std::int32_t, Rank, Rank>; ///< kind, of a part the sum's number, from, to

    [[nodiscard]] static Label labelOf(Rank from, Rank to, const MessageKey& key) {
        return {key.content, key.content == Content::Part ? key.sequence : 0, from, to};
    }
    void joinNext();
    void add(const PeerLink& link, std::unique_ptr<PeerComm> comm);
    [[nodiscard]] NcclChannel& endFor(const Label& label);

    LinkContext context_;
    Rank self_;
    std::vector<PeerLink> links_; ///< all of the run
    std::vector<std::string> ids_;
    std::size_t next_ = 0; ///< to be joined
    std::unique_ptr<PeerComm> joining_;
    std::vector<std::unique_ptr<NcclChannel>> ends_; ///< of this rank
    std::map<Label, NcclChannel*> by_label_;
    bool aborted_ = false;
};

} // namespace bubblescope::runtime
