#include "runtime/comm/mpi/mpi_channels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace bubblescope::runtime {
namespace {

static_assert(std::is_trivially_copyable_v<ControlMessage>);
constexpr int kControlBytes = sizeof(ControlMessage);
constexpr int kControlTag = 1;

/// Precedes the values of a tensor. All processes of a job run the same program on machines of the same kind.
struct Header {
    std::int64_t sent = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t checked = 0; ///< true if the digests are valid
    MessageDigests digests;
};

void check(int code, const char* tried) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::runtime_error(std::string("MPI could not ") + tried + ": " +
                             std::string(text, static_cast<std::size_t>(length)));
}

int byteCount(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::length_error("a tensor of more than 2 GiB does not fit into an MPI message");
    return static_cast<int>(bytes);
}

/// The other process may have ended, so do not wait for MPI, and keep the memory that it may still use.
template <class Buffer>
void abandon(MPI_Request& request, Buffer buffer) {
    int complete = 0;
    if (MPI_Test(&request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS || complete != 0) return;
    MPI_Request_free(&request);
    [[maybe_unused]] auto* const kept = new Buffer(std::move(buffer));
}

Message unpack(const std::vector<std::byte>& buffer) {
    Header header;
    std::memcpy(&header, buffer.data(), sizeof header);
    HostMatrix values(header.rows, header.columns);
    const auto bytes = static_cast<std::size_t>(values.bytes());
    if (bytes != 0) std::memcpy(values.data(), buffer.data() + sizeof header, bytes);
    return {Tensor(std::move(values)), TimeNs{header.sent},
            header.checked != 0 ? std::optional(header.digests) : std::nullopt};
}

} // namespace

MpiControlChannel::MpiControlChannel(MPI_Comm of) : comm_(of) {
    MPI_Irecv(&buffer_, kControlBytes, MPI_BYTE, MPI_ANY_SOURCE, kControlTag, comm_.get(), &request_);
}

