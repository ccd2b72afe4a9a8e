// The partial order of each example, read in place from the arrays of kesler.Constraints, and the
// relations that Har-Peled, Roth and Zimak (2002, section 2) define on it.
//
// Design. An example is a run of 32-bit items. What the run means is its form:
//   set         the labels on top, ascending; every other label is below (a class is a set of one)
//   calibrated  the same with the virtual label between the two sides
//   adjacent    tiers, best first, each above the next; the last item r of a tier is stored as ~r
//   all         the same, each tier above all later ones
//   pairs       over, under, over, under, ...
// Pairs that a form implies are never stored. The virtual label is number k, after the user's
// labels 0..k-1: its scores stand in lane k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace kesler {

enum class Form : std::uint8_t { set, calibrated, adjacent, all, pairs };
constexpr std::uint8_t kForms = 5;

struct Order {
  Form form;
  const std::int32_t* items;
  std::int64_t size;
  const double* margin;  // of the pair whose `over` is item p, at p; null: 1 each
  const double* weight;
};

struct Orders {
  std::int64_t n = 0;
  std::int32_t n_labels = 0;  // k, the virtual label not counted
  Form form = Form::set;      // of every example, unless `forms` tells each
  const std::uint8_t* forms = nullptr;
  const std::int64_t* indptr = nullptr;  // null: item i is example i
  const std::int32_t* items = nullptr;
  std::int64_t n_items = 0;
  const double* margin = nullptr;
  const double* weight = nullptr;

  Form form_of(std::int64_t i) const { return forms ? static_cast<Form>(forms[i]) : form; }

  Order operator[](std::int64_t i) const {
    const std::int64_t begin = indptr ? indptr[i] : i;
    const std::int64_t end = indptr ? indptr[i + 1] : i + 1;
    return {form_of(i), items + begin, end - begin, margin ? margin + begin : nullptr,
            weight ? weight + begin : nullptr};
  }
};

inline std::int32_t label_of(std::int32_t item) { return item < 0 ? ~item : item; }

// Calls f(first, last) for every tier of an `adjacent` or `all` order.
template <class F>
void for_each_tier(const Order& order, F f) {
  std::int64_t first = 0;
  for (std::int64_t p = 0; p < order.size; ++p)
    if (order.items[p] < 0) {
      f(first, p + 1);
      first = p + 1;
    }
}

// Calls f(b) for every label that the ascending set `items` leaves out.
template <class F>
void for_each_rest(const Order& order, std::int32_t n_labels, F f) {
  std::int64_t p = 0;
  for (std::int32_t b = 0; b < n_labels; ++b) {
    if (p < order.size && order.items[p] == b)
      ++p;
    else
      f(b);
  }
}

// Calls f(over, under, margin, weight) for every pair as stored, in the order of storage.
template <class F>
void for_each_pair(const Order& order, std::int32_t n_labels, F f) {
  switch (order.form) {
    case Form::set:
      for (std::int64_t p = 0; p < order.size; ++p)
        for_each_rest(order, n_labels, [&](std::int32_t b) { f(order.items[p], b, 1.0, 1.0); });
      return;
    case Form::calibrated:
      for (std::int64_t p = 0; p < order.size; ++p) f(order.items[p], n_labels, 1.0, 1.0);
      for_each_rest(order, n_labels, [&](std::int32_t b) { f(n_labels, b, 1.0, 1.0); });
      return;
    case Form::adjacent: {
      std::int64_t upper = -1, middle = 0;
      for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t p = upper; upper >= 0 && p < middle; ++p)
          for (std::int64_t q = first; q < last; ++q)
            f(label_of(order.items[p]), label_of(order.items[q]), 1.0, 1.0);
        upper = first;
        middle = last;
      });
      return;
    }
    case Form::all:
      for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t p = first; p < last; ++p)
          for (std::int64_t q = last; q < order.size; ++q)
            f(label_of(order.items[p]), label_of(order.items[q]), 1.0, 1.0);
      });
      return;
    case Form::pairs:
      for (std::int64_t p = 0; p + 1 < order.size; p += 2)
        f(order.items[p], order.items[p + 1], order.margin ? order.margin[p] : 1.0,
          order.weight ? order.weight[p] : 1.0);
      return;
  }
}

