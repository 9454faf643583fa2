#pragma once

#include "core/formats/perfetto/number_table.h"
#include "core/trace/args.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bubblescope::perfetto {

/// Names and string values of args, which a packet sequence references by number.
class ArgTexts {
public:
    void setName(std::uint64_t iid, std::string_view text);
    void setText(std::uint64_t iid, std::string_view text) { texts_.set(iid, std::string(text)); }

    /// Empty for an unknown number.
    [[nodiscard]] std::string_view name(std::uint64_t iid) const { return names_.find(iid); }
    [[nodiscard]] std::string_view text(std::uint64_t iid) const { return texts_.find(iid); }
    /// Bit mask of the numbers below 64 that refer to names of args.
    [[nodiscard]] std::uint64_t knownNames() const { return known_names_; }

private:
    NumberTable<std::string> names_;
    NumberTable<std::string> texts_;
    std::uint64_t known_names_ = 0;
};

/// Reads DebugAnnotations as args. Lists and dictionaries become JSON text, like nested args of JSON files.
class AnnotationReader {
public:
    explicit AnnotationReader(const ArgTexts& texts) : texts_(texts) {}

    /// The strings in the result are valid until the next call, provided that the message and `texts` still exist.
    /// Throws protozero::exception on malformed input.
    [[nodiscard]] ArgView read(std::string_view message);
    /// True if the last annotation referenced a string that the file does not contain.
    [[nodiscard]] bool lost() const { return lost_; }

private:
    [[nodiscard]] std::string_view known(std::string_view text);
    [[nodiscard]] bool full() const { return json_.size() >= longest_; }
    void addText(std::string_view text);
    void addJson(std::string_view message, int depth);
    void addEntries(std::string_view message, int depth, bool dictionary);
    void addValue(std::string_view message);
    [[nodiscard]] std::string_view nameOf(std::string_view message);

    const ArgTexts& texts_;
    bool lost_ = false;
    std::string json_;
    std::size_t longest_ = 0; ///< approximate maximum length
};

/// Finds args that were left in the trace file, by the offset of their event's packet.
class EventArgs : public ArgReader {
public:
    explicit EventArgs(std::shared_ptr<const ArgTexts> texts) : texts_(std::move(texts)) {}

    void visit(std::string_view text, std::uint64_t offset, const ArgVisit& visit) const override;

private:
    std::shared_ptr<const ArgTexts> texts_;
};

} // namespace bubblescope::perfetto
