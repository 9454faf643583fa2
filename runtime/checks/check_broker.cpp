#include "runtime/checks/check_broker.h"

#include <algorithm>
#include <chrono>

namespace bubblescope::runtime {

void LocalCheckBroker::ask(std::shared_ptr<Question> question) {
    const std::lock_guard lock(mutex_);
    open_.push_back(std::move(question));
}

std::shared_ptr<CheckBroker::Question> LocalCheckBroker::nextQuestion(Rank rank) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(open_, [&](const auto& question) {
        return std::ranges::find(question->excluded, rank) == question->excluded.end();
    });
    if (found == open_.end()) return nullptr;
    std::shared_ptr<Question> question = std::move(*found);
    open_.erase(found);
    return question;
}

void LocalCheckBroker::answer(const std::shared_ptr<Question>& question) {
    {
        const std::lock_guard lock(mutex_);
        answered_.push_back(question);
    }
    changed_.notify_all();
}

CheckBroker::Reply LocalCheckBroker::replyTo(const std::shared_ptr<Question>& question,
                                             const std::atomic<bool>& ended) {
    constexpr std::chrono::milliseconds kLook{20};
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto found = std::ranges::find(answered_, question);
        if (found != answered_.end()) {
            answered_.erase(found);
            return Reply::Answered;
        }
        if (ended.load(std::memory_order_relaxed)) return Reply::Never;
        changed_.wait_for(lock, kLook);
    }
}

bool LocalCheckBroker::hasRoom(Rank from) {
    constexpr std::ptrdiff_t kMax = 4;
    const std::lock_guard lock(mutex_);
    return std::ranges::count(offers_, from, &std::pair<Rank, ShippedLayer>::first) < kMax;
}

void LocalCheckBroker::offer(Rank from, ShippedLayer layer) {
    const std::lock_guard lock(mutex_);
    offers_.emplace_back(from, std::move(layer));
}

std::optional<std::pair<Rank, ShippedLayer>> LocalCheckBroker::takeOffer(Rank rank, TimeNs most) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(offers_, [&](const auto& one) { return one.first != rank && one.second.cost <= most; });
    if (found == offers_.end()) return std::nullopt;
    auto taken = std::move(*found);
    offers_.erase(found);
    return taken;
}

void LocalCheckBroker::returnResult(Rank from, RemoteResult result) {
    const std::lock_guard lock(mutex_);
    back_.emplace_back(from, std::move(result));
}

std::vector<CheckBroker::RemoteResult> LocalCheckBroker::takeResults(Rank rank) {
    const std::lock_guard lock(mutex_);
    std::vector<RemoteResult> own;
    for (auto& [from, result] : back_) {
        if (from == rank) own.push_back(std::move(result));
    }
    std::erase_if(back_, [&](const auto& one) { return one.first == rank; });
    return own;
}

} // namespace bubblescope::runtime
