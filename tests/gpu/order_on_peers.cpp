#include "tests/gpu/order_on_peers.h"

#include "core/schedule/schedule.h"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

using Piece = std::tuple<Payload, int, int>; // consumer's stage and micro-batch

Piece pieceOf(const Action& action) {
    return {payloadOf(action.kind), consumerOf(action).value, action.microbatch.value};
}

/// Where a transfer comes from and goes to.
std::pair<Rank, Rank> endsOf(const Schedule& order, Rank self, const Action& end) {
    const int step = payloadOf(end.kind) == Payload::Activation ? 1 : -1;
    const Stage other{end.stage.value + (isSend(end.kind) ? step : -step)};
    const Rank peer = locate(order.placement, order.pp, other).rank;
    return isSend(end.kind) ? std::pair(self, peer) : std::pair(peer, self);
}

class RankOfOrder {
public:
    explicit RankOfOrder(const OrderOnPeers& what) : what_(what), compute_(what.device.makeStream()) {
        std::set<std::int64_t> numbers;
        for (std::size_t rank = 0; rank < what.order.actions.size(); ++rank) {
            for (const Action& action : what.order.actions[rank]) {
                if (isTransfer(action.kind)) numbers.insert(numberOf(Rank{static_cast<int>(rank)}, action));
            }
        }
        std::size_t index = 0;
        for (const std::int64_t number : numbers) {
            auto comm = what.library.join(what.id_of(index++), what.self.value, what.order.order.pp, false);
            lines_[number] = {std::move(comm), what.device.makeStream(Accelerator::Priority::Urgent)};
        }
        memory_ = what.device.allocate(what.bytes);
    }
    ~RankOfOrder() {
        for (auto& [number, line] : lines_) {
            line.comm.reset();
            what_.device.destroy(line.stream);
        }
        for (Accelerator::Event event : events_)
            what_.device.destroy(event);
        what_.device.destroy(compute_);
        what_.device.release(memory_);
    }
    RankOfOrder(const RankOfOrder&) = delete;
    RankOfOrder& operator=(const RankOfOrder&) = delete;

    bool run() {
        for (auto& [number, line] : lines_) {
            if (!awaitReady(*line.comm)) return abandoned();
        }
        const auto& actions = what_.order.actions[what_.self.index()];
        for (std::size_t i = 0; i < actions.size();) {
            if (!isTransfer(actions[i].kind)) {
                perform(actions[i++]);
                continue;
            }
            std::size_t end = i;
            while (end + 1 < actions.size() && actions[end].grouped)
                ++end;
            if (!post({actions.data() + i, end + 1 - i})) return abandoned();
            i = end + 1;
        }
        std::vector<Accelerator::Event> last{mark(compute_)};
        for (const auto& [number, line] : lines_)
            last.push_back(mark(line.stream));
        for (const Accelerator::Event event : last) {
            if (!what_.await(event)) return abandoned();
        }
        return true;
    }

private:
    struct Line {
        std::unique_ptr<PeerComm> comm;
        Accelerator::Stream stream = nullptr;
    };

    [[nodiscard]] std::int64_t numberOf(Rank rank, const Action& end) const {
        const auto [from, to] = endsOf(what_.order.order, rank, end);
        return what_.communicators.of(payloadOf(end.kind), from, to, what_.order.order.pp);
    }

    bool awaitReady(PeerComm& comm) const {
        while (!comm.ready()) {
            if (what_.stops()) return false;
        }
        return true;
    }
    bool abandoned() {
        for (auto& [number, line] : lines_)
            line.comm->abort();
        return false;
    }

    Accelerator::Event mark(Accelerator::Stream stream) {
        events_.push_back(what_.device.makeEvent(false));
        what_.device.record(events_.back(), stream);
        return events_.back();
    }

    /// Sends and receives of one call. Also receives wait for all earlier ops, as in PyTorch.
    bool post(std::span<const Action> transfers) {
        for (const Action& end : transfers)
            what_.device.wait(lines_.at(numberOf(what_.self, end)).stream, mark(compute_));
        what_.library.beginGroup();
        for (const Action& end : transfers) {
            const auto [from, to] = endsOf(what_.order.order, what_.self, end);
            Line& line = lines_.at(numberOf(what_.self, end));
            if (isSend(end.kind))
                line.comm->send(memory_, what_.bytes, to.value, line.stream);
            else
                line.comm->receive(memory_, what_.bytes, from.value, line.stream);
        }
        what_.library.endGroup();
        for (const Action& end : transfers) {
            Line& line = lines_.at(numberOf(what_.self, end));
            if (!awaitReady(*line.comm)) return false;
            (isSend(end.kind) ? sends_ : receives_)[pieceOf(end)] = mark(line.stream);
        }
        return true;
    }

    void waitFor(const std::map<Piece, Accelerator::Event>& transfers, const Piece& piece) {
        const auto found = transfers.find(piece);
        if (found != transfers.end()) what_.device.wait(compute_, found->second);
    }

    void perform(const Action& action) {
        if (action.kind == ActionKind::Compute) {
            const Op& op = what_.order.order.ranks[what_.self.index()][static_cast<std::size_t>(action.op)];
            const Payload input = op.kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
            waitFor(receives_, {input, action.stage.value, action.microbatch.value});
        } else if (isSendWait(action.kind)) {
            waitFor(sends_, pieceOf(action));
        } else if (isReceiveWait(action.kind)) {
            waitFor(receives_, pieceOf(action));
        }
    }

    const OrderOnPeers& what_;
    Accelerator::Stream compute_;
    std::map<std::int64_t, Line> lines_;
    std::vector<Accelerator::Event> events_;
    std::map<Piece, Accelerator::Event> sends_;
    std::map<Piece, Accelerator::Event> receives_;
    void* memory_ = nullptr;
};

} // namespace

bool OrderOnPeers::run() {
    return RankOfOrder(*this).run();
}

} // namespace bubblescope::runtime::test
