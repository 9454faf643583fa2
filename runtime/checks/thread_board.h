#pragma once

#include "runtime/checks/check_board.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace bubblescope::runtime {

/// The board of ranks that are threads of one process, all of which use the same one. Thread-safe.
class ThreadBoard final : public CheckBoard {
public:
    /// `ranks` of the run that are here.
    explicit ThreadBoard(std::size_t ranks) : ranks_(ranks) {}

    [[nodiscard]] bool hasOthers(std::size_t besides) const override { return ranks_ > besides; }
    void ask(std::shared_ptr<Question> question) override;
    [[nodiscard]] std::shared_ptr<Question> next(Rank rank) override;
    void answered(const std::shared_ptr<Question>& question) override;
    /// Waits.
    [[nodiscard]] Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) override;
    [[nodiscard]] bool hasRoom(Rank from) override;
    void offer(Rank from, ShippedLayer layer) override;
    [[nodiscard]] std::optional<std::pair<Rank, ShippedLayer>> take(Rank rank, TimeNs most) override;
    void bringBack(Rank from, Elsewhere result) override;
    [[nodiscard]] std::vector<Elsewhere> collect(Rank rank) override;

private:
    const std::size_t ranks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Question>> open_;
    std::vector<std::shared_ptr<Question>> answered_;
    std::deque<std::pair<Rank, ShippedLayer>> offers_;
    std::vector<std::pair<Rank, Elsewhere>> back_;
};

} // namespace bubblescope::runtime
