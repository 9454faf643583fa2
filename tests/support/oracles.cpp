#include "tests/support/oracles.h"

#include "core/formats/source/packing.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <map>
#include <stdexcept>
#include <string_view>

namespace bubblescope::test {
namespace {

constexpr std::string_view kEnding = ".json.zst";

std::filesystem::path folder() {
    return dataDir() / "oracles";
}

/// All documents of a program, by name.
const Json& documentsOf(const std::string& program) {
    static std::map<std::string, Json> read;
    const auto [place, is_new] = read.try_emplace(program);
    if (!is_new) return place->second;
    const std::filesystem::path file = folder() / (program + std::string(kEnding));
    const std::string packed = readAll(file);
    JobControl control;
    LoadProgress progress(control, 1);
    const Result<Unpacked> unpacked = unpack(packed, Packing::Zstd, file.string(), progress);
    if (!unpacked.ok() || !unpacked.value().fault.empty()) throw std::runtime_error(file.string() + " is damaged");
    place->second = Json::parse(unpacked.value().bytes.text());
    return place->second;
}

} // namespace

const Json& oracleDocument(const std::string& file) {
    const std::size_t slash = file.find('/');
    return documentsOf(file.substr(0, slash)).at(file.substr(slash + 1));
}

std::vector<std::string> oracleFiles() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(kEnding)) continue;
        const std::string program = name.substr(0, name.size() - kEnding.size());
        for (const auto& [file, document] : documentsOf(program).items())
            files.push_back(program + "/" + file);
    }
    return files;
}

} // namespace bubblescope::test