inline std::int64_t count_pairs(const Order& order, std::int32_t n_labels) {
  const std::int64_t rest = n_labels - order.size;
  switch (order.form) {
    case Form::set:
      return order.size * rest;
    case Form::calibrated:
      return order.size + rest;
    case Form::adjacent: {
      std::int64_t count = 0, before = 0;
      for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
        count += before * (last - first);
        before = last - first;
      });
      return count;
    }
    case Form::all: {
      std::int64_t count = 0;
      for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
        count += (last - first) * (order.size - last);
      });
      return count;
    }
    case Form::pairs:
      return order.size / 2;
  }
  return 0;
}

// Does label a precede label b in argsort of the scores (Definition 2.6)? Ties go to the smaller
// index, and the virtual label precedes every other: a label is relevant only when it scores above.
template <class T>
bool precedes(const T* s, std::int32_t a, std::int32_t b, std::int32_t n_labels) {
  if (s[a] != s[b]) return s[a] > s[b];
  if (a == n_labels || b == n_labels) return a == n_labels;
  return a < b;
}

// The error indicator of Definition 2.4. Between two tiers only the last of the upper and the first
// of the lower matter, because scores order all labels.
template <class T>
bool is_wrong(const Order& order, const T* s, std::int32_t n_labels) {
  const auto last_of = [&](std::int32_t a, std::int32_t b) {
    return a < 0 || precedes(s, a, b, n_labels) ? b : a;
  };
  const auto first_of = [&](std::int32_t a, std::int32_t b) {
    return a < 0 || precedes(s, b, a, n_labels) ? b : a;
  };
  const auto against = [&](std::int32_t a, std::int32_t b) {
    return a >= 0 && b >= 0 && !precedes(s, a, b, n_labels);
  };
  switch (order.form) {
    case Form::set:
    case Form::calibrated: {
      std::int32_t worst = -1, rival = -1;
      for (std::int64_t p = 0; p < order.size; ++p) worst = last_of(worst, order.items[p]);
      for_each_rest(order, n_labels, [&](std::int32_t b) { rival = first_of(rival, b); });
      if (order.form == Form::set) return against(worst, rival);
      return against(worst, n_labels) || against(n_labels, rival);
    }
    case Form::adjacent:
    case Form::all: {
      bool wrong = false;
      std::int32_t worst = -1;
      for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
        std::int32_t rival = -1, next = -1;
        for (std::int64_t p = first; p < last; ++p) {
          rival = first_of(rival, label_of(order.items[p]));
          next = last_of(next, label_of(order.items[p]));
        }
        wrong = wrong || against(worst, rival);
        worst = next;
      });
      return wrong;
    }
    case Form::pairs:
      for (std::int64_t p = 0; p + 1 < order.size; p += 2)
        if (against(order.items[p], order.items[p + 1])) return true;
      return false;
  }
  return false;
}

// What breaks the promises of the forms is found here and not by a crash in a kernel.
inline void check_orders(const Orders& orders) {
  const auto fail = [](std::int64_t i, const std::string& what) {
    throw std::invalid_argument("example " + std::to_string(i) + ": " + what);
  };
  if (orders.indptr) {
    if (orders.indptr[0] != 0) throw std::invalid_argument("indptr must start with 0");
    for (std::int64_t i = 0; i < orders.n; ++i)
      if (orders.indptr[i + 1] < orders.indptr[i] || orders.indptr[i + 1] > orders.n_items)
        fail(i, "indptr decreases or exceeds the number of items");
  } else if (orders.n_items != orders.n) {
    throw std::invalid_argument("without indptr there must be one item an example");
  }
  for (std::int64_t i = 0; i < orders.n; ++i) {
    if (orders.forms && orders.forms[i] >= kForms) fail(i, "unknown form");
    const Order order = orders[i];
    const bool tiers = order.form == Form::adjacent || order.form == Form::all;
    const bool sets = order.form == Form::set || order.form == Form::calibrated;
    for (std::int64_t p = 0; p < order.size; ++p) {
      const std::int32_t item = tiers ? label_of(order.items[p]) : order.items[p];
      const std::int32_t end = order.form == Form::pairs ? orders.n_labels + 1 : orders.n_labels;
      if (item < 0 || item >= end) fail(i, "label number outside 0.." + std::to_string(end - 1));
      if (sets && p && order.items[p - 1] >= item) fail(i, "the labels of a set must ascend");
    }
    if (tiers && order.size && order.items[order.size - 1] >= 0) fail(i, "a tier has no end");
    if (order.form == Form::pairs && order.size % 2) fail(i, "a pair has no second label");
  }
}

}  // namespace kesler
