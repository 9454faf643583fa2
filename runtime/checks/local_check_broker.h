#pragma once

#include "runtime/checks/check_broker.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace bubblescope::runtime {

/// A broker shared by ranks that are threads of one process. Thread-safe.
class LocalCheckBroker final : public CheckBroker {
public:
    /// `ranks`: number of ranks in this process.
    explicit LocalCheckBroker(std::size_t ranks) : ranks_(ranks) {}

    [[nodiscard]] bool hasOthers(std::size_t besides) const override { return ranks_ > besides; }
    void ask(std::shared_ptr<Question> question) override;
    [[nodiscard]] std::shared_ptr<Question> nextQuestion(Rank rank) override;
    void answer(const std::shared_ptr<Question>& question) override;
    /// Waits for the reply.
    [[nodiscard]] Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) override;
    [[nodiscard]] bool hasRoom(Rank from) override;
    void offer(Rank from, ShippedLayer layer) override;
    [[nodiscard]] std::optional<std::pair<Rank, ShippedLayer>> takeOffer(Rank rank, TimeNs most) override;
    void returnResult(Rank from, RemoteResult result) override;
    [[nodiscard]] std::vector<RemoteResult> takeResults(Rank rank) override;

private:
    const std::size_t ranks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Question>> open_;
    std::vector<std::shared_ptr<Question>> answered_;
    std::deque<std::pair<Rank, ShippedLayer>> offers_;
    std::vector<std::pair<Rank, RemoteResult>> back_;
};

} // namespace bubblescope::runtime
