// Relations between and within the orders of many examples: transitive closure and reduction,
// consistency, cycles (Har-Peled, Roth and Zimak 2002, Definition 2.2). What an order says is
// orders.hpp's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "orders.hpp"

namespace kesler {

// The transitive closure of one order, asked pair by pair. It is laid out once per example over
// buffers that serve all examples, so nothing of size k is cleared between them.
class Closure {
 public:
  explicit Closure(std::int32_t n_labels)
      : n_labels_(n_labels), stamp_(static_cast<std::size_t>(n_labels) + 1, 0),
        place_(static_cast<std::size_t>(n_labels) + 1, 0) {}

  void lay_out(const Order& order) {
    order_ = order;
    ++now_;
    labels_.clear();
    if (order.form == Form::pairs) return lay_out_pairs();
    std::int32_t tier = 0;
    if (order.form == Form::set || order.form == Form::calibrated) {
      for (std::int64_t p = 0; p < order.size; ++p) place(order.items[p], 0);
    } else {
      for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t p = first; p < last; ++p) place(label_of(order.items[p]), tier);
        ++tier;
      });
    }
  }

  // The labels of a pairs order that any pair names, and for each (by its place) those below.
  const std::vector<std::int32_t>& labels() const { return labels_; }
  const std::vector<std::int32_t>& below(std::int32_t place) const {
    return below_[static_cast<std::size_t>(place)];
  }
  std::int32_t place_of(std::int32_t label) const {
    return place_[static_cast<std::size_t>(label)];
  }

  bool contains(std::int32_t a, std::int32_t b) {
    switch (order_.form) {
      case Form::set:
        return known(a) && !known(b) && b != n_labels_;
      case Form::calibrated:
        return side(a) < side(b);
      case Form::adjacent:
      case Form::all:
        return known(a) && known(b) && place_of(a) < place_of(b);
      case Form::pairs:
        break;
    }
    if (!known(a) || !known(b)) return false;
    if (reached_from_ != a) {
      reach(a);
      reached_from_ = a;
    }
    return reached_[static_cast<std::size_t>(place_of(b))] == reach_now_;
  }

  // Marks all that lies below a, a itself left out unless it lies on a cycle.
  void reach(std::int32_t a) {
    begin_reach();
    go_down(place_of(a));
  }
  void begin_reach() { ++reach_now_; }
  void go_down(std::int32_t from) {
    stack_.assign(1, from);
    while (!stack_.empty()) {
      const std::int32_t u = stack_.back();
      stack_.pop_back();
      for (const std::int32_t v : below_[static_cast<std::size_t>(u)])
        if (reached_[static_cast<std::size_t>(v)] != reach_now_) {
          reached_[static_cast<std::size_t>(v)] = reach_now_;
          stack_.push_back(v);
        }
    }
  }
  bool reached(std::int32_t place) const {
    return reached_[static_cast<std::size_t>(place)] == reach_now_;
  }

 private:
  bool known(std::int32_t label) const { return stamp_[static_cast<std::size_t>(label)] == now_; }
  int side(std::int32_t label) const { return label == n_labels_ ? 1 : (known(label) ? 0 : 2); }
  void place(std::int32_t label, std::int32_t where) {
    stamp_[static_cast<std::size_t>(label)] = now_;
    place_[static_cast<std::size_t>(label)] = where;
  }
  std::int32_t enter(std::int32_t label) {
    if (!known(label)) {
      place(label, static_cast<std::int32_t>(labels_.size()));
      labels_.push_back(label);
    }
    return place_of(label);
  }
  void lay_out_pairs() {
    for (std::int64_t p = 0; p < order_.size; ++p) enter(order_.items[p]);
    const std::size_t m = labels_.size();
    if (below_.size() < m) below_.resize(m);
    if (reached_.size() < m) reached_.resize(m, 0);
    for (std::size_t u = 0; u < m; ++u) below_[u].clear();
    for (std::int64_t p = 0; p + 1 < order_.size; p += 2)
      below_[static_cast<std::size_t>(place_of(order_.items[p]))].push_back(
          place_of(order_.items[p + 1]));
    reached_from_ = -1;
  }

  Order order_{};
  std::int32_t n_labels_;
  std::int64_t now_ = 0, reach_now_ = 0;
  std::int32_t reached_from_ = -1;
  std::vector<std::int64_t> stamp_, reached_;
  std::vector<std::int32_t> place_, labels_, stack_;
  std::vector<std::vector<std::int32_t>> below_;
};

// A cycle among the pairs of one example, as the labels along it; empty where there is none.
inline std::vector<std::int32_t> find_cycle(Closure& closure, const Order& order) {
  closure.lay_out(order);
  const auto& labels = closure.labels();
  const std::size_t m = labels.size();
  std::vector<std::uint8_t> state(m, 0);  // 0 new, 1 on the path, 2 done
  std::vector<std::pair<std::int32_t, std::size_t>> path;
  for (std::size_t start = 0; start < m; ++start) {
    if (state[start]) continue;
    path.assign(1, {static_cast<std::int32_t>(start), 0});
    state[start] = 1;
    while (!path.empty()) {
      const std::int32_t here = path.back().first;
      const auto& below = closure.below(here);
      if (path.back().second == below.size()) {
        state[static_cast<std::size_t>(here)] = 2;
        path.pop_back();
        continue;
      }
      const std::int32_t next = below[path.back().second++];
      if (state[static_cast<std::size_t>(next)] == 0) {
        state[static_cast<std::size_t>(next)] = 1;
        path.emplace_back(next, 0);
      } else if (state[static_cast<std::size_t>(next)] == 1) {
        std::vector<std::int32_t> cycle;
        std::size_t p = 0;
        while (path[p].first != next) ++p;
        for (; p < path.size(); ++p)
          cycle.push_back(labels[static_cast<std::size_t>(path[p].first)]);
        return cycle;
      }
    }
  }
  return {};
}

