#include "profiler/nvtx/names.h"

#include <algorithm>
#include <cstring>

namespace bubblescope::profiler::nvtx {
namespace {

/// The prefix of a name in the log.
struct Head {
    std::uint8_t kind = 0;
    std::uint8_t size = 0;
    std::uint16_t domain = 0;
    std::uint32_t number = 0;
};
static_assert(Names::kMaxLetters <= UINT8_MAX);

std::string_view bounded(std::string_view name) {
    return name.substr(0, Names::kMaxLetters);
}

} // namespace

std::uint16_t Names::domain(std::string_view name) {
    const std::lock_guard lock(mutex_);
    name = bounded(name); // truncated before it is logged, so that replaying the log gives the same domains
    const auto known = domain_numbers_.find(name);
    if (known != domain_numbers_.end()) return known->second;
    if (domains_.size() >= std::min<std::size_t>(kNoDomain, kMaxNames)) return kNoDomain;
    const auto number = static_cast<std::uint16_t>(domains_.size());
    domains_.emplace_back(name);
    domain_numbers_.emplace(name, number);
    share(Kind::Domain, 0, 0, name);
    return number;
}

std::uint32_t Names::addText(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (texts_.size() < kMaxNames) {
        texts_.emplace_back(texts_.size() + 1 == kMaxNames ? "(too many registered texts)" : bounded(text));
        share(Kind::Text, 0, 0, texts_.back());
    }
    return static_cast<std::uint32_t>(texts_.size());
}

void Names::nameCategory(std::uint16_t domain, std::uint32_t category, std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (categories_.size() >= kMaxNames && !categories_.contains({domain, category})) return;
    categories_[{domain, category}] = bounded(name);
    share(Kind::Category, domain, category, name);
}

void Names::nameThread(std::uint32_t tid, std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (threads_.size() >= kMaxNames && !threads_.contains(tid)) threads_.erase(threads_.begin());
    threads_[tid] = bounded(name);
    ++namings_;
    share(Kind::Thread, 0, tid, name);
}

std::uint64_t Names::addSchema(std::uint16_t domain, const abi::SchemaAttributes& schema) {
    const std::lock_guard lock(mutex_);
    return schemas_.add(domain, schema);
}

std::uint64_t Names::addEnum(std::uint16_t domain, const abi::EnumAttributes& values) {
    const std::lock_guard lock(mutex_);
    return schemas_.add(domain, values);
}

std::string Names::domainName(std::uint16_t domain) const {
    const std::lock_guard lock(mutex_);
    return domain < domains_.size() ? domains_[domain] : std::string{};
}

std::string Names::text(std::uint32_t handle) const {
    const std::lock_guard lock(mutex_);
    return handle != 0 && handle <= texts_.size() ? texts_[handle - 1] : std::string{};
}

std::string Names::category(std::uint16_t domain, std::uint32_t category) const {
    const std::lock_guard lock(mutex_);
    const auto known = categories_.find({domain, category});
    return known == categories_.end() ? std::string{} : known->second;
}

std::uint64_t Names::threadNamings() const {
    const std::lock_guard lock(mutex_);
    return namings_;
}

std::optional<std::string> Names::threadName(std::uint32_t tid) const {
    const std::lock_guard lock(mutex_);
    const auto known = threads_.find(tid);
    return known == threads_.end() ? std::nullopt : std::optional(known->second);
}

void Names::share(Kind kind, std::uint16_t domain, std::uint32_t number, std::string_view name) {
    if (logged_ == nullptr) return;
    name = bounded(name);
    const std::uint64_t at = logged_->load(std::memory_order_relaxed);
    if (at + sizeof(Head) + name.size() > log_.size())
        return void(logged_ = nullptr); // texts are numbered in order, so none may be missing
    const Head head{static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(name.size()), domain, number};
    std::memcpy(log_.data() + at, &head, sizeof head);
    if (!name.empty()) std::memcpy(log_.data() + at + sizeof head, name.data(), name.size());
    logged_->store(at + sizeof head + name.size(), std::memory_order_release);
}

void Names::shareIn(std::span<char> log, std::atomic<std::uint64_t>& used) {
    const std::lock_guard lock(mutex_);
    log_ = log;
    logged_ = &used;
    constexpr std::size_t kKnownDomains = 2;
    for (std::size_t domain = kKnownDomains; domain < domains_.size(); ++domain)
        share(Kind::Domain, 0, 0, domains_[domain]);
    for (const std::string& text : texts_)
        share(Kind::Text, 0, 0, text);
    for (const auto& [key, name] : categories_)
        share(Kind::Category, key.first, key.second, name);
    for (const auto& [tid, name] : threads_)
        share(Kind::Thread, 0, tid, name);
}

void Names::replay(std::string_view log) {
    Head head;
    while (log.size() >= sizeof head) {
        std::memcpy(&head, log.data(), sizeof head);
        log.remove_prefix(sizeof head);
        if (log.size() < head.size) return;
        const std::string_view name = log.substr(0, head.size);
        log.remove_prefix(head.size);
        switch (static_cast<Kind>(head.kind)) {
        case Kind::Domain: static_cast<void>(domain(name)); break;
        case Kind::Text: static_cast<void>(addText(name)); break;
        case Kind::Category: nameCategory(head.domain, head.number, name); break;
        case Kind::Thread: nameThread(head.number, name); break;
        }
    }
}

std::vector<PayloadField> Names::decode(std::uint16_t domain, std::uint64_t schema, std::string_view bytes) const {
    const std::lock_guard lock(mutex_);
    return schemas_.decode(domain, schema, bytes);
}

} // namespace bubblescope::profiler::nvtx
