#pragma once

#include "core/base/parallel.h"
#include "core/trace/args.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bubblescope {

/// Keeps the args of events whose text is not kept, as that of a packed file, compressed in blocks of some tens of
/// kilobytes on other threads, so that one can be read again without the others. One thread at a time.
class ArgPacker {
public:
    ArgPacker();
    ~ArgPacker();
    ArgPacker(const ArgPacker&) = delete;
    ArgPacker& operator=(const ArgPacker&) = delete;

    /// Keeps a JSON object, or an event of another format, and returns the offset under which a reader finds it.
    [[nodiscard]] std::uint64_t add(std::string_view bytes);
    /// After the last one.
    void finish();
    /// Of JSON objects. It may be used once finish() was called.
    [[nodiscard]] std::shared_ptr<const ArgReader> reader() const;
    /// Of what `format` reads, likewise.
    [[nodiscard]] std::shared_ptr<const ArgReader> readerWith(std::shared_ptr<const ArgReader> format) const;

private:
    class Blocks;
    class JsonReader;
    class FormatReader;

    void endBlock();
    void takeBlock();

    std::shared_ptr<Blocks> blocks_;
    std::uint64_t begun_ = 0; ///< blocks before the one that is being filled
    std::string block_;
    OrderedTasks<std::string> packed_;
};

} // namespace bubblescope
