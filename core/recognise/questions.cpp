#include "core/recognise/questions.h"

#include <map>

namespace bubblescope {

Result<CategoriesOf::Answer> CategoriesOf::answer(TraceShare& share) const {
    std::map<StringId, std::size_t> counts;
    for (const StringId category : share.trace().sliceCategories())
        ++counts[category];
    Answer answer;
    for (const auto& [category, count] : counts)
        answer.emplace_back(share.trace().text(category), count);
    return answer;
}

} // namespace bubblescope
