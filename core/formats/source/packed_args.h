#pragma once

#include "core/base/parallel.h"
#include "core/trace/args.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bubblescope {

/// Stores the args of events whose text is not kept, such as events of a compressed file. Compresses the args on other
/// threads in blocks of tens of kilobytes, so that one block can be read without the others. Not thread-safe.
class ArgPacker {
public:
    ArgPacker();
    ~ArgPacker();
    ArgPacker(const ArgPacker&) = delete;
    ArgPacker& operator=(const ArgPacker&) = delete;

    /// Stores a JSON object, or an event of another format, and returns its offset for readers.
    [[nodiscard]] std::uint64_t add(std::string_view bytes);
    /// Call this function after the last add().
    void finish();
    /// A reader of JSON objects. Call this function after finish().
    [[nodiscard]] std::shared_ptr<const ArgReader> reader() const;
    /// A reader that passes the stored events to `format`. Call this function after finish().
    [[nodiscard]] std::shared_ptr<const ArgReader> readerWith(std::shared_ptr<const ArgReader> format) const;

private:
    class Blocks;
    class JsonReader;
    class FormatReader;

    void endBlock();
    void takeBlock();

    std::shared_ptr<Blocks> blocks_;
    std::uint64_t begun_ = 0; ///< number of blocks before the one that is being filled
    std::string block_;
    OrderedTasks<std::string> packed_;
};

} // namespace bubblescope
