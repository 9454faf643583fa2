#include "core/report/data_table.h"

#include <cmath>

namespace bubblescope::report {

std::int32_t TextSet::add(std::string_view text) {
    if (latest_ >= 0 && this->text(static_cast<std::size_t>(latest_)) == text) return latest_;
    auto known = numbers_.find(text);
    if (known == numbers_.end()) {
        known = numbers_.emplace(std::string(text), static_cast<std::int32_t>(size())).first;
        bytes_ += text;
        ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
    }
    latest_ = known->second;
    return latest_;
}

void Bits::add(bool bit) {
    if (size_ % 8 == 0) bytes_.push_back(0);
    if (bit) bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | 1U << (size_ % 8));
    ++size_;
}

void Bits::append(std::size_t count, bool bit) {
    for (std::size_t i = 0; i < count; ++i)
        add(bit);
}

DataColumn::DataColumn(std::string name, ColumnType type) : name_(std::move(name)), type_(type) {}

std::size_t DataColumn::size() const {
    switch (type_) {
    case ColumnType::Int32:
    case ColumnType::Text: return int32s_.size();
    case ColumnType::Int64: return int64s_.size();
    case ColumnType::Float64: return float64s_.size();
    case ColumnType::Bool: return bits_.size();
    }
    return 0;
}

void DataColumn::reserve(std::size_t rows) {
    switch (type_) {
    case ColumnType::Int32:
    case ColumnType::Text: int32s_.reserve(rows); break;
    case ColumnType::Int64: int64s_.reserve(rows); break;
    case ColumnType::Float64: float64s_.reserve(rows); break;
    case ColumnType::Bool: break;
    }
}

void DataColumn::nowValid() {
    if (nulls_ > 0) valid_.add(true);
}

void DataColumn::add(std::int64_t value) {
    nowValid();
    switch (type_) {
    case ColumnType::Int32: int32s_.push_back(static_cast<std::int32_t>(value)); break;
    case ColumnType::Int64: int64s_.push_back(value); break;
    case ColumnType::Float64: float64s_.push_back(static_cast<double>(value)); break;
    case ColumnType::Bool: bits_.add(value != 0); break;
    case ColumnType::Text: int32s_.push_back(texts_.add(std::to_string(value))); break;
    }
}

void DataColumn::add(double value) {
    if (type_ != ColumnType::Float64) return add(static_cast<std::int64_t>(std::llround(value)));
    if (!std::isfinite(value)) return addNull();
    nowValid();
    float64s_.push_back(value);
}

void DataColumn::add(bool value) {
    if (type_ != ColumnType::Bool) return add(std::int64_t{value});
    nowValid();
    bits_.add(value);
}

void DataColumn::add(std::string_view value) {
    if (type_ != ColumnType::Text) return addNull();
    nowValid();
    int32s_.push_back(texts_.add(value));
}

void DataColumn::addNull() {
    if (nulls_ == 0) valid_.append(size(), true);
    ++nulls_;
    valid_.add(false);
    switch (type_) {
    case ColumnType::Int32:
    case ColumnType::Text: int32s_.push_back(0); break;
    case ColumnType::Int64: int64s_.push_back(0); break;
    case ColumnType::Float64: float64s_.push_back(0); break;
    case ColumnType::Bool: bits_.add(false); break;
    }
}

DataTable::DataTable(std::initializer_list<Heading> headings) {
    columns_.reserve(headings.size());
    for (const Heading& heading : headings)
        columns_.emplace_back(std::string(heading.name), heading.type);
}

void DataTable::reserve(std::size_t rows) {
    for (DataColumn& column : columns_)
        column.reserve(rows);
}

} // namespace bubblescope::report
