#pragma once

#include "core/formats/source/unpack.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// Packs bytes as they come. One thread at a time.
class Packer {
public:
    virtual ~Packer() = default;

    /// Appends to `out` what is packed so far. False if packing failed, for want of memory.
    [[nodiscard]] virtual bool add(std::string_view bytes, std::string& out) = 0;
    /// Appends the rest. Nothing may be added afterwards.
    [[nodiscard]] virtual bool finish(std::string& out) = 0;
};

/// What the ending of a file's name asks for: .gz or .zst.
[[nodiscard]] std::optional<Packing> packingAskedFor(const std::filesystem::path& file);

[[nodiscard]] std::unique_ptr<Packer> makePacker(Packing packing);

} // namespace bubblescope
