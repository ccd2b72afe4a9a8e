// What the augmented-Lagrangian Newton method (kesler/linear/_newton.py) needs of the rows: for
// classes, the worst pair as loss, dense X. Crammer and Singer's problem (2001, section 3) with its
// loss smoothed: instead of the worst l_r = 1 - [r is y] + s_r - s_y the largest of
// p.l - w/2 |p - c|^2 over the unit simplex, c the centre and w the width.
//
// Design. Scores of all rows are computed in one pass, block by block. A row whose two largest
// losses lie far apart has its p in a corner of the simplex wherever the next steps lead; such rows
// are added up once, as one table, and left out. What is left, the near rows, keep scores, scores
// of the direction, centre and p side by side, `lanes` numbers each. Sums go in T over short
// stretches and in double over those; threads take fixed parts, so that their number alone decides
// the bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace kesler {

template <class T>
class Newton {
 public:
  Newton(const LaneOps<T>& ops, const SmoothOps<T>& smooth, const Rows<T>& rows,
         const std::int32_t* y, std::int32_t k, std::int64_t lanes, bool intercept, int n_threads)
      : ops_(ops), smooth_(smooth), rows_(rows), y_(y), k_(k), lanes_(lanes),
        features_(rows.d + (intercept ? 1 : 0)), n_threads_(n_threads) {
    mask_.assign(static_cast<std::size_t>(lanes), T(0));
    std::fill(mask_.begin() + k, mask_.end(), T(-1e30f));
  }

  std::int64_t features() const { return features_; }
  std::int64_t lanes() const { return lanes_; }
  std::int32_t n_labels() const { return k_; }
  std::int64_t n_near() const { return static_cast<std::int64_t>(near_.size()); }
  std::int64_t n_picked() const { return static_cast<std::int64_t>(picked_.size()); }

  // The rows to learn from now on, and what each counts; centres in the corner of their own label.
  void pick(std::vector<std::int64_t> picked, std::vector<T> cap) {
    picked_ = std::move(picked);
    cap_ = std::move(cap);
    corner_.resize(picked_.size());
    for (std::size_t i = 0; i < picked_.size(); ++i) corner_[i] = y_[picked_[i]];
    near_.clear();
    centre_.clear();
  }

