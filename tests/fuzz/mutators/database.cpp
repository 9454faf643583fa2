#include "tests/fuzz/mutators/mutate.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace bubblescope::fuzz {
namespace {

struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close(connection); }
};
using Connection = std::unique_ptr<sqlite3, Close>;

Connection opened(std::string_view file) {
    sqlite3* raw = nullptr;
    if (sqlite3_open(":memory:", &raw) != SQLITE_OK) return Connection(raw);
    Connection connection(raw);
    auto* const bytes = static_cast<unsigned char*>(sqlite3_malloc64(file.size()));
    std::memcpy(bytes, file.data(), file.size());
    const auto size = static_cast<sqlite3_int64>(file.size());
    sqlite3_deserialize(raw, "main", bytes, size, size, SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, 1 << 20);
    // A slow mutation does not help to test the reader.
    sqlite3_progress_handler(
        raw, 1'000'000, [](void*) { return 1; }, nullptr);
    return connection;
}

std::vector<std::string> listed(sqlite3* connection, const std::string& query) {
    std::vector<std::string> rows;
    sqlite3_exec(
        connection, query.c_str(),
        [](void* into, int count, char** values, char**) {
            if (count > 0 && values[0] != nullptr)
                static_cast<std::vector<std::string>*>(into)->emplace_back(values[0]);
            return 0;
        },
        &rows, nullptr);
    return rows;
}

constexpr std::array<const char*, 14> kSqlValues{"NULL",
                                                 "0",
                                                 "-1",
                                                 "9223372036854775807",
                                                 "-9223372036854775808",
                                                 "1e308",
                                                 "9e999",
                                                 "''",
                                                 "'text'",
                                                 "x'00ff'",
                                                 "zeroblob(1000)",
                                                 "printf('%1000d', 1)",
                                                 "rowid * 1000",
                                                 "abs(random()) % 1000000"};

} // namespace

std::string mutateDatabase(std::string_view file, std::size_t most, Random& random) {
    if (file.size() < 100 || below(random, 4) == 0) return mutateBytes(std::string(file), most);
    const Connection connection = opened(file);
    // SQLite's random() must give the same numbers for the same seed.
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(1 + below(random, 1'000'000)), nullptr);
    const std::vector<std::string> tables =
        listed(connection.get(), "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')");
    if (tables.empty()) return mutateBytes(std::string(file), most);
    const std::string table = fmt::format("\"{}\"", tables[below(random, tables.size())]);
    const std::vector<std::string> columns =
        listed(connection.get(), fmt::format("SELECT name FROM pragma_table_info({})", table));
    const std::string column =
        columns.empty() ? std::string("rowid") : fmt::format("\"{}\"", columns[below(random, columns.size())]);
    const char* const value = kSqlValues[below(random, kSqlValues.size())];
    const auto one = fmt::format("rowid IN (SELECT rowid FROM {} ORDER BY random() LIMIT 1)", table);
    std::string change;
    switch (below(random, 9)) {
    case 0: change = fmt::format("UPDATE {} SET {} = {}", table, column, value); break;
    case 1: change = fmt::format("UPDATE {} SET {} = {} WHERE {}", table, column, value, one); break;
    case 2: change = fmt::format("DELETE FROM {} WHERE {}", table, one); break;
    case 3:
        for (std::size_t i = 0; i < 1 + below(random, 12); ++i)
            change += fmt::format("INSERT INTO {0} SELECT * FROM {0} LIMIT 4096;", table);
        break;
    case 4: change = fmt::format("ALTER TABLE {} DROP COLUMN {}", table, column); break;
    case 5: change = fmt::format("ALTER TABLE {} RENAME COLUMN {} TO c{}", table, column, below(random, 100)); break;
    case 6:
        change = fmt::format("ALTER TABLE {0} RENAME TO old; CREATE VIEW {0} AS SELECT * FROM old, old AS more", table);
        break;
    case 7: change = fmt::format("CREATE INDEX i{} ON {} ({})", below(random, 1000), table, column); break;
    default: change = fmt::format("DROP TABLE {}", table);
    }
    sqlite3_exec(connection.get(), change.c_str(), nullptr, nullptr, nullptr);
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(connection.get(), "main", &size, 0);
    std::string out = bytes == nullptr
                          ? std::string(file)
                          : std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    sqlite3_free(bytes);
    if (below(random, 4) == 0 && !out.empty())
        out[below(random, out.size())] ^= static_cast<char>(1 << below(random, 8));
    return out.size() > most ? mutateBytes(std::string(file), most) : out;
}

} // namespace bubblescope::fuzz
