#pragma once

#include "runtime/accelerator/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bubblescope::runtime::test {

// Fused attention by its definition, row by row in double precision, with a single rounding of each result.

template <class T>
[[nodiscard]] T* headOf(const HeadRows<T>& rows, const AttentionSizes& sizes, std::int64_t pair, std::int64_t row) {
    return rows.data + pair / sizes.heads * rows.sequence + pair % sizes.heads * sizes.width + row * rows.row;
}

[[nodiscard]] inline double product(const Bf16* a, const Bf16* b, int width) {
    double sum = 0;
    for (int i = 0; i < width; ++i)
        sum += static_cast<double>(load(a[i])) * static_cast<double>(load(b[i]));
    return sum;
}

/// Scaled scores of a query with all keys that are visible to it.
template <class Attention>
[[nodiscard]] std::vector<double> scoresOf(const Attention& attention, std::int64_t pair, std::int64_t query) {
    const AttentionSizes& sizes = attention.sizes;
    std::vector<double> scores(static_cast<std::size_t>(sizes.seen - sizes.rows + query + 1));
    for (std::size_t key = 0; key < scores.size(); ++key) {
        scores[key] = static_cast<double>(sizes.scale) *
                      product(headOf(attention.queries, sizes, pair, query),
                              headOf(attention.keys, sizes, pair, static_cast<std::int64_t>(key)), sizes.width);
    }
    return scores;
}

inline void attendByRows(const FusedAttention& attention) {
    const AttentionSizes& sizes = attention.sizes;
    for (std::int64_t pair = 0; pair < sizes.pairs(); ++pair) {
        for (std::int64_t query = 0; query < sizes.rows; ++query) {
            const std::vector<double> scores = scoresOf(attention, pair, query);
            const double largest = *std::max_element(scores.begin(), scores.end());
            double sum = 0;
            std::vector<double> output(static_cast<std::size_t>(sizes.width));
            for (std::size_t key = 0; key < scores.size(); ++key) {
                const double weight = std::exp(scores[key] - largest);
                sum += weight;
                const Bf16* const value = headOf(attention.values, sizes, pair, static_cast<std::int64_t>(key));
                for (std::size_t i = 0; i < output.size(); ++i)
                    output[i] += weight * static_cast<double>(load(value[i]));
            }
            Bf16* const to = headOf(attention.output, sizes, pair, query);
            for (std::size_t i = 0; i < output.size(); ++i)
                store(to[i], static_cast<float>(output[i] / sum));
            attention.logs[pair * sizes.rows + query] = static_cast<float>(largest + std::log(sum));
        }
    }
}

/// The weight of each key that is visible to a query, and the gradient of its score before scaling.
struct KeyOfQuery {
    double weight = 0;
    double score_grad = 0;
};
[[nodiscard]] inline std::vector<KeyOfQuery> keysOf(const FusedAttentionGradient& attention, std::int64_t pair,
                                                    std::int64_t query) {
    const AttentionSizes& sizes = attention.sizes;
    const std::int64_t at = pair * sizes.rows + query;
    std::vector<KeyOfQuery> keys;
    for (const double score : scoresOf(attention, pair, query)) {
        const auto key = static_cast<std::int64_t>(keys.size());
        const double weight = std::exp(score - static_cast<double>(attention.logs[at]));
        const double grad = product(headOf(attention.output_grad, sizes, pair, query),
                                    headOf(attention.values, sizes, pair, key), sizes.width);
        keys.push_back({weight, weight * (grad - static_cast<double>(attention.along[at]))});
    }
    return keys;
}

inline void queriesGradientByRows(const FusedAttentionGradient& attention) {
    const AttentionSizes& sizes = attention.sizes;
    for (std::int64_t pair = 0; pair < sizes.pairs(); ++pair) {
        for (std::int64_t query = 0; query < sizes.rows; ++query) {
            attention.along[pair * sizes.rows + query] =
                static_cast<float>(product(headOf(attention.output, sizes, pair, query),
                                           headOf(attention.output_grad, sizes, pair, query), sizes.width));
            const std::vector<KeyOfQuery> keys = keysOf(attention, pair, query);
            for (int i = 0; i < sizes.width; ++i) {
                double sum = 0;
                for (std::size_t key = 0; key < keys.size(); ++key)
                    sum += keys[key].score_grad * static_cast<double>(load(headOf(attention.keys, sizes, pair,
                                                                                  static_cast<std::int64_t>(key))[i]));
                store(headOf(attention.queries_grad, sizes, pair, query)[i],
                      static_cast<float>(static_cast<double>(sizes.scale) * sum));
            }
        }
    }
}

inline void keysGradientByRows(const FusedAttentionGradient& attention) {
    const AttentionSizes& sizes = attention.sizes;
    const auto width = static_cast<std::size_t>(sizes.width);
    for (std::int64_t pair = 0; pair < sizes.pairs(); ++pair) {
        std::vector<double> keys(static_cast<std::size_t>(sizes.seen) * width);
        std::vector<double> values(keys.size());
        for (std::int64_t query = 0; query < sizes.rows; ++query) {
            const Bf16* const grad = headOf(attention.output_grad, sizes, pair, query);
            const Bf16* const own = headOf(attention.queries, sizes, pair, query);
            std::size_t at = 0;
            for (const KeyOfQuery& key : keysOf(attention, pair, query)) {
                for (std::size_t i = 0; i < width; ++i, ++at) {
                    keys[at] += key.score_grad * static_cast<double>(load(own[i]));
                    values[at] += key.weight * static_cast<double>(load(grad[i]));
                }
            }
        }
        for (std::size_t at = 0; at < keys.size(); ++at) {
            const auto key = static_cast<std::int64_t>(at / width);
            const auto put = [&](const HeadRows<float>& sums, const HeadRows<Bf16>& rounded, double value) {
                if (sums.data != nullptr) {
                    store(headOf(sums, sizes, pair, key)[at % width], static_cast<float>(value));
                } else {
                    store(headOf(rounded, sizes, pair, key)[at % width], static_cast<float>(value));
                }
            };
            put(attention.keys_sum, attention.keys_grad, static_cast<double>(sizes.scale) * keys[at]);
            put(attention.values_sum, attention.values_grad, values[at]);
        }
    }
}

} // namespace bubblescope::runtime::test
