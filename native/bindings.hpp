// What every file of bindings shares: arrays and handles that cross from Python, checked as they
// come, and the poll that lets Ctrl-C and progress through while the GIL is free.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orders.hpp"
#include "rows.hpp"

namespace kesler {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
template <class T>
using ReadArray = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using WriteArray = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

extern const Lanes* lanes_in_use;  // the kernels of the instruction set chosen

template <class T>
const LaneOps<T>& ops() {
  if constexpr (std::is_same_v<T, float>)
    return lanes_in_use->f32;
  else
    return lanes_in_use->f64;
}

// ---- signals and progress --------------------------------------------------------------------

// Asked by kernels that run without the GIL. Looks for Ctrl-C and tells the progress at most ten
// times a second; what Python raises meanwhile is kept and thrown when the kernel has stopped.
class Poll {
 public:
  explicit Poll(nb::object report) : report_(std::move(report)) {}

  bool operator()(std::int64_t done = -1) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return true;
    last_ = now;
    const nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!report_.is_none() && done >= 0) report_(done);
    } catch (...) {
      raised_ = std::current_exception();
      return false;
    }
    return true;
  }

  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  nb::object report_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::exception_ptr raised_;
};

// ---- what crosses from Python ------------------------------------------------------------------

inline void check_aligned(const void* data, std::size_t size) {
  if (reinterpret_cast<std::uintptr_t>(data) % size != 0)
    throw std::invalid_argument("an array starts in the middle of a number");
}
template <class T>
void check_aligned(const ReadArray<T>& array) {
  check_aligned(array.data(), alignof(T));
}
template <class T>
void check_aligned(const WriteArray<T>& array) {
  check_aligned(array.data(), alignof(T));
}
template <class Array>
void check_aligned(const std::optional<Array>& array) {
  if (array) check_aligned(*array);
}

inline std::int64_t length(const AnyArray& array) {
  return static_cast<std::int64_t>(array.size());
}

// X as the kernels read it; keeps the arrays alive.
class RowsHandle {
 public:
  RowsHandle(AnyArray values, std::optional<AnyArray> indices, std::optional<AnyArray> indptr,
             std::int64_t n, std::int64_t d)
      : values_(std::move(values)), indices_(std::move(indices)), indptr_(std::move(indptr)) {
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    if (n < 0 || d < 0) throw std::invalid_argument("shape must not be negative");
    if (n > kMost || d > kMost)
      throw std::invalid_argument("shape is too large: there is room for 2^48 rows and columns");
    if (values_.dtype() == nb::dtype<float>())
      rows = make<float>(n, d);
    else if (values_.dtype() == nb::dtype<double>())
      rows = make<double>(n, d);
    else
      throw std::invalid_argument("X must be float32 or float64");
  }

  std::variant<Rows<float>, Rows<double>> rows;

  template <class T>
  const Rows<T>& as() const {
    const auto* typed = std::get_if<Rows<T>>(&rows);
    if (!typed) throw std::invalid_argument("X and the weights differ in dtype");
    return *typed;
  }

 private:
  template <class T>
  Rows<T> make(std::int64_t n, std::int64_t d) {
    Rows<T> r;
    check_aligned(values_.data(), alignof(T));
    r.values = static_cast<const T*>(values_.data());
    r.n = n;
    r.d = d;
    if (!indices_ != !indptr_) throw std::invalid_argument("a CSR matrix has indices and indptr");
    if (!indices_) {
      if (d != 0 && n > std::numeric_limits<std::int64_t>::max() / d)
        throw std::invalid_argument("shape is too large");
      if (length(values_) != n * d) throw std::invalid_argument("X has not n x d values");
      return r;
    }
    if (indices_->dtype() != indptr_->dtype())
      throw std::invalid_argument("CSR indices and indptr differ in dtype");
    if (length(*indptr_) != n + 1) throw std::invalid_argument("CSR indptr has not n + 1 entries");
    if (length(*indices_) != length(values_))
      throw std::invalid_argument("CSR indices and values differ in length");
    r.indices = indices_->data();
    r.indptr = indptr_->data();
    if (indices_->dtype() == nb::dtype<std::int32_t>()) {
      r.kind = Index::int32;
      check<std::int32_t>(n, d);
    } else if (indices_->dtype() == nb::dtype<std::int64_t>()) {
      r.kind = Index::int64;
      check<std::int64_t>(n, d);
    } else {
      throw std::invalid_argument("CSR indices must be int32 or int64");
    }
    return r;
  }

