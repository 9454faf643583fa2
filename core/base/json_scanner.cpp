#include "core/base/json_scanner.h"

#include <cstring>

namespace bubblescope {
namespace {

constexpr std::size_t kCutOff = std::string_view::npos;

bool isSpace(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

} // namespace

char JsonScanner::peek() {
    while (offset_ < text_.size() && isSpace(text_[offset_]))
        ++offset_;
    return offset_ < text_.size() ? text_[offset_] : '\0';
}

bool JsonScanner::atEnd() {
    (void)peek();
    return offset_ >= text_.size();
}

bool JsonScanner::accept(char wanted) {
    if (peek() != wanted || offset_ >= text_.size()) return false;
    ++offset_;
    return true;
}

std::optional<std::string_view> JsonScanner::value() {
    const char first = peek();
    const std::size_t begin = offset_;
    std::size_t end = kCutOff;
    if (first == '"')
        end = endOfString(begin);
    else if (first == '{' || first == '[')
        end = endOfNested(begin);
    else
        end = endOfScalar(begin);
    if (end == kCutOff || end == begin) return std::nullopt;
    offset_ = end;
    return text_.substr(begin, end - begin);
}

std::size_t JsonScanner::endOfString(std::size_t begin) const {
    std::size_t at = begin + 1;
    while (at < text_.size()) {
        const void* const quote = std::memchr(text_.data() + at, '"', text_.size() - at);
        if (quote == nullptr) return kCutOff;
        const auto found = static_cast<std::size_t>(static_cast<const char*>(quote) - text_.data());
        std::size_t backslashes = 0;
        while (found - backslashes > begin + 1 && text_[found - backslashes - 1] == '\\')
            ++backslashes;
        if (backslashes % 2 == 0) return found + 1;
        at = found + 1;
    }
    return kCutOff;
}

std::size_t JsonScanner::endOfNested(std::size_t begin) const {
    // A closing bracket without an opening one means that an earlier bracket is missing.
    std::ptrdiff_t braces = 0;
    std::ptrdiff_t brackets = 0;
    constexpr std::size_t kBetweenChecks = std::size_t{4} << 20; // scanned within a few milliseconds
    std::size_t at = begin;
    std::size_t check = begin + kBetweenChecks;
    while (at < text_.size()) {
        if (at >= check) {
            if (control_ != nullptr && control_->stopRequested()) return kCutOff;
            check = at + kBetweenChecks;
        }
        switch (text_[at]) {
        case '"':
            at = endOfString(at);
            if (at == kCutOff) return kCutOff;
            continue;
        case '{': ++braces; break;
        case '[': ++brackets; break;
        case '}': --braces; break;
        case ']': --brackets; break;
        default: ++at; continue;
        }
        ++at;
        if (braces < 0 || brackets < 0) return kCutOff;
        if (braces == 0 && brackets == 0) return at;
    }
    return kCutOff;
}

// A number at the very end of the text may be truncated, so a scalar is complete only if another character follows.
std::size_t JsonScanner::endOfScalar(std::size_t begin) const {
    std::size_t at = begin;
    while (at < text_.size() && !isSpace(text_[at]) && std::strchr(",:]}[{\"", text_[at]) == nullptr)
        ++at;
    return at == text_.size() ? kCutOff : at;
}

} // namespace bubblescope
