#include "runtime/checks/npy.h"

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <system_error>

namespace bubblescope::runtime {

bool writeNpy(const std::filesystem::path& path, std::span<const float> values) {
    // The magic string, a version, the length of the header in two bytes, and the header; in total a multiple of 64
    // bytes.
    constexpr std::size_t kBefore = 10;
    constexpr std::size_t kAligned = 64;
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", values.size());
    header.append(kAligned - (kBefore + header.size() + 1) % kAligned, ' ');
    header += '\n';
    std::string begin("\x93NUMPY\x01\x00", 8);
    begin += static_cast<char>(header.size() & 0xFFU);
    begin += static_cast<char>(header.size() >> 8U);
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    std::ofstream file(path, std::ios::binary);
    file << begin << header;
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    return file.good();
}

} // namespace bubblescope::runtime
