// The dual variables of a constraint machine that are not zero, example by example: what Crammer
// and Singer (2001, section 6) call the low memory of their method, the non-zero part of m x k.
//
// Design. An example has a short list of (key, value > 0) in any order; what a key means
// depends on the shape of the example's order, see `Shape`. Lists live in chunks that never move,
// so several threads may write the lists of different examples, each into chunks of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "orders.hpp"

namespace kesler {

// How the pairs of an example hang together, and so what a dual variable belongs to.
enum class Shape : std::uint8_t {
  none,       // no pairs
  one_class,  // a set of one: key is the rival
  centred,    // every pair has the virtual label in it (calibrated sets): key is the other label
  fan,        // explicit pairs with one label over all others: key is the place of the pair
  sides,      // a set of several with the worst pair as loss: keys are labels of both sides
  pairs,      // anything else: key is the place of the pair in order of storage
};

enum class Aggregate : std::uint8_t { max, sum };
enum class Loss : std::uint8_t { hinge, squared_hinge };

inline Shape shape_of(const Order& order, std::int32_t n_labels, Aggregate aggregate) {
  switch (order.form) {
    case Form::set:
      if (order.size == 0 || order.size >= n_labels) return Shape::none;
      if (order.size == 1) return Shape::one_class;
      return aggregate == Aggregate::max ? Shape::sides : Shape::pairs;
    case Form::calibrated:
      if (n_labels == 0) return Shape::none;
      return aggregate == Aggregate::sum ? Shape::centred : Shape::pairs;
    case Form::pairs: {
      if (order.size == 0) return Shape::none;
      for (std::int64_t p = 2; p < order.size; p += 2)
        if (order.items[p] != order.items[0] || order.items[p + 1] <= order.items[p - 1])
          return Shape::pairs;
      return Shape::fan;
    }
    case Form::adjacent:
    case Form::all:
      return count_pairs(order, n_labels) > 0 ? Shape::pairs : Shape::none;
  }
  return Shape::none;
}

// Which labels a dual variable pulls apart, and what its pair asks for and counts.
class Spread {
 public:
  Spread(const Order& order, Shape shape, std::int32_t n_labels)
      : order_(order), shape_(shape), k_(n_labels) {
    if (shape == Shape::pairs && order.form != Form::pairs) {
      for_each_pair(order, k_, [&](std::int32_t a, std::int32_t b, double, double) {
        ends_.push_back({a, b});
      });
    }
  }

  // The pair of a key as (over, under); of `sides`, the label and -1, or -1 and the label.
  std::pair<std::int32_t, std::int32_t> operator()(std::int32_t key) const {
    switch (shape_) {
      case Shape::one_class:
        return {order_.items[0], key};
      case Shape::centred:
        return in_set(key) ? std::pair{key, k_} : std::pair{k_, key};
      case Shape::sides:
        return in_set(key) ? std::pair{key, std::int32_t{-1}} : std::pair{std::int32_t{-1}, key};
      default:
        if (order_.form == Form::pairs)
          return {order_.items[2 * std::int64_t{key}], order_.items[2 * std::int64_t{key} + 1]};
        return ends_[static_cast<std::size_t>(key)];
    }
  }

  // Margin and weight of the pair of a key.
  double margin(std::int32_t key) const {
    return order_.form == Form::pairs && order_.margin ? order_.margin[2 * std::int64_t{key}] : 1.0;
  }
  double weight(std::int32_t key) const {
    return order_.form == Form::pairs && order_.weight ? order_.weight[2 * std::int64_t{key}] : 1.0;
  }

  std::int64_t n_keys() const {
    switch (shape_) {
      case Shape::none:
        return 0;
      case Shape::fan:
      case Shape::pairs:
        return order_.form == Form::pairs ? order_.size / 2
                                          : static_cast<std::int64_t>(ends_.size());
      default:
        return k_;
    }
  }

 private:
  bool in_set(std::int32_t label) const {
    return std::binary_search(order_.items, order_.items + order_.size, label);
  }

  const Order order_;
  const Shape shape_;
  const std::int32_t k_;
  std::vector<std::pair<std::int32_t, std::int32_t>> ends_;
};

template <class T>
struct Dual {
  std::int32_t key;
  T value;
};

// Memory that is handed out and kept until all of it goes.
template <class T>
class Arena {
 public:
  Dual<T>* take(std::int32_t count) {
    if (count > left_) {
      const std::int64_t size = std::max<std::int64_t>(count, kChunk);
      chunks_.push_back(std::make_unique_for_overwrite<Dual<T>[]>(static_cast<std::size_t>(size)));
      next_ = chunks_.back().get();
      left_ = size;
    }
    Dual<T>* taken = next_;
    next_ += count;
    left_ -= count;
    return taken;
  }

 private:
  static constexpr std::int64_t kChunk = 1 << 14;
  std::vector<std::unique_ptr<Dual<T>[]>> chunks_;
  Dual<T>* next_ = nullptr;
  std::int64_t left_ = 0;
};

template <class T>
class Duals {
 public:
  void resize(std::int64_t n, int n_arenas) {
    slots_.assign(static_cast<std::size_t>(n), {});
    arenas_.resize(static_cast<std::size_t>(n_arenas));
  }

  std::span<const Dual<T>> of(std::int64_t i) const {
    const Slot& slot = slots_[static_cast<std::size_t>(i)];
    return {slot.data, static_cast<std::size_t>(slot.size)};
  }

  // Room for `size` variables of example i, whose size becomes that; old values may be gone.
  Dual<T>* rewrite(std::int64_t i, std::int32_t size, int arena) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    if (size > slot.capacity) {
      slot.capacity = std::max(size, slot.capacity * 2);
      slot.data = arenas_[static_cast<std::size_t>(arena)].take(slot.capacity);
    }
    slot.size = size;
    return slot.data;
  }

  void scale(T factor) {
    for (Slot& slot : slots_)
      for (std::int32_t e = 0; e < slot.size; ++e) slot.data[e].value *= factor;
  }

  std::int64_t count() const {
    std::int64_t total = 0;
    for (const Slot& slot : slots_) total += slot.size;
    return total;
  }

  // Where the list of example i is told, and where it is: to be brought nearer, one before the
  // other.
  const void* place(std::int64_t i) const { return &slots_[static_cast<std::size_t>(i)]; }
  const void* list(std::int64_t i) const { return slots_[static_cast<std::size_t>(i)].data; }

 private:
  struct Slot {
    Dual<T>* data = nullptr;
    std::int32_t size = 0, capacity = 0;
  };
  std::vector<Slot> slots_;
  std::vector<Arena<T>> arenas_;
};

}  // namespace kesler
