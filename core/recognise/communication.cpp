#include "core/recognise/communication.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace bubblescope {
namespace {

/// Kernels of one library that move data between ranks, identified by their names.
struct CommunicationFamily {
    std::string_view library; ///< "NCCL", "DeepEP"
    /// Part of the name, in lower case and without '_', '-' or spaces. With `word`, the match must be at the start of a
    /// word.
    std::string_view part;
    bool word = false;
    /// Names that contain one of these parts (separated by spaces) do not match.
    std::string_view unless = {};
    WorkKind kind = WorkKind::Collective;
};

// Kernels that both multiply and communicate count as compute, because multiplication takes most of their time.
constexpr std::string_view kFused = "gemm matmul";
// Inductor names its kernels after the operators around them; FSDP packs before an all-gather and unpacks after it.
constexpr std::string_view kLookalikes =
    "gemm matmul tritonpoi tritonred tritonper tritontem copyin copyout splitwithsizes";

// Sources: the libraries' own code. NCCL and RCCL (ncclDevKernel_…, ncclKernel_…), MSCCL and MSCCL++ (mscclKernel_…,
// mscclpp::), oneCCL, HCCL (hcom_…), CNCL, BKCL, MCCL, FlagCX; NVSHMEM, rocSHMEM and Intel SHMEM; DeepEP, pplx-kernels;
// PyTorch's symmetric memory; Transformer Engine's user buffers; the all-reduces of vLLM, SGLang, AITER
// (cross_device…), TensorRT-LLM and FlashInfer (…allreduce…); XLA's instructions (all-reduce.1, collective-permute,
// send, recv).
constexpr WorkKind kPair = WorkKind::PointToPoint;
constexpr std::array<CommunicationFamily, 32> kFamilies{{
    {"NCCL", "nccl"},
    {"RCCL", "rccl"},
    {"MSCCL", "msccl"},
    {"oneCCL", "oneccl"},
    {"oneCCL", "ccl", true, "cccl"},
    {"HCCL", "hcom", true},
    {"HCCL", "hccl"},
    {"CNCL", "cncl", true},
    {"BKCL", "bkcl", true},
    {"MCCL", "mccl", true},
    {"XCCL", "xccl", true},
    {"FlagCX", "flagcx"},
    {"NVSHMEM", "nvshmem"},
    {"rocSHMEM", "rocshmem"},
    {"Intel SHMEM", "ishmem"},
    {"DeepEP", "deepep", false, "layout"},
    {"pplx-kernels", "pplx", true},
    {"symmetric memory", "symmetricmemory", false, kFused},
    {"symmetric memory", "symmmem", true, kFused},
    {"symmetric memory", "multimem", true, kFused},
    {"Transformer Engine", "userbuffers"},
    {"custom all-reduce", "crossdevice", false, kLookalikes},
    {"custom all-reduce", "quickreduce", false, kLookalikes},
    {"", "allreduce", false, kLookalikes},
    {"", "allgather", false, kLookalikes},
    {"", "reducescatter", false, kLookalikes},
    {"", "alltoall", false, kLookalikes},
    {"", "all2all", false, kLookalikes},
    {"", "collectivepermute", false, kLookalikes, kPair},
    {"", "collectivebroadcast", false, kLookalikes},
    {"", "batchsendrecv", false, kLookalikes, kPair},
    {"", "sendrecv", true, kLookalikes, kPair},
}};

/// Calls, by parts of the kernels' names; the first match counts. A combined send and receive may also be an
/// all-to-all.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kCalls{{{"allreduce", "allreduce"},
                                                                                {"crossdevicereduce", "allreduce"},
                                                                                {"allgather", "allgather"},
                                                                                {"reducescatter", "reducescatter"},
                                                                                {"alltoall", "alltoall"},
                                                                                {"all2all", "alltoall"},
                                                                                {"broadcast", "broadcast"},
                                                                                {"sendrecv", "sendrecv"},
                                                                                {"collectivepermute", "sendrecv"},
                                                                                {"dispatch", "dispatch"},
                                                                                {"combine", "combine"},
                                                                                {"barrier", "barrier"},
                                                                                {"receive", "recv"},
                                                                                {"recv", "recv"},
                                                                                {"send", "send"}}};

