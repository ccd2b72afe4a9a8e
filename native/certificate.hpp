// The duality gap over all examples, from the dual variables and the weights alone, in double
// precision. It shares no sum with the solvers: what they got wrong shows here.
//
// Design. Masses are first put back among those that are allowed (rounding, or a fault, may have
// left them outside), so the dual value is a true lower bound whatever was given. Then V = sum of
// masses * x is added up, a stretch of labels at a time in a double table, examples in order; the
// dual is read from V and the masses, the primal from scores of all rows. Blocks of work write to
// places of their own and are added in order, so the result does not depend on the threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "duals.hpp"
#include "parallel.hpp"
#include "reduced.hpp"

namespace kesler {

// Dual variables as arrays: those of example i are indptr[i]..indptr[i + 1].
template <class T>
struct Masses {
  const std::int64_t* indptr;
  const std::int32_t* keys;
  const T* values;
};

struct Certified {
  double primal = 0, dual = 0;
  double margin = std::numeric_limits<double>::infinity();  // the smallest difference over pairs
  bool done = true;
};

template <class T>
class Certificate {
 public:
  Certificate(const Problem<T>& problem, const Masses<T>& masses) : problem_(problem) {
    n_ = problem.rows.n;
    k_ = problem.orders.n_labels;
    read(masses);
  }

  // Share of label r in example i's row of weights.
  struct Share {
    std::int64_t example;
    std::int32_t label;
    double value;
  };
  const std::vector<Share>& shares() const { return shares_; }

  // W is overwritten with V where `rebuild`.
  template <class Poll>
  Certified run(T* W, bool rebuild, int n_threads, Poll poll) {
    Certified found;
    double norm2 = 0;
    found.done = add_up(rebuild ? W : nullptr, n_threads, poll, norm2);
    found.dual = std::max(linear_ - norm2 / 2, 0.0);  // no masses at all give 0
    if (found.done) found.done = judge(W, n_threads, poll, found);
    return found;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void read(const Masses<T>& masses) {
    const auto k = static_cast<std::size_t>(k_) + 1;
    std::vector<double> sum(k, 0.0);
    std::vector<std::int32_t> touched;
    std::vector<double> values;
    const auto add = [&](std::int32_t label, double value) {
      if (label < 0 || value == 0) return;
      double& to = sum[static_cast<std::size_t>(label)];
      if (to == 0) touched.push_back(label);
      to += value;
    };
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int64_t begin = masses.indptr[i], end = masses.indptr[i + 1];
      if (begin == end) continue;
      const Order order = problem_.orders[i];
      const Shape shape = shape_of(order, k_, problem_.aggregate);
      const Spread spread(order, shape, k_);
      for (std::int64_t e = begin; e < end; ++e)
        if (masses.keys[e] < 0 || masses.keys[e] >= spread.n_keys() ||
            (shape == Shape::one_class && masses.keys[e] == order.items[0]))
          throw std::invalid_argument("a dual variable of example " + std::to_string(i) +
                                      " belongs to no pair");
      allow(masses, begin, end, spread, shape, problem_.cap(i), values);
      touched.clear();
      for (std::int64_t e = begin; e < end; ++e) {
        const double value = values[static_cast<std::size_t>(e - begin)];
        const auto [over, under] = spread(masses.keys[e]);
        add(over, value);
        add(under, -value);
      }
      std::sort(touched.begin(), touched.end());
      for (const std::int32_t label : touched) {
        double& value = sum[static_cast<std::size_t>(label)];
        if (value != 0) shares_.push_back({i, label, value});
        value = 0;
      }
    }
  }

  // The masses of an example as they may be; counts what they give the dual.
  void allow(const Masses<T>& masses, std::int64_t begin, std::int64_t end, const Spread& spread,
             Shape shape, double cap, std::vector<double>& values) {
    values.clear();
    const bool sums = problem_.sums(), squares = problem_.squares();
    double over = 0, under = 0;  // totals; of all but two tiers the first is the total
    for (std::int64_t e = begin; e < end; ++e) {
      const std::int32_t key = masses.keys[e];
      double value = std::max(static_cast<double>(masses.values[e]), 0.0);
      if (!(value < kInfinity) || !(cap > 0)) value = 0;
      if (sums && !squares) value = std::min(value, cap * spread.weight(key));
      values.push_back(value);
      (shape == Shape::sides && spread(key).first < 0 ? under : over) += value;
    }
    double total = over;
    if (shape == Shape::sides) total = std::min(over, under);
    if (!sums && !squares) total = std::min(total, cap);
    double squared = 0;
    for (std::int64_t e = begin; e < end; ++e) {
      const std::int32_t key = masses.keys[e];
      double& value = values[static_cast<std::size_t>(e - begin)];
      const bool below = shape == Shape::sides && spread(key).first < 0;
      const double mine = below ? under : over;
      if (total < mine) value *= total / mine;
      if (below) continue;
      linear_ += spread.margin(key) * value;
      if (squares && sums && cap > 0) squared += value * (value / cap / spread.weight(key));
    }
    // In this order neither a tiny nor a huge C makes a square of what a double cannot hold.
    if (squares && cap > 0) linear_ -= (sums ? squared : total * (total / cap)) / 4;
  }

  // Several sums side by side, for the adder to be busy.
  template <class U>
  static double squared_norm(const U* w, std::int64_t size) {
    constexpr std::int64_t kSums = 16;
    double sums[kSums] = {};
    std::int64_t p = 0;
    for (; p + kSums <= size; p += kSums)
      for (std::int64_t l = 0; l < kSums; ++l)
        sums[l] += static_cast<double>(w[p + l]) * static_cast<double>(w[p + l]);
    for (; p < size; ++p) sums[0] += static_cast<double>(w[p]) * static_cast<double>(w[p]);
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum;
  }