  template <class I>
  void check(std::int64_t n, std::int64_t d) const {
    check_aligned(indptr_->data(), alignof(I));
    check_aligned(indices_->data(), alignof(I));
    check_csr(static_cast<const I*>(indptr_->data()), static_cast<const I*>(indices_->data()), n, d,
              length(values_));
  }

  AnyArray values_;
  std::optional<AnyArray> indices_, indptr_;
};

class OrdersHandle {
 public:
  OrdersHandle(std::int64_t n, std::int64_t n_labels, std::uint8_t form,
               std::optional<ReadArray<std::uint8_t>> forms,
               std::optional<ReadArray<std::int64_t>> indptr, ReadArray<std::int32_t> items,
               std::optional<ReadArray<double>> margin, std::optional<ReadArray<double>> weight)
      : forms_(std::move(forms)), indptr_(std::move(indptr)), items_(std::move(items)),
        margin_(std::move(margin)), weight_(std::move(weight)) {
    if (n < 0 || n_labels < 0 || n_labels >= std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("the numbers of examples and labels must fit their types");
    if (form >= kForms) throw std::invalid_argument("unknown form");
    const auto fits = [](const auto& array, std::size_t size) {
      if (array && array->size() != size)
        throw std::invalid_argument("an array of the orders has the wrong length");
      check_aligned(array);
    };
    check_aligned(items_);
    fits(forms_, static_cast<std::size_t>(n));
    fits(indptr_, static_cast<std::size_t>(n) + 1);
    fits(margin_, items_.size());
    fits(weight_, items_.size());
    orders.n = n;
    orders.n_labels = static_cast<std::int32_t>(n_labels);
    orders.form = static_cast<Form>(form);
    orders.forms = forms_ ? forms_->data() : nullptr;
    orders.indptr = indptr_ ? indptr_->data() : nullptr;
    orders.items = items_.data();
    orders.n_items = static_cast<std::int64_t>(items_.size());
    orders.margin = margin_ ? margin_->data() : nullptr;
    orders.weight = weight_ ? weight_->data() : nullptr;
    check_orders(orders);
  }

  Orders orders;

 private:
  std::optional<ReadArray<std::uint8_t>> forms_;
  std::optional<ReadArray<std::int64_t>> indptr_;
  ReadArray<std::int32_t> items_;
  std::optional<ReadArray<double>> margin_, weight_;
};

template <class T>
nb::object to_array(std::vector<T>&& values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const std::size_t size = kept->size();
  T* data = kept->data();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  kept.release();
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

template <class T>
void check_table(const WriteArray<T>& table, std::int64_t rows, std::int64_t lanes) {
  if (table.ndim() != 2 || static_cast<std::int64_t>(table.shape(0)) != rows ||
      static_cast<std::int64_t>(table.shape(1)) != lanes)
    throw std::invalid_argument("a weight table has the wrong shape");
  check_aligned(table);
}

inline std::int64_t lanes_for(std::int64_t n_labels) {
  if (n_labels <= 4) return 4;
  if (n_labels <= 8) return 8;
  return (n_labels + 15) / 16 * 16;
}

inline void check_lanes(std::int64_t lanes) {
  if (lanes != 4 && lanes != 8 && (lanes <= 0 || lanes % 16 != 0))
    throw std::invalid_argument("labels must be padded to 4, 8 or a multiple of 16 lanes");
}

// A virtual label needs a lane of its own after the user's.
inline void check_virtual_lane(const Orders& orders, std::int64_t lanes) {
  if (lanes < orders.n_labels) throw std::invalid_argument("more labels than lanes");
  for (std::int64_t i = 0; lanes == orders.n_labels && i < orders.n; ++i) {
    const Order order = orders[i];
    bool named = order.form == Form::calibrated;
    for (std::int64_t p = 0; order.form == Form::pairs && p < order.size; ++p)
      named = named || order.items[p] == orders.n_labels;
    if (named) throw std::invalid_argument("no lane for the virtual label");
  }
}

void bind_dual(nb::module_& m);
void bind_newton(nb::module_& m);

}  // namespace kesler