// Asked before each example; throws where the work should stop.
using GoOn = std::function<void()>;

// The first cycle of any example; no labels where there is none.
struct Cycle {
  std::int64_t example = -1;
  std::vector<std::int32_t> labels;
};

inline Cycle first_cycle(const Orders& orders, const GoOn& go_on) {
  Closure closure(orders.n_labels);
  for (std::int64_t i = 0; i < orders.n; ++i) {
    go_on();
    if (orders.form_of(i) != Form::pairs) continue;
    std::vector<std::int32_t> labels = find_cycle(closure, orders[i]);
    if (!labels.empty()) return {i, std::move(labels)};
  }
  return {};
}

// The first ranking that names a label twice, and the label; (-1, -1) where there is none.
inline std::pair<std::int64_t, std::int32_t> first_repeat(const Orders& orders) {
  std::vector<std::int64_t> seen(static_cast<std::size_t>(orders.n_labels) + 1, -1);
  for (std::int64_t i = 0; i < orders.n; ++i) {
    const Order order = orders[i];
    if (order.form != Form::adjacent && order.form != Form::all) continue;
    for (std::int64_t p = 0; p < order.size; ++p) {
      auto& last = seen[static_cast<std::size_t>(label_of(order.items[p]))];
      if (last == i) return {i, label_of(order.items[p])};
      last = i;
    }
  }
  return {-1, -1};
}

// The transitive closure of each example as pairs, ordered by over, then under.
struct PairLists {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> items;
};

inline PairLists closure_of(const Orders& orders, const GoOn& go_on) {
  PairLists made{std::vector<std::int64_t>(static_cast<std::size_t>(orders.n) + 1, 0), {}};
  Closure closure(orders.n_labels);
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::int64_t i = 0; i < orders.n; ++i) {
    go_on();
    const Order order = orders[i];
    pairs.clear();
    const auto collect = [&](std::int32_t a, std::int32_t b, double, double) {
      pairs.emplace_back(a, b);
    };
    if (order.form == Form::pairs) {
      closure.lay_out(order);
      for (const std::int32_t a : closure.labels()) {
        closure.reach(a);
        for (const std::int32_t b : closure.labels())
          if (closure.reached(closure.place_of(b))) pairs.emplace_back(a, b);
      }
    } else if (order.form == Form::adjacent) {
      Order full = order;
      full.form = Form::all;
      for_each_pair(full, orders.n_labels, collect);
    } else {
      for_each_pair(order, orders.n_labels, collect);
      if (order.form == Form::calibrated) {
        Order plain = order;
        plain.form = Form::set;
        for_each_pair(plain, orders.n_labels, collect);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [a, b] : pairs) {
      made.items.push_back(a);
      made.items.push_back(b);
    }
    made.indptr[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(made.items.size());
  }
  return made;
}

// For each item: does its pair stay in the transitive reduction? Of equal pairs the first stays.
inline std::vector<std::uint8_t> reduction_of(const Orders& orders, const GoOn& go_on) {
  std::vector<std::uint8_t> keep(static_cast<std::size_t>(orders.n_items), 1);
  Closure closure(orders.n_labels);
  std::vector<std::uint8_t> seen;
  for (std::int64_t i = 0; i < orders.n; ++i) {
    go_on();
    const Order order = orders[i];
    if (order.form != Form::pairs) continue;
    closure.lay_out(order);
    const std::int64_t first = order.items - orders.items;
    for (const std::int32_t a : closure.labels()) {
      // All that lies two steps or more below a.
      closure.begin_reach();
      for (const std::int32_t c : closure.below(closure.place_of(a))) closure.go_down(c);
      seen.assign(closure.labels().size(), 0);
      for (std::int64_t p = 0; p < order.size; p += 2) {
        if (order.items[p] != a) continue;
        const std::int32_t b = closure.place_of(order.items[p + 1]);
        auto& again = seen[static_cast<std::size_t>(b)];
        if (closure.reached(b) || again)
          keep[static_cast<std::size_t>(first + p)] =
              keep[static_cast<std::size_t>(first + p + 1)] = 0;
        again = 1;
      }
    }
  }
  return keep;
}

// For each example: is every pair of `a` in the closure of `b`?
inline std::vector<std::uint8_t> consistency(const Orders& a, const Orders& b, const GoOn& go_on) {
  std::vector<std::uint8_t> holds(static_cast<std::size_t>(a.n));
  Closure closure(b.n_labels);
  for (std::int64_t i = 0; i < a.n; ++i) {
    go_on();
    closure.lay_out(b[i]);
    bool all = true;
    for_each_pair(a[i], a.n_labels, [&](std::int32_t over, std::int32_t under, double, double) {
      all = all && closure.contains(over, under);
    });
    holds[static_cast<std::size_t>(i)] = all;
  }
  return holds;
}

}  // namespace kesler
