#include "core/trace/string_pool.h"

namespace bubblescope {

StringPool::StringPool() {
    texts_.emplace_back();
    ids_.emplace(texts_.front(), 0);
}

StringId StringPool::intern(std::string_view text) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const auto id = static_cast<StringId>(texts_.size());
    const std::string& stored = texts_.emplace_back(text);
    ids_.emplace(stored, id);
    return id;
}

StringId StringPool::find(std::string_view text) const {
    const auto known = ids_.find(text);
    return known == ids_.end() ? 0 : known->second;
}

} // namespace bubblescope
