#include "core/base/utf8.h"

namespace bubblescope {
namespace {

/// Bytes of the character that begins at `text`, 0 if none does. Surrogates, overlong forms and what is beyond U+10FFFF
/// are none (RFC 3629, section 4).
std::size_t characterAt(const unsigned char* text, std::size_t size) {
    const unsigned first = text[0];
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || length > size) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((text[i] & 0xC0U) != 0x80) return 0;
    }
    const unsigned second = text[1];
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
    return overlong || beyond ? 0 : length;
}

} // namespace

std::size_t mendUtf8(char* text, std::size_t size) {
    std::size_t mended = 0;
    for (std::size_t at = 0; at < size;) {
        const std::size_t length = characterAt(reinterpret_cast<const unsigned char*>(text) + at, size - at);
        if (length == 0) {
            text[at] = '?';
            ++mended;
        }
        at += length == 0 ? 1 : length;
    }
    return mended;
}

} // namespace bubblescope