  // Centres from masses over caps, instead: those of picked row i are indptr[i]..indptr[i + 1].
  void place(const std::int64_t* indptr, const std::int32_t* labels, const T* values) {
    for (std::size_t i = 0; i < picked_.size(); ++i) {
      if (indptr[i] == indptr[i + 1] || !(cap_[i] > 0)) continue;
      near_.push_back(static_cast<std::uint32_t>(i));
      const std::size_t at = centre_.size();
      centre_.resize(at + static_cast<std::size_t>(lanes_), T(0));
      T left = 1;
      for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
        const T share = std::min(std::max(values[e] / cap_[i], T(0)), left);
        centre_[at + static_cast<std::size_t>(labels[e])] = share;
        left -= share;
      }
      centre_[at + static_cast<std::size_t>(y_[picked_[i]])] += left;
    }
  }

  // Scores all rows; those whose two largest losses lie within `reach` are near. `linear`, a table
  // in double, gets what the others give V. Returns the sum of cap times the worst loss.
  template <class Poll>
  double split(const T* W, double reach, double* linear, Poll poll, bool& done) {
    const std::int64_t n = n_picked();
    const auto parts = static_cast<std::size_t>(n_threads_);
    struct Part {
      double worst = 0, constant = 0;
      std::vector<std::uint32_t> near, dropped;
      std::vector<T> s, centre;
      std::vector<double> table;
    };
    std::vector<Part> found(parts);
    done = over_parts(
        n,
        [&](std::size_t t, std::int64_t begin, std::int64_t end) {
          Part& part = found[t];
          Sums sums(*this);
          std::vector<T> s(static_cast<std::size_t>(kBlock * lanes_));
          const T* x[kBlock];
          auto old = static_cast<std::size_t>(
              std::lower_bound(near_.begin(), near_.end(), static_cast<std::uint32_t>(begin)) -
              near_.begin());
          for (std::int64_t b = begin; b < end; b += kBlock) {
            const std::int64_t count = std::min(kBlock, end - b);
            for (std::int64_t i = 0; i < count; ++i) x[i] = row(b + i);
            score(x, count, W, s.data());
            for (std::int64_t i = 0; i < count; ++i) {
              const std::int64_t at = b + i;
              const bool was_near =
                  old < near_.size() && near_[old] == static_cast<std::uint32_t>(at);
              const T* of_row = s.data() + i * lanes_;
              const std::int32_t y = label(at);
              T first = 0, second = -kFar;
              std::int32_t top = y;
              for (std::int32_t r = 0; r < k_; ++r) {
                const T l = of_row[r] - of_row[y] + 1;
                if (r == y || !(l > second)) continue;
                if (l > first) {
                  second = first;
                  first = l;
                  top = r;
                } else {
                  second = l;
                }
              }
              const T cap = cap_[static_cast<std::size_t>(at)];
              part.worst += static_cast<double>(cap) * static_cast<double>(first);
              if (first - second <= static_cast<T>(reach)) {
                part.near.push_back(static_cast<std::uint32_t>(at));
                part.s.insert(part.s.end(), of_row, of_row + lanes_);
                const std::size_t to = part.centre.size();
                if (was_near) {
                  const T* from = centre_.data() + old * static_cast<std::size_t>(lanes_);
                  part.centre.insert(part.centre.end(), from, from + lanes_);
                } else {
                  part.centre.resize(to + static_cast<std::size_t>(lanes_), T(0));
                  part.centre[to +
                              static_cast<std::size_t>(corner_[static_cast<std::size_t>(at)])] = 1;
                }
              } else {
                corner_[static_cast<std::size_t>(at)] = top;
                if (top != y) {
                  part.constant += static_cast<double>(cap);
                  T* c = sums.next(x[i]);
                  c[y] += cap;
                  c[top] -= cap;
                }
              }
              old += was_near;
            }
          }
          part.table = sums.take();
        },
        poll);
    double worst = 0;
    constant_ = 0;
    near_.clear();
    s_.clear();
    centre_.clear();
    std::fill(linear, linear + features_ * lanes_, 0.0);
    for (Part& part : found) {
      worst += part.worst;
      constant_ += part.constant;
      near_.insert(near_.end(), part.near.begin(), part.near.end());
      s_.insert(s_.end(), part.s.begin(), part.s.end());
      centre_.insert(centre_.end(), part.centre.begin(), part.centre.end());
      for (std::size_t p = 0; p < part.table.size(); ++p) linear[p] += part.table[p];
      part = {};
    }
    pi_.resize(s_.size());
    t_.resize(s_.size());
    carriers_.assign(near_.size(), 0);
    near_cap_.resize(near_.size());
    near_y_.resize(near_.size());
    for (std::size_t i = 0; i < near_.size(); ++i) {
      near_cap_[i] = cap_[near_[i]];
      near_y_[i] = label(near_[i]);
    }
    return worst;
  }

  // The p of all near rows, and what they are worth.
  SmoothSums smooth(double width) {
    std::vector<SmoothSums> found(static_cast<std::size_t>(n_threads_));
    over_parts(
        n_near(),
        [&](std::size_t t, std::int64_t begin, std::int64_t end) {
          std::vector<T> work(static_cast<std::size_t>(2 * lanes_));
          for (std::int64_t b = begin; b < end; b += kBlock) {
            const SmoothRows<T> rows = block(b, end, T(0), width, work.data());
            const SmoothSums sums =
                smooth_.smooth(rows, pi_.data() + b * lanes_, carriers_.data() + b);
            found[t].value += sums.value;
            found[t].reached += sums.reached;
            found[t].worst += sums.worst;
          }
        },
        [] { return true; });
    SmoothSums total;
    for (const SmoothSums& sums : found) {
      total.value += sums.value;
      total.reached += sums.reached;
      total.worst += sums.worst;
    }
    return total;
  }

  // V gets what the near rows give it; returns the linear part of the dual, of all rows.
  double gradient(double* V) {
    std::vector<std::vector<double>> tables(static_cast<std::size_t>(n_threads_));
    std::vector<double> given(static_cast<std::size_t>(n_threads_), 0.0);
    over_parts(
        n_near(),
        [&](std::size_t t, std::int64_t begin, std::int64_t end) {
          Sums sums(*this);
          for (std::int64_t i = begin; i < end; ++i) {
            const T* p = pi_.data() + i * lanes_;
            const std::int32_t y = near_y_[static_cast<std::size_t>(i)];
            const T cap = near_cap_[static_cast<std::size_t>(i)];
            if (p[y] >= 1) continue;
            T* c = sums.next(row(near_[static_cast<std::size_t>(i)]));
            T away = 0;
            for (std::int32_t r = 0; r < k_; ++r) {
              if (r == y) continue;
              c[r] = -cap * p[r];
              away += cap * p[r];
            }
            c[y] = away;
            given[t] += static_cast<double>(away);
          }
          tables[t] = sums.take();
        },
        [] { return true; });
    std::fill(V, V + features_ * lanes_, 0.0);
    double linear = constant_;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      linear += given[t];
      for (std::size_t p = 0; p < tables[t].size(); ++p) V[p] += tables[t][p];
    }
    return linear;
  }

  // H, a square of k x features in double, gets what the near rows give it below its diagonal; of
  // so many pairs of carriers that more tell little, it gets what every so-manieth row gives.
  void hessian(double width, std::int64_t enough, double* H) {
    const std::int64_t stride = (features_ + 15) / 16 * 16;
    const auto k = static_cast<std::size_t>(k_);
    std::vector<std::vector<std::pair<std::uint32_t, T>>> members(k * k);
    std::vector<std::int32_t> carrying;
    std::int64_t pairs = 0;
    for (const std::int64_t m : carriers_) pairs += m * (m - 1) / 2;
    const auto every = static_cast<std::size_t>(std::max<std::int64_t>(1, pairs / enough));
    std::size_t seen = 0;
    for (std::size_t i = 0; i < near_.size(); ++i) {
      if (carriers_[i] < 2 || seen++ % every != 0) continue;
      const T* p = pi_.data() + i * static_cast<std::size_t>(lanes_);
      carrying.clear();
      for (std::int32_t r = 0; r < k_; ++r)
        if (p[r] > 0) carrying.push_back(r);
      const T scale = std::sqrt(static_cast<T>(every) * near_cap_[i] /
                                (static_cast<T>(width) * static_cast<T>(carrying.size())));
      for (std::size_t a = 0; a < carrying.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
          members[static_cast<std::size_t>(carrying[a]) * k + static_cast<std::size_t>(carrying[b])]
              .emplace_back(near_[i], scale);
    }
    std::vector<std::vector<T>> grams(k * k);
    one_by_one(k_ * k_, [&](std::int64_t pair) {
      const auto& rows = members[static_cast<std::size_t>(pair)];
      if (rows.empty()) return;
      auto& M = grams[static_cast<std::size_t>(pair)];
      M.assign(static_cast<std::size_t>(features_ * stride), T(0));
      std::vector<T> x(static_cast<std::size_t>(8 * stride), T(0));
      for (std::size_t b = 0; b < rows.size(); b += 8) {
        for (std::size_t i = 0; i < 8; ++i) {
          T* to = x.data() + static_cast<std::int64_t>(i) * stride;
          if (b + i >= rows.size()) {
            std::fill(to, to + stride, T(0));
            continue;
          }
          const auto [at, scale] = rows[b + i];
          const T* from = row(at);
          for (std::int64_t j = 0; j < rows_.d; ++j) to[j] = scale * from[j];
          if (features_ > rows_.d) to[rows_.d] = scale;
        }
        smooth_.gram(x.data(), features_, stride, M.data());
      }
      for (std::int64_t j = 0; j < features_; ++j)
        for (std::int64_t l = 0; l < j; ++l)
          M[static_cast<std::size_t>(l * stride + j)] = M[static_cast<std::size_t>(j * stride + l)];
    });
    const std::int64_t size = k_ * features_;
    one_by_one(k_, [&](std::int64_t a) {
      double* const block = H + a * features_ * size;
      std::fill(block, block + features_ * size, 0.0);
      for (std::int64_t b = 0; b < k_; ++b) {
        const auto& M = grams[static_cast<std::size_t>(std::max(a, b) * k_ + std::min(a, b))];
        if (M.empty()) continue;
        for (std::int64_t j = 0; j < features_; ++j) {
          const T* from = M.data() + j * stride;
          double* own = block + j * size + a * features_;
          double* other = block + j * size + b * features_;
          for (std::int64_t l = 0; l <= j; ++l) own[l] += static_cast<double>(from[l]);
          for (std::int64_t l = 0; b < a && l < features_; ++l)
            other[l] = -static_cast<double>(from[l]);
        }
      }
    });
  }

  // out = what the near rows give H, times p; tables. Of more than `enough` rows of many carriers
  // every so-manieth stands for all.
  void product(double width, std::int64_t enough, const T* p, double* out) {
    std::int64_t carried = 0;
    for (const std::int32_t carriers : carriers_) carried += carriers >= 2;
    const std::int64_t every = std::max<std::int64_t>(1, carried / enough);
    std::vector<std::vector<double>> tables(static_cast<std::size_t>(n_threads_));
    over_parts(
        n_near(),
        [&](std::size_t t, std::int64_t begin, std::int64_t end) {
          Sums sums(*this);
          std::vector<T> u(static_cast<std::size_t>(kBlock * lanes_));
          const T* x[kBlock];
          std::int64_t who[kBlock];
          std::int64_t count = 0;
          const auto flush = [&] {
            score(x, count, p, u.data());
            for (std::int64_t b = 0; b < count; ++b) {
              const T* mine = u.data() + b * lanes_;
              const T* pi = pi_.data() + who[b] * lanes_;
              T sum = 0, carriers = 0;
              for (std::int32_t r = 0; r < k_; ++r) {
                const T in = pi[r] > 0 ? T(1) : T(0);
                sum += in * mine[r];
                carriers += in;
              }
              const T mean = sum / carriers;
              const T scale = static_cast<T>(every) * near_cap_[static_cast<std::size_t>(who[b])] /
                              static_cast<T>(width);
              T* c = sums.next(x[b]);
              for (std::int32_t r = 0; r < k_; ++r)
                c[r] = pi[r] > 0 ? scale * (mine[r] - mean) : T(0);
            }
            count = 0;
          };
          for (std::int64_t i = (begin + every - 1) / every * every; i < end; i += every) {
            if (carriers_[static_cast<std::size_t>(i)] < 2) continue;
            x[count] = row(near_[static_cast<std::size_t>(i)]);
            who[count] = i;
            if (++count == kBlock) flush();
          }
          if (count > 0) flush();
          tables[t] = sums.take();
        },
        [] { return true; });
    std::fill(out, out + features_ * lanes_, 0.0);
    for (const auto& table : tables)
      for (std::size_t p2 = 0; p2 < table.size(); ++p2) out[p2] += table[p2];
  }

  // How much there is of the sum over near rows of H times the width: of what `carrying` counts.
  double carried() const {
    double sum = 0;
    for (std::size_t i = 0; i < near_.size(); ++i)
      if (carriers_[i] >= 2) sum += static_cast<double>(near_cap_[i]) * (carriers_[i] - 1);
    return sum;
  }

  // The rows of which several labels carry mass, and what each counts in the blocks of all labels
  // of H times the width: its cap times carriers - 1.
  void carrying(std::vector<std::int64_t>& rows, std::vector<T>& counts) const {
    for (std::size_t i = 0; i < near_.size(); ++i) {
      if (carriers_[i] < 2) continue;
      rows.push_back(picked_[near_[i]]);
      counts.push_back(near_cap_[i] * static_cast<T>(carriers_[i] - 1));
    }
  }

  // Scores of the near rows in the direction p.
  void aim(const T* p) {
    over_parts(
        n_near(),
        [&](std::size_t, std::int64_t begin, std::int64_t end) {
          const T* x[kBlock];
          for (std::int64_t b = begin; b < end; b += kBlock) {
            const std::int64_t count = std::min(kBlock, end - b);
            for (std::int64_t i = 0; i < count; ++i)
              x[i] = row(near_[static_cast<std::size_t>(b + i)]);
            score(x, count, p, t_.data() + b * lanes_);
          }
        },
        [] { return true; });
  }

  // The derivative of the near rows' smoothed loss along the direction, a step away.
  double slope(double step, double width) {
    std::vector<double> found(static_cast<std::size_t>(n_threads_), 0.0);
    over_parts(
        n_near(),
        [&](std::size_t t, std::int64_t begin, std::int64_t end) {
          std::vector<T> work(static_cast<std::size_t>(2 * lanes_));
          for (std::int64_t b = begin; b < end; b += kBlock)
            found[t] += smooth_.slope(block(b, end, static_cast<T>(step), width, work.data()));
        },
        [] { return true; });
    double sum = 0;
    for (const double part : found) sum += part;
    return sum;
  }

  void move(double step) {
    const auto by = static_cast<T>(step);
    for (std::size_t p = 0; p < s_.size(); ++p) s_[p] += by * t_[p];
  }

  // Centres go to where the p are.
  void recentre() { centre_ = pi_; }

  // Masses of all picked rows as their centres tell them: label and mass, of labels other than the
  // row's own.
  void masses(std::vector<std::int64_t>& indptr, std::vector<std::int32_t>& labels,
              std::vector<T>& values) const {
    indptr.assign(1, 0);
    std::size_t at = 0;
    for (std::size_t i = 0; i < picked_.size(); ++i) {
      const std::int32_t y = label(static_cast<std::int64_t>(i));
      if (at < near_.size() && near_[at] == i) {
        const T* c = centre_.data() + at++ * static_cast<std::size_t>(lanes_);
        for (std::int32_t r = 0; r < k_; ++r)
          if (r != y && c[r] > 0) {
            labels.push_back(r);
            values.push_back(cap_[i] * c[r]);
          }
      } else if (corner_[i] != y) {
        labels.push_back(corner_[i]);
        values.push_back(cap_[i]);
      }
      indptr.push_back(static_cast<std::int64_t>(labels.size()));
    }
  }

 private:
  static constexpr std::int64_t kBlock = 64;
  static constexpr T kFar = T(1e30f);

  // A table of sums over rows: in T over a stretch of rows, in double over the stretches.
  class Sums {
   public:
    explicit Sums(const Newton& newton)
        : newton_(newton), size_(static_cast<std::size_t>(newton.features_ * newton.lanes_)),
          table_(size_, T(0)), wide_(size_, 0.0),
          c_(static_cast<std::size_t>(kBlock * newton.lanes_), T(0)) {}

    // Zeros to be filled with what the row counts for each label, before the next call.
    T* next(const T* x) {
      if (count_ == kBlock) add();
      x_[count_] = x;
      return c_.data() + count_++ * newton_.lanes_;
    }

    std::vector<double> take() {
      add();
      widen();
      return std::move(wide_);
    }

   private:
    void add() {
      newton_.ops_.add_rows(x_, count_, newton_.rows_.d, c_.data(), newton_.lanes_, table_.data());
      if (newton_.features_ > newton_.rows_.d) {
        T* bias = table_.data() + newton_.rows_.d * newton_.lanes_;
        for (std::int64_t i = 0; i < count_; ++i)
          for (std::int64_t r = 0; r < newton_.lanes_; ++r) bias[r] += c_[at(i, r)];
      }
      std::fill(c_.begin(), c_.end(), T(0));
      count_ = 0;
      if (++blocks_ % 16 == 0) widen();
    }
    std::size_t at(std::int64_t i, std::int64_t r) const {
      return static_cast<std::size_t>(i * newton_.lanes_ + r);
    }
    void widen() {
      for (std::size_t p = 0; p < size_; ++p) {
        wide_[p] += static_cast<double>(table_[p]);
        table_[p] = 0;
      }
    }

    const Newton& newton_;
    const std::size_t size_;
    std::vector<T> table_;
    std::vector<double> wide_;
    std::vector<T> c_;
    const T* x_[kBlock];
    std::int64_t count_ = 0;
    int blocks_ = 0;
  };

  const T* row(std::int64_t at) const {
    return rows_.values + picked_[static_cast<std::size_t>(at)] * rows_.d;
  }
  std::int32_t label(std::int64_t at) const { return y_[picked_[static_cast<std::size_t>(at)]]; }

  void score(const T* const* x, std::int64_t count, const T* W, T* s) const {
    const T* bias = features_ > rows_.d ? W + rows_.d * lanes_ : nullptr;
    ops_.score_rows(x, count, rows_.d, W, lanes_, bias, s);
  }

  SmoothRows<T> block(std::int64_t begin, std::int64_t end, T step, double width, T* work) const {
    const std::int64_t at = begin * lanes_;
    return {std::min(kBlock, end - begin),
            lanes_,
            s_.data() + at,
            step != 0 ? t_.data() + at : nullptr,
            centre_.data() + at,
            near_y_.data() + begin,
            near_cap_.data() + begin,
            mask_.data(),
            step,
            static_cast<T>(width),
            work};
  }

  // Calls body(i) for 0..n, on all threads.
  template <class Body>
  void one_by_one(std::int64_t n, Body body) const {
    if (n_threads_ == 1) {
      for (std::int64_t i = 0; i < n; ++i) body(i);
      return;
    }
    over_blocks(
        n, 1, n_threads_, [&](std::int64_t i, std::int64_t) { body(i); }, [] { return true; });
  }

  // Calls body(part, begin, end) for as many even parts of 0..n as there are threads.
  template <class Body, class Poll>
  bool over_parts(std::int64_t n, Body body, Poll poll) const {
    if (n == 0) return true;
    if (n_threads_ == 1) {
      body(std::size_t{0}, std::int64_t{0}, n);
      return true;
    }
    return over_blocks(
        n_threads_, 1, n_threads_,
        [&](std::int64_t t, std::int64_t) {
          body(static_cast<std::size_t>(t), n * t / n_threads_, n * (t + 1) / n_threads_);
        },
        poll);
  }

  const LaneOps<T> ops_;
  const SmoothOps<T> smooth_;
  const Rows<T> rows_;
  const std::int32_t* const y_;
  const std::int32_t k_;
  const std::int64_t lanes_, features_;
  const int n_threads_;
  std::vector<T> mask_;
  std::vector<std::int64_t> picked_;
  std::vector<T> cap_;
  std::vector<std::int32_t> corner_;  // of a row that is not near, the label with all its mass
  double constant_ = 0;               // what such rows give the dual's linear part
  std::vector<std::uint32_t> near_;   // places in picked_
  std::vector<T> s_, t_, centre_, pi_, near_cap_;
  std::vector<std::int32_t> near_y_, carriers_;
};

}  // namespace kesler