/// A name's letters and digits in lower case, and where words begin among them.
struct Letters {
    std::string text;
    std::string begins; ///< one entry per letter: 'b' where a word begins

    explicit Letters(std::string_view name) {
        text.reserve(name.size());
        begins.reserve(name.size());
        bool before = false; // true if the previous character is a letter
        bool lower = false;  // a lower-case one
        for (const char each : name) {
            const auto c = static_cast<unsigned char>(each);
            if (each == '(') break; // parameters do not reveal the purpose of a function
            if (each == '_' || each == '-' || each == ' ') {
                before = lower = false;
                continue;
            }
            const bool upper = std::isupper(c) != 0;
            begins.push_back(!before || (upper && lower) ? 'b' : ' ');
            text.push_back(static_cast<char>(std::tolower(c)));
            before = std::isalpha(c) != 0;
            lower = std::islower(c) != 0;
        }
    }

    [[nodiscard]] bool has(std::string_view part, bool word) const {
        for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
            if (!word || begins[at] == 'b') return true;
        }
        return false;
    }
    [[nodiscard]] bool hasAny(std::string_view parts) const {
        while (!parts.empty()) {
            const std::size_t end = std::min(parts.find(' '), parts.size());
            if (has(parts.substr(0, end), false)) return true;
            parts.remove_prefix(std::min(end + 1, parts.size()));
        }
        return false;
    }
};

/// XLA's "send", "recv-done.3": must match whole names.
bool isXlaTransfer(std::string_view name) {
    for (const std::string_view word : {"send", "recv"}) {
        if (!name.starts_with(word)) continue;
        std::string_view rest = name.substr(word.size());
        if (rest.starts_with("-done")) rest.remove_prefix(5);
        const bool numbered =
            rest.starts_with('.') && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
        if (rest.empty() || numbered) return true;
    }
    return false;
}

} // namespace

std::string_view workKindName(WorkKind kind) {
    switch (kind) {
    case WorkKind::Compute: return "compute";
    case WorkKind::Copy: return "memory";
    case WorkKind::Collective: return "collective";
    case WorkKind::PointToPoint: return "point-to-point";
    }
    return "";
}

std::optional<CommunicationKernel> communicationKernel(std::string_view name) {
    // "void (anonymous namespace)::kernel<…>(…)": these parentheses do not contain parameters.
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    if (const std::size_t at = name.find(kAnonymous); at != std::string_view::npos) {
        std::string without(name);
        return communicationKernel(without.erase(at, kAnonymous.size()));
    }
    if (isXlaTransfer(name)) return CommunicationKernel{"XLA", kPair, name.starts_with("send") ? "send" : "recv"};
    const Letters letters(name);
    const auto family = std::ranges::find_if(kFamilies, [&](const CommunicationFamily& each) {
        return letters.has(each.part, each.word) && !letters.hasAny(each.unless);
    });
    if (family == kFamilies.end()) return std::nullopt;
    CommunicationKernel found{family->library, family->kind, {}};
    const auto call = std::ranges::find_if(kCalls, [&](const auto& each) { return letters.has(each.first, false); });
    if (call != kCalls.end()) found.call = call->second;
    const bool pair = found.call == "sendrecv" || found.call == "send" || found.call == "recv";
    if (pair) found.kind = kPair;
    return found;
}

std::string_view withoutCallNumber(std::string_view name) {
    constexpr std::string_view kHccl = "hcom_";
    if (!name.starts_with(kHccl)) return name;
    const std::size_t end = name.find("__");
    return end == std::string_view::npos || end <= kHccl.size() ? name : name.substr(0, end);
}

bool isCopyName(std::string_view name) {
    const Letters letters(name);
    return letters.text.starts_with("memcpy") || letters.text.starts_with("memset");
}

} // namespace bubblescope
