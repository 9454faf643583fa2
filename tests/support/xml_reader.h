#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::test {

struct XmlElement {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text; ///< text of this element, unescaped
    std::vector<XmlElement> children;

    /// Collects all elements with this name, including this element, in document order.
    void collect(std::string_view wanted, std::vector<const XmlElement*>& into) const {
        if (name == wanted) into.push_back(this);
        for (const XmlElement& child : children)
            child.collect(wanted, into);
    }
    [[nodiscard]] std::vector<const XmlElement*> all(std::string_view wanted) const {
        std::vector<const XmlElement*> found;
        collect(wanted, found);
        return found;
    }
    [[nodiscard]] double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }
};

/// Strict reader for the part of XML that drawings use: elements, attributes, text and the five named entities. Returns
/// nothing if the document is not well formed.
class XmlReader {
public:
    static std::optional<XmlElement> read(std::string_view document) {
        XmlReader reader(document);
        auto root = reader.element();
        reader.skipSpace();
        return root && reader.rest_.empty() ? root : std::nullopt;
    }

private:
    explicit XmlReader(std::string_view document) : rest_(document) {}

    bool take(std::string_view token) {
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    void skipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size())); }

    std::string name() {
        const auto end = rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
        const std::string found(rest_.substr(0, end));
        rest_.remove_prefix(found.size());
        return found;
    }

    /// Reads text up to `end`, but does not consume `end`.
    std::optional<std::string> text(char end) {
        std::string out;
        while (!rest_.empty() && rest_.front() != end) {
            const char c = rest_.front();
            if (c == '<' || (static_cast<unsigned char>(c) < 0x20 && c != '\n')) return std::nullopt;
            if (c == '&') {
                if (take("&amp;"))
                    out += '&';
                else if (take("&lt;"))
                    out += '<';
                else if (take("&gt;"))
                    out += '>';
                else if (take("&quot;"))
                    out += '"';
                else if (take("&apos;"))
                    out += '\'';
                else
                    return std::nullopt;
            } else {
                out += c;
                rest_.remove_prefix(1);
            }
        }
        return rest_.empty() ? std::nullopt : std::optional(out);
    }

    bool attributes(XmlElement& element) {
        for (skipSpace(); !rest_.empty() && rest_.front() != '>' && rest_.front() != '/'; skipSpace()) {
            const std::string key = name();
            if (key.empty() || !take("=\"")) return false;
            auto value = text('"');
            if (!value || !take("\"") || !element.attributes.emplace(key, *value).second) return false;
        }
        return true;
    }

    std::optional<XmlElement> element() {
        XmlElement element;
        if (!take("<") || (element.name = name()).empty() || !attributes(element)) return std::nullopt;
        if (take("/>")) return element;
        if (!take(">")) return std::nullopt;
        for (;;) {
            auto piece = text('<');
            if (!piece) return std::nullopt;
            element.text += *piece;
            if (take("</")) return name() == element.name && take(">") ? std::optional(element) : std::nullopt;
            auto child = this->element();
            if (!child) return std::nullopt;
            element.children.push_back(std::move(*child));
        }
    }

    std::string_view rest_;
};

} // namespace bubblescope::test
