// The program at the front of the AppImage; the app follows it as a squashfs image. Other AppImages mount that image,
// which needs FUSE and a set-uid helper: both are often missing in containers and on cluster nodes. This one unpacks it
// once per version, into the user's cache folder, and starts the app from there.
extern "C" {
#include <squashfuse/squashfuse.h>

// squashfuse knows five compressions, and the image has one. The functions of the other four are refused here instead
// of being linked.
int LZ4_decompress_safe(const char*, char*, int, int) {
    return -1;
}
int lzo1x_decompress_safe(const void*, unsigned long, void*, void*, void*) {
    return -1;
}
int lzma_stream_buffer_decode(...) {
    return -1;
}
int uncompress(void*, unsigned long*, const void*, unsigned long) {
    return -1;
}
}

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kProgram = "/proc/self/exe";

[[noreturn]] void fail(const std::string& what, const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
    std::exit(3);
}

/// Where this program ends and the image starts: after its table of sections, which linkers write last.
std::size_t imageOffset() {
    const int file = ::open(kProgram.data(), O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr header{};
    if (file < 0 || ::pread(file, &header, sizeof header, 0) != sizeof header)
        fail(kProgram.data(), std::strerror(errno));
    ::close(file);
    return header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
}

struct Image {
    explicit Image(std::size_t offset) {
        if (sqfs_open_image(&squashfs, kProgram.data(), offset) != SQFS_OK)
            fail("the application's image", "damaged or incomplete; download it again");
    }
    sqfs squashfs{};
};

void writeFile(Image& image, sqfs_inode& inode, const fs::path& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, inode.base.mode & 0777);
    if (file < 0) fail(path, std::strerror(errno));
    static char buffer[1 << 17];
    for (sqfs_off_t at = 0; at < static_cast<sqfs_off_t>(inode.xtra.reg.file_size);) {
        sqfs_off_t count = sizeof buffer;
        if (sqfs_read_range(&image.squashfs, &inode, at, &count, buffer) != SQFS_OK || count <= 0)
            fail(path, "the application's image is damaged; download it again");
        if (::write(file, buffer, static_cast<std::size_t>(count)) != count) fail(path, std::strerror(errno));
        at += count;
    }
    if (::close(file) != 0) fail(path, std::strerror(errno));
}

void writeLink(Image& image, sqfs_inode& inode, const fs::path& path) {
    std::string target(inode.xtra.symlink_size + 1, '\0');
    std::size_t size = target.size();
    if (sqfs_readlink(&image.squashfs, &inode, target.data(), &size) != SQFS_OK) fail(path, "damaged link");
    fs::create_symlink(target.c_str(), path);
}

void unpack(Image& image, const fs::path& folder) {
    fs::create_directories(folder);
    sqfs_traverse walk{};
    sqfs_err error = sqfs_traverse_open(&walk, &image.squashfs, sqfs_inode_root(&image.squashfs));
    while (error == SQFS_OK && sqfs_traverse_next(&walk, &error)) {
        if (walk.dir_end) continue;
        const fs::path path = folder / walk.path;
        sqfs_inode inode{};
        if (sqfs_inode_get(&image.squashfs, &inode, sqfs_dentry_inode(&walk.entry)) != SQFS_OK) fail(path, "damaged");
        const mode_t type = inode.base.mode & S_IFMT;
        if (type == S_IFDIR) fs::create_directory(path);
        if (type == S_IFREG) writeFile(image, inode, path);
        if (type == S_IFLNK) writeLink(image, inode, path);
    }
    if (error != SQFS_OK) fail("the application's image", "damaged; download it again");
}

fs::path cacheFolder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return fs::path(cache) / "bubblescope";
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/') return fs::path(home) / ".cache/bubblescope";
    return fs::temp_directory_path() / ("bubblescope-" + std::to_string(::getuid()));
}

/// The unpacked application. Its name is that of the contents, so another version has another folder. It is unpacked
/// under another name and renamed: what is there is whole, also if two start at once or the first one is killed.
fs::path unpacked(Image& image) {
    const fs::path cache = cacheFolder();
    const fs::path folder = cache / ("appimage-" BUBBLESCOPE_IMAGE_NAME);
    fs::create_directories(cache);
    struct stat of {};
    if (::stat(cache.c_str(), &of) != 0 || of.st_uid != ::getuid() || (of.st_mode & 022) != 0)
        fail(cache, "others can write to this folder; set XDG_CACHE_HOME to one of your own");
    if (fs::exists(folder)) return folder;
    std::string fresh = (cache / "unpacking-XXXXXX").string();
    if (::mkdtemp(fresh.data()) == nullptr) fail(fresh, std::strerror(errno));
    unpack(image, fs::path(fresh) / "app");
    if (::rename((fresh + "/app").c_str(), folder.c_str()) != 0 && !fs::exists(folder))
        fail(folder, std::strerror(errno));
    fs::remove_all(fresh);
    return folder;
}

int run(int argc, char** argv) {
    const std::string_view asked = argc > 1 ? argv[1] : "";
    const std::size_t offset = imageOffset();
    if (asked == "--appimage-offset") return std::printf("%zu\n", offset) < 0 ? 3 : 0;
    Image image(offset);
    if (asked == "--appimage-extract") {
        unpack(image, "squashfs-root");
        return 0;
    }
    const fs::path folder = unpacked(image);
    ::setenv("APPIMAGE", fs::read_symlink(kProgram).c_str(), 1);
    ::setenv("APPDIR", folder.c_str(), 1);
    ::setenv("ARGV0", argv[0], 1);
    const fs::path start = fs::canonical(folder / "AppRun");
    ::execv(start.c_str(), argv);
    fail(start, std::strerror(errno));
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const fs::filesystem_error& error) {
        fail("the application could not be unpacked", error.what());
    }
}