  template <class Poll>
  bool add_up(T* W, int n_threads, Poll poll, double& norm2) {
    const std::int64_t lanes = problem_.lanes, d = problem_.rows.d;
    const std::int64_t rows = d + (problem_.intercept ? 1 : 0);
    const std::int64_t width = lanes <= 16 ? (n_threads > 1 && lanes > 4 ? lanes / 2 : lanes) : 16;
    const std::int64_t groups = lanes / width;
    std::vector<std::size_t> ends(static_cast<std::size_t>(groups) + 1, 0);
    for (const Share& share : shares_) ++ends[static_cast<std::size_t>(share.label / width) + 1];
    for (std::size_t g = 1; g < ends.size(); ++g) ends[g] += ends[g - 1];
    std::vector<std::size_t> at(ends.begin(), ends.end() - 1);
    std::vector<std::size_t> place(shares_.size());
    for (std::size_t p = 0; p < shares_.size(); ++p)
      place[at[static_cast<std::size_t>(shares_[p].label / width)]++] = p;
    std::vector<double> norms(static_cast<std::size_t>(groups), 0.0);
    const std::int64_t block = std::min<std::int64_t>((groups + n_threads - 1) / n_threads, 8);
    const auto add_group = [&](std::int64_t group, std::vector<double>& table) {
      const auto g = static_cast<std::size_t>(group);
      std::fill(table.begin(), table.end(), 0.0);
      std::vector<double> step(static_cast<std::size_t>(width), 0.0);
      Row<T> row;
      for (std::size_t p = ends[g]; p < ends[g + 1];) {
        const std::int64_t i = shares_[place[p]].example;
        std::fill(step.begin(), step.end(), 0.0);
        for (; p < ends[g + 1] && shares_[place[p]].example == i; ++p)
          step[static_cast<std::size_t>(shares_[place[p]].label - group * width)] =
              shares_[place[p]].value;
        problem_.rows.read(i, row);
        problem_.ops.add_wide(row, step.data(), width, table.data());
        if (problem_.intercept)
          for (std::int64_t l = 0; l < width; ++l)
            table[static_cast<std::size_t>(d * width + l)] += step[static_cast<std::size_t>(l)];
      }
      norms[g] = squared_norm(table.data(), rows * width);
      if (!W) return;
      for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t l = 0; l < width; ++l)
          W[j * lanes + group * width + l] =
              static_cast<T>(table[static_cast<std::size_t>(j * width + l)]);
    };
    const bool done = over_blocks(
        groups, block, n_threads,
        [&](std::int64_t begin, std::int64_t end) {
          std::vector<double> table(static_cast<std::size_t>(rows * width));
          for (std::int64_t group = begin; group < end; ++group) add_group(group, table);
        },
        poll);
    for (const double sum : norms) norm2 += sum;
    return done;
  }

  template <class Poll>
  bool judge(const T* W, int n_threads, Poll poll, Certified& found) {
    constexpr std::int64_t kBlock = 256;
    const std::int64_t lanes = problem_.lanes, d = problem_.rows.d;
    const std::int64_t size = (d + (problem_.intercept ? 1 : 0)) * lanes;
    const auto blocks = static_cast<std::size_t>((n_ + kBlock - 1) / kBlock);
    std::vector<double> losses(blocks, 0.0), margins(blocks, kInfinity);
    const bool done = over_blocks(
        n_, kBlock, n_threads,
        [&](std::int64_t begin, std::int64_t end) {
          std::vector<double> s(static_cast<std::size_t>(lanes));
          Row<T> row;
          for (std::int64_t b = begin; b < end; b += kBlock) {
            const auto block = static_cast<std::size_t>(b / kBlock);
            for (std::int64_t i = b; i < std::min(b + kBlock, end); ++i) {
              problem_.rows.read(i, row);
              problem_.ops.score_wide(row, W, lanes, problem_.intercept ? W + d * lanes : nullptr,
                                      s.data());
              losses[block] += problem_.cap(i) * loss(i, s.data(), margins[block]);
            }
          }
        },
        poll);
    found.primal = squared_norm(W, size) / 2;
    for (const double sum : losses) found.primal += sum;
    for (const double margin : margins) found.margin = std::min(found.margin, margin);
    return done;
  }

  // L of one example; brings `margin` down to its smallest difference.
  double loss(std::int64_t i, const double* s, double& margin) const {
    const bool sums = problem_.sums(), squares = problem_.squares();
    const Order order = problem_.orders[i];
    if (order.form == Form::set && !sums) {  // of two tiers only the ends that meet matter
      double low = kInfinity, high = -kInfinity;
      for (std::int64_t p = 0; p < order.size; ++p) low = std::min(low, s[order.items[p]]);
      for_each_rest(order, k_, [&](std::int32_t b) { high = std::max(high, s[b]); });
      const double ahead = low - high;  // infinite without pairs
      margin = std::min(margin, ahead);
      const double h = std::max(1 - ahead, 0.0);
      return squares ? h * h : h;
    }
    double worst = 0, sum = 0;
    for_each_pair(order, k_, [&](std::int32_t a, std::int32_t b, double wanted, double weight) {
      const double ahead = s[a] - s[b];
      margin = std::min(margin, ahead);
      const double h = std::max(wanted - ahead, 0.0);
      worst = std::max(worst, h);
      sum += weight * (squares ? h * h : h);
    });
    return sums ? sum : squares ? worst * worst : worst;
  }

  const Problem<T>& problem_;
  std::int64_t n_ = 0;
  std::int32_t k_ = 0;
  std::vector<Share> shares_;
  double linear_ = 0;
};

}  // namespace kesler
