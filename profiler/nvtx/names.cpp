#include "profiler/nvtx/names.h"

#include <algorithm>

namespace bubblescope::profiler::nvtx {

std::uint16_t Names::domain(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto known = std::find(domains_.begin(), domains_.end(), name);
    if (known != domains_.end()) return static_cast<std::uint16_t>(known - domains_.begin());
    if (domains_.size() >= kNoDomain) return kNoDomain;
    domains_.emplace_back(name);
    return static_cast<std::uint16_t>(domains_.size() - 1);
}

std::uint32_t Names::addText(std::string_view text) {
    const std::lock_guard lock(mutex_);
    texts_.emplace_back(text);
    return static_cast<std::uint32_t>(texts_.size());
}

void Names::nameCategory(std::uint16_t domain, std::uint32_t category, std::string_view name) {
    const std::lock_guard lock(mutex_);
    categories_[{domain, category}] = name;
}

void Names::nameThread(std::uint32_t tid, std::string_view name) {
    const std::lock_guard lock(mutex_);
    threads_[tid] = name;
    ++namings_;
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

std::vector<PayloadField> Names::decode(std::uint16_t domain, std::uint64_t schema, std::string_view bytes) const {
    const std::lock_guard lock(mutex_);
    return schemas_.decode(domain, schema, bytes);
}

} // namespace bubblescope::profiler::nvtx
