#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {
namespace {

/// A program or library of this machine, as far as its hardening can be read from it.
class Binary {
public:
    explicit Binary(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        bytes_.resize(static_cast<std::size_t>(std::filesystem::file_size(path)));
        file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
        EXPECT_TRUE(bytes_.starts_with(ELFMAG)) << path;
        EXPECT_EQ(bytes_.at(EI_CLASS), ELFCLASS64) << path;
        header_ = at<Elf64_Ehdr>(0);
    }

    [[nodiscard]] std::optional<Elf64_Phdr> segment(Elf64_Word type) const {
        for (Elf64_Half i = 0; i < header_.e_phnum; ++i) {
            const auto found = at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
            if (found.p_type == type) return found;
        }
        return std::nullopt;
    }

    [[nodiscard]] Elf64_Xword dynamicValue(Elf64_Sxword tag) const {
        const auto dynamic = segment(PT_DYNAMIC);
        for (std::size_t i = 0; dynamic && i < dynamic->p_filesz / sizeof(Elf64_Dyn); ++i) {
            const auto entry = at<Elf64_Dyn>(dynamic->p_offset + i * sizeof(Elf64_Dyn));
            if (entry.d_tag == tag) return entry.d_un.d_val;
        }
        return 0;
    }

    [[nodiscard]] bool movable() const {
        const bool is_program = segment(PT_INTERP).has_value();
        return header_.e_type == ET_DYN && (!is_program || (dynamicValue(DT_FLAGS_1) & DF_1_PIE) != 0);
    }

    /// Names of functions that others provide, and of those that this provides.
    [[nodiscard]] std::vector<std::string> imported() const { return symbols(SHT_DYNSYM, true); }

    /// The first bytes of the functions that this provides or, for a program, of those of its symbol table.
    [[nodiscard]] std::vector<std::string_view> beginnings() const {
        std::vector<std::string_view> found;
        for (const Elf64_Word table : {SHT_DYNSYM, SHT_SYMTAB}) {
            forEachSymbol(table, [&](const Elf64_Sym& symbol, std::string_view) {
                if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL) return;
                if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= header_.e_shnum) return;
                const Elf64_Shdr code = section(symbol.st_shndx);
                if ((code.sh_flags & SHF_EXECINSTR) == 0) return;
                found.push_back(std::string_view(bytes_).substr(symbol.st_value - code.sh_addr + code.sh_offset, 4));
            });
        }
        return found;
    }

private:
    template <class Part>
    [[nodiscard]] Part at(std::size_t offset) const {
        Part part{};
        if (offset + sizeof part <= bytes_.size()) std::memcpy(&part, bytes_.data() + offset, sizeof part);
        return part;
    }
    [[nodiscard]] Elf64_Shdr section(std::size_t number) const {
        return at<Elf64_Shdr>(header_.e_shoff + number * sizeof(Elf64_Shdr));
    }
    template <class Take>
    void forEachSymbol(Elf64_Word type, Take take) const {
        for (Elf64_Half i = 0; i < header_.e_shnum; ++i) {
            const Elf64_Shdr table = section(i);
            if (table.sh_type != type) continue;
            const Elf64_Shdr names = section(table.sh_link);
            for (std::size_t s = 0; s < table.sh_size / sizeof(Elf64_Sym); ++s) {
                const auto symbol = at<Elf64_Sym>(table.sh_offset + s * sizeof(Elf64_Sym));
                take(symbol, std::string_view(bytes_.data() + names.sh_offset + symbol.st_name));
            }
        }
    }
    [[nodiscard]] std::vector<std::string> symbols(Elf64_Word type, bool undefined) const {
        std::vector<std::string> found;
        forEachSymbol(type, [&](const Elf64_Sym& symbol, std::string_view name) {
            if ((symbol.st_shndx == SHN_UNDEF) == undefined && !name.empty()) found.emplace_back(name);
        });
        return found;
    }

    std::string bytes_;
    Elf64_Ehdr header_{};
};

class Shipped : public testing::TestWithParam<std::string> {};

std::vector<std::string> shipped() {
    std::vector<std::string> files;
    std::string_view rest = BUBBLESCOPE_SHIPPED;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        files.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return files;
}

TEST_P(Shipped, CannotBeChangedOnceItIsLoaded) {
    const Binary binary(GetParam());
    EXPECT_TRUE(binary.movable()) << "no position-independent program (-pie)";
    EXPECT_TRUE(binary.segment(PT_GNU_RELRO)) << "tables of addresses stay writable (-z relro)";
    const bool at_once =
        (binary.dynamicValue(DT_FLAGS) & DF_BIND_NOW) != 0 || (binary.dynamicValue(DT_FLAGS_1) & DF_1_NOW) != 0;
    EXPECT_TRUE(at_once) << "functions are looked up when they are called (-z now)";
    const auto stack = binary.segment(PT_GNU_STACK);
    ASSERT_TRUE(stack);
    EXPECT_EQ(stack->p_flags & PF_X, 0U) << "the stack can be executed";
}

TEST_P(Shipped, IsCompiledWithProtection) {
#ifndef BUBBLESCOPE_IS_HARDENED
    GTEST_SKIP() << "built without BUBBLESCOPE_HARDENED, as the presets dev, asan, tsan and fuzz are";
#else
    const Binary binary(GetParam());
    const std::vector<std::string> imported = binary.imported();
    EXPECT_THAT(imported, testing::Contains("__stack_chk_fail")) << "-fstack-protector-strong";
#ifdef BUBBLESCOPE_IS_OPTIMISED
    const bool fortified = std::ranges::any_of(
        imported, [](const std::string& name) { return name.starts_with("__") && name.ends_with("_chk"); });
    EXPECT_TRUE(fortified) << "-D_FORTIFY_SOURCE";
#endif
#if defined(__CET__) // of the same compiler, with the same options
    const auto beginnings = binary.beginnings();
    ASSERT_FALSE(beginnings.empty());
    const auto marked = std::ranges::count(beginnings, std::string_view("\xf3\x0f\x1e\xfa")); // endbr64
    // Functions that their own file alone calls, and by name, need no mark: in optimised code about half of all.
    EXPECT_GE(4 * marked, std::ssize(beginnings)) << "-fcf-protection: functions that can be called are marked";
#endif
#endif
}

INSTANTIATE_TEST_SUITE_P(Of, Shipped, testing::ValuesIn(shipped()), [](const auto& of) {
    std::string name = std::filesystem::path(of.param).filename().string();
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

/// A job may close what it opened while our threads run.
TEST(InjectLibrary, StaysLoaded) {
    EXPECT_NE(Binary(BUBBLESCOPE_INJECT_LIBRARY).dynamicValue(DT_FLAGS_1) & DF_1_NODELETE, 0U);
}

} // namespace
} // namespace bubblescope
