// One view over the examples, dense or CSR, float or double: every kernel reads rows through it, so
// each exists once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "lanes.hpp"

namespace kesler {

template <class T>
struct Rows {
  const T* values = nullptr;
  const void* indices = nullptr;  // null: dense
  const void* indptr = nullptr;
  std::int64_t n = 0;
  std::int64_t d = 0;
  Index kind = Index::dense;

  Row<T> operator[](std::int64_t i) const {
    Row<T> row;
    read(i, row);
    return row;
  }

  // Field by field into its place: a row that is copied at once waits for its own stores.
  void read(std::int64_t i, Row<T>& row) const {
    row.kind = kind;
    if (kind == Index::dense) {
      row.values = values + i * d;
      row.index = nullptr;
      row.size = d;
    } else if (kind == Index::int32) {
      read_sparse(i, static_cast<const std::int32_t*>(indptr), row);
    } else {
      read_sparse(i, static_cast<const std::int64_t*>(indptr), row);
    }
  }

 private:
  template <class I>
  void read_sparse(std::int64_t i, const I* starts, Row<T>& row) const {
    const std::int64_t begin = starts[i];
    row.values = values + begin;
    row.index = static_cast<const I*>(indices) + begin;
    row.size = starts[i + 1] - begin;
  }
};

// Calls f(feature, value) for each stored value of a row.
template <class T, class F>
void for_each_feature(const Row<T>& x, F f) {
  if (x.kind == Index::dense) {
    for (std::int64_t p = 0; p < x.size; ++p) f(p, x.values[p]);
  } else if (x.kind == Index::int32) {
    const auto* index = static_cast<const std::int32_t*>(x.index);
    for (std::int64_t p = 0; p < x.size; ++p) f(static_cast<std::int64_t>(index[p]), x.values[p]);
  } else {
    const auto* index = static_cast<const std::int64_t*>(x.index);
    for (std::int64_t p = 0; p < x.size; ++p) f(index[p], x.values[p]);
  }
}

// A CSR matrix is a promise; what breaks it is found here and not by a crash in a kernel.
template <class I>
void check_csr(const I* indptr, const I* indices, std::int64_t n, std::int64_t d,
               std::int64_t stored) {
  if (indptr[0] != 0) throw std::invalid_argument("CSR indptr must start with 0");
  for (std::int64_t i = 0; i < n; ++i)
    if (indptr[i + 1] < indptr[i] || static_cast<std::int64_t>(indptr[i + 1]) > stored)
      throw std::invalid_argument(
          "CSR indptr must not decrease nor exceed the number of stored "
          "values; row " +
          std::to_string(i) + " does");
  using U = std::make_unsigned_t<I>;
  U largest = 0;  // a negative index is a very large one
  for (I p = 0; p < indptr[n]; ++p) largest = std::max(largest, static_cast<U>(indices[p]));
  if (indptr[n] == 0 || static_cast<std::uint64_t>(largest) < static_cast<std::uint64_t>(d)) return;
  for (std::int64_t i = 0; i < n; ++i)
    for (I p = indptr[i]; p < indptr[i + 1]; ++p)
      if (indices[p] < 0 || static_cast<std::int64_t>(indices[p]) >= d)
        throw std::invalid_argument("CSR column index " + std::to_string(indices[p]) + " in row " +
                                    std::to_string(i) + " is outside 0.." + std::to_string(d - 1));
}

}  // namespace kesler