MpiControlChannel::~MpiControlChannel() {
    if (request_ != MPI_REQUEST_NULL) {
        MPI_Cancel(&request_);
        MPI_Wait(&request_, MPI_STATUS_IGNORE); // returns immediately: small messages arrive completely
    }
    for (Send& send : sends_) {
        int complete = 0;
        if (MPI_Test(&send.request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
            MPI_Request_free(&send.request); // small, so MPI has already copied it
    }
}

void MpiControlChannel::send(Rank to, const ControlMessage& message) {
    sends_.remove_if([](Send& send) {
        int complete = 0;
        return MPI_Test(&send.request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS || complete != 0;
    });
    Send& send = sends_.emplace_back();
    send.message = message;
    MPI_Isend(&send.message, kControlBytes, MPI_BYTE, to.value, kControlTag, comm_.get(), &send.request);
}

std::optional<ControlChannel::Received> MpiControlChannel::receive() {
    if (request_ == MPI_REQUEST_NULL) return std::nullopt;
    int complete = 0;
    MPI_Status status;
    if (MPI_Test(&request_, &complete, &status) != MPI_SUCCESS || complete == 0) return std::nullopt;
    const Received received{Rank{status.MPI_SOURCE}, buffer_};
    MPI_Irecv(&buffer_, kControlBytes, MPI_BYTE, MPI_ANY_SOURCE, kControlTag, comm_.get(), &request_);
    return received;
}

MpiDataChannel::MpiDataChannel(MPI_Comm of, const TagPlan& tags) : comm_(of), tags_(tags) {}

MpiDataChannel::~MpiDataChannel() {
    for (auto& [label, incoming] : incoming_) {
        MPI_Cancel(&incoming.request);
        abandon(incoming.request, std::move(incoming.buffer));
    }
    for (std::list<MovingMail>* const mails : {&mail_in_, &mail_out_}) {
        for (MovingMail& mail : *mails)
            abandon(mail.request, std::move(mail.bytes));
    }
    for (Send& send : sends_)
        abandon(send.request, std::move(send.buffer));
}

MpiDataChannel::Buffer MpiDataChannel::freeBuffer(std::size_t bytes) {
    Buffer buffer;
    if (!free_.empty()) {
        buffer = std::move(free_.back());
        free_.pop_back();
    }
    buffer.resize(bytes);
    return buffer;
}

void MpiDataChannel::expect(std::span<const Expected> messages) {
    for (const Expected& message : messages)
        expected_.push_back(labelOf(message.from, message.key));
    postNext();
}

void MpiDataChannel::postNext() {
    constexpr std::size_t kPostedAhead = 4;
    while (!expected_.empty() && incoming_.size() < kPostedAhead) {
        const Label label = expected_.front();
        expected_.pop_front();
        const auto size = sizes_.find(label);
        if (size == sizes_.end() || incoming_.contains(label) || arrived_.contains(label)) continue;
        Incoming& incoming = incoming_[label];
        incoming.buffer = freeBuffer(size->second);
        check(MPI_Irecv(incoming.buffer.data(), byteCount(incoming.buffer.size()), MPI_BYTE, label.first, label.second,
                        comm_.get(), &incoming.request),
              "post a receive");
    }
}

void MpiDataChannel::send(Rank to, const MessageKey& key, Message message) {
    HostMatrix copy; // for tensors that are not on the host
    if (!message.tensor.onHost()) copy = message.tensor.toHost();
    const HostMatrix& values = message.tensor.onHost() ? message.tensor.host() : copy;
    const Header header{message.sent.count(), values.rows(), values.cols(), message.digests ? 1 : 0,
                        message.digests.value_or(MessageDigests{})};
    const auto bytes = static_cast<std::size_t>(values.bytes());
    const Label label = labelOf(to, key);
    Send& send = sends_.emplace_back();
    send.buffer = freeBuffer(sizeof header + bytes);
    std::memcpy(send.buffer.data(), &header, sizeof header);
    if (bytes != 0) std::memcpy(send.buffer.data() + sizeof header, values.data(), bytes);
    check(MPI_Isend(send.buffer.data(), byteCount(send.buffer.size()), MPI_BYTE, label.first, label.second, comm_.get(),
                    &send.request),
          "send");
}

void MpiDataChannel::progress() {
    for (auto send = sends_.begin(); send != sends_.end();) {
        int complete = 0;
        check(MPI_Test(&send->request, &complete, MPI_STATUS_IGNORE), "send");
        if (complete == 0) {
            ++send;
            continue;
        }
        free_.push_back(std::move(send->buffer));
        send = sends_.erase(send);
    }
    findUnexpected();
    for (auto incoming = incoming_.begin(); incoming != incoming_.end();) {
        int complete = 0;
        check(MPI_Test(&incoming->second.request, &complete, MPI_STATUS_IGNORE), "receive");
        if (complete == 0) {
            ++incoming;
            continue;
        }
        Buffer& buffer = incoming->second.buffer;
        sizes_[incoming->first] = buffer.size();
        arrived_.insert_or_assign(incoming->first, unpack(buffer));
        free_.push_back(std::move(buffer));
        incoming = incoming_.erase(incoming);
    }
    moveMail();
    postNext();
}

void MpiDataChannel::findUnexpected() {
    for (;;) {
        int found = 0;
        MPI_Message handle = MPI_MESSAGE_NULL;
        MPI_Status status;
        check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_.get(), &found, &handle, &status), "look for messages");
        if (found == 0) return;
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        if (status.MPI_TAG == static_cast<int>(tags_.mailTag())) {
            MovingMail& mail = mail_in_.emplace_back();
            mail.from = Rank{status.MPI_SOURCE};
            mail.bytes.resize(static_cast<std::size_t>(bytes));
            check(MPI_Imrecv(mail.bytes.data(), bytes, MPI_BYTE, &handle, &mail.request), "receive a message");
            continue;
        }
        Incoming& incoming = incoming_[{status.MPI_SOURCE, status.MPI_TAG}];
        incoming.buffer = freeBuffer(static_cast<std::size_t>(bytes));
        check(MPI_Imrecv(incoming.buffer.data(), bytes, MPI_BYTE, &handle, &incoming.request), "receive");
    }
}

void MpiDataChannel::post(Mail mail) {
    if (mail.bytes.size() > kLargestMail) throw std::length_error("a message exceeds the size limit");
    MovingMail& out = mail_out_.emplace_back();
    out.bytes = std::move(mail.bytes);
    out.bytes.append(reinterpret_cast<const char*>(mail.times.data()), sizeof mail.times);
    check(MPI_Isend(out.bytes.data(), byteCount(out.bytes.size()), MPI_BYTE, mail.peer.value,
                    static_cast<int>(tags_.mailTag()), comm_.get(), &out.request),
          "send a message");
}

void MpiDataChannel::moveMail() {
    const auto gone = [](MovingMail& mail, const char* tried) {
        int complete = 0;
        check(MPI_Test(&mail.request, &complete, MPI_STATUS_IGNORE), tried);
        return complete != 0;
    };
    mail_out_.remove_if([&](MovingMail& mail) { return gone(mail, "send a message"); });
    while (!mail_in_.empty() && gone(mail_in_.front(), "receive a message")) { // in order of arrival
        MovingMail& first = mail_in_.front();
        Mail mail{first.from, std::move(first.bytes), {}};
        if (mail.bytes.size() < sizeof mail.times) throw std::length_error("a message without times");
        const std::size_t bytes = mail.bytes.size() - sizeof mail.times;
        std::memcpy(mail.times.data(), mail.bytes.data() + bytes, sizeof mail.times);
        mail.bytes.resize(bytes);
        mail_here_.push_back(std::move(mail));
        mail_in_.pop_front();
    }
}

std::optional<Mail> MpiDataChannel::takeMail() {
    if (mail_here_.empty()) return std::nullopt;
    Mail mail = std::move(mail_here_.front());
    mail_here_.pop_front();
    return mail;
}

std::optional<TimeNs> MpiDataChannel::peek(Rank from, const MessageKey& key) const {
    const auto found = arrived_.find(labelOf(from, key));
    return found == arrived_.end() ? std::nullopt : std::optional(found->second.sent);
}

std::optional<DataChannel::Arrived> MpiDataChannel::take(Rank from, const MessageKey& key) {
    const Label label = labelOf(from, key);
    const auto found = arrived_.find(label);
    if (found == arrived_.end()) return std::nullopt;
    // A message that was probed before its receive was posted must not be expected again. It is near the front, because
    // messages arrive in the expected order.
    if (const auto place = std::ranges::find(expected_, label); place != expected_.end()) expected_.erase(place);
    Arrived arrived{std::move(found->second.tensor), found->second.sent, found->second.digests};
    arrived_.erase(found);
    return arrived;
}

} // namespace bubblescope::runtime
