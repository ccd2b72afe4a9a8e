// One example's own dual problem: score its row, find the best masses of its pairs while all other
// examples stand still, and move the weights by the change. Crammer and Singer (2001, section 5)
// for classes; every other shape of order, both aggregates and both losses, in the same frame.
//
// Design. Where a shape has a closed form (threshold.hpp) the answer is exact. General pairs under
// "sum" are swept by clipped steps, under "max" mass goes from the pair of least gradient to the
// one of greatest, until little violation is left; the scores of the labels stand for the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "duals.hpp"
#include "rows.hpp"
#include "threshold.hpp"

namespace kesler {

// What is minimised: |W|^2 / 2 + C sum_i q_i L_i, and where it is read from.
template <class T>
struct Problem {
  LaneOps<T> ops;
  Rows<T> rows;
  Orders orders;
  const double* weight = nullptr;  // q, null: 1 each
  double C = 1;
  Aggregate aggregate = Aggregate::max;
  Loss loss = Loss::hinge;
  bool intercept = false;
  std::int64_t lanes = 0;

  std::vector<T> norm;        // squared norm of each row with its constant feature
  std::vector<Shape> shapes;  // empty: all one_class

  double cap(std::int64_t i) const { return C * (weight ? weight[i] : 1.0); }
  Shape shape(std::int64_t i) const {
    return shapes.empty() ? Shape::one_class : shapes[static_cast<std::size_t>(i)];
  }
  bool sums() const { return aggregate == Aggregate::sum; }
  bool squares() const { return loss == Loss::squared_hinge; }
};

// What a visit changed, summed up over visits.
struct Totals {
  double loss = 0;    // sum of C q L, as seen before each visit
  double linear = 0;  // change of sum of margin * mass - R
  double norm2 = 0;   // change of |W|^2
};

template <class T>
struct Visit {
  T violation = 0;       // of the optimality conditions before the visit
  bool settled = false;  // nothing moved, and every mass is at a bound
};

template <class T>
struct Move {
  std::int32_t label;
  T step;
};

// The features whose weights one of several workers keeps to itself.
struct Share {
  std::int64_t begin, end;
  bool constant = true;  // the constant one too?
  // Where its part of each sparse row begins and ends; null where rows are in no order.
  const std::int32_t* first = nullptr;
  const std::int32_t* last = nullptr;
};

template <class T>
class Reduced {
 public:
  Reduced(const Problem<T>& problem, Duals<T>& duals, T* weights, int arena)
      : problem_(problem), duals_(duals), W_(weights), arena_(arena), k_(problem.orders.n_labels) {
    const auto lanes = static_cast<std::size_t>(problem.lanes);
    scores_.assign(lanes + 1, T(0));
    step_.assign(lanes, T(0));
    found_.assign(lanes, 0);
    mass_.assign(lanes, T(0));
    marked_.assign(lanes, 0);
    v_.assign(lanes + 16, T(0));
    old_.assign(lanes + 16, T(0));
    key_.assign(lanes + 16, 0);
  }

  Totals totals;
  T curvature = 1;  // at which the example's own quadratic term is counted
  std::int64_t row_size() const { return row_.size; }
  const std::vector<Move<T>>& moves() const { return moves_; }

  Visit<T> visit(std::int64_t i) {
    const Share all{0, problem_.rows.d};
    score(i, all, scores_.data());
    settle(i);
    apply(all);
    return seen_;
  }

  // What a share of the weights gives the scores of example i.
  void score(std::int64_t i, const Share& share, T* s) {
    read(i, share);
    const T* bias = problem_.intercept && share.constant ? bias_row() : nullptr;
    problem_.ops.score(row_, first_row(share), problem_.lanes, bias, s);
  }

  // The moves of a visit whose scores are the sum of `parts`, which lie `lanes` apart, and of what
  // `found`, the moves found since, give them by the constant feature that all rows share.
  Visit<T> find(std::int64_t i, const T* partial, std::int64_t parts,
                const std::vector<Move<T>>& found) {
    const std::int64_t lanes = problem_.lanes;
    std::copy(partial, partial + lanes, scores_.begin());
    for (std::int64_t p = 1; p < parts; ++p)
      for (std::int64_t l = 0; l < lanes; ++l)
        scores_[static_cast<std::size_t>(l)] += partial[p * lanes + l];
    if (problem_.intercept)
      for (const Move<T>& move : found) scores_[static_cast<std::size_t>(move.label)] += move.step;
    return settle(i);
  }

  // Makes the moves begin..end of example i, whoever found them, in a share of the weights.
  void follow(std::int64_t i, const std::vector<Move<T>>& moves, std::size_t begin, std::size_t end,
              const Share& share) {
    read(i, share);
    moves_.assign(moves.begin() + static_cast<std::ptrdiff_t>(begin),
                  moves.begin() + static_cast<std::ptrdiff_t>(end));
    apply(share);
  }

  // A row of zeros: its pairs cost what they cost, whatever the weights. Its masses never change.
  void place_flat(std::int64_t i) {
    const Order order = problem_.orders[i];
    const Shape shape = problem_.shape(i);
    const auto cap = static_cast<T>(problem_.cap(i));
    const Spread spread(order, shape, k_);
    flat_.clear();
    T most = 0;
    std::int32_t worst = -1, at = 0;
    for_each_pair(order, k_, [&](std::int32_t a, std::int32_t b, double margin, double weight) {
      const std::int32_t key = shape == Shape::one_class ? b
                               : shape == Shape::centred ? (a == k_ ? b : a)
                                                         : at;
      ++at;
      const auto delta = static_cast<T>(margin);
      if (delta > most || worst < 0) {
        most = delta;
        worst = key;
        ends_ = {a, b};
      }
      if (!problem_.sums() || !(delta > 0)) return;
      const T share = cap * static_cast<T>(weight);
      flat_.push_back({key, problem_.squares() ? 2 * share * delta : share});
    });
    if (!problem_.sums() && most > 0) {
      const T total = problem_.squares() ? 2 * cap * most : cap;
      if (shape == Shape::sides) {
        flat_.push_back({ends_.first, total});
        flat_.push_back({ends_.second, total});
      } else {
        flat_.push_back({worst, total});
      }
    }
    write(i, flat_);
  }

 private:
  static constexpr T kTiny = 4 * std::numeric_limits<T>::epsilon();
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  T* bias_row() const { return W_ + problem_.rows.d * problem_.lanes; }
  // Where the weights of a row's first feature stand, if it is dense and cut to the share.
  T* first_row(const Share& share) const {
    return row_.kind == Index::dense ? W_ + share.begin * problem_.lanes : W_;
  }

  // The row of example i, as far as its features are of the share.
  void read(std::int64_t i, const Share& share) {
    problem_.rows.read(i, row_);
    if (share.begin == 0 && share.end == problem_.rows.d) return;
    switch (row_.kind) {
      case Index::dense:
        row_.values += share.begin;
        row_.size = share.end - share.begin;
        break;
      case Index::int32:
        cut(i, static_cast<const std::int32_t*>(row_.index), share, cut32_);
        break;
      case Index::int64:
        cut(i, static_cast<const std::int64_t*>(row_.index), share, cut64_);
        break;
    }
  }

  // A sparse row in order has the share's features side by side; of another they are copied.
  template <class I>
  void cut(std::int64_t i, const I* index, const Share& share, std::vector<I>& kept) {
    if (share.first) {
      row_.values += share.first[i];
      row_.index = index + share.first[i];
      row_.size = share.last[i] - share.first[i];
      return;
    }
    kept.clear();
    cut_values_.clear();
    for (std::int64_t p = 0; p < row_.size; ++p) {
      if (index[p] < share.begin || index[p] >= share.end) continue;
      kept.push_back(index[p]);
      cut_values_.push_back(row_.values[p]);
    }
    row_.values = cut_values_.data();
    row_.index = kept.data();
    row_.size = static_cast<std::int64_t>(kept.size());
  }

  // The moves of a visit, from the scores.
  Visit<T> settle(std::int64_t i) {
    norm_ = problem_.norm[static_cast<std::size_t>(i)];
    A_ = curvature * norm_;
    cap_ = static_cast<T>(problem_.cap(i));
    moves_.clear();
    seen_ = {};
    switch (problem_.shape(i)) {
      case Shape::none:
        seen_.settled = true;
        break;
      case Shape::one_class:
        one_class(i);
        break;
      case Shape::centred:
        centred(i);
        break;
      case Shape::fan:
        fan(i);
        break;
      case Shape::sides:
        sides(i);
        break;
      case Shape::pairs:
        pairs(i);
        break;
    }
    return seen_;
  }

  // Masses that should add up to their cap do so up to rounding.
  static bool full(T total, T most) { return total >= most * (1 - 16 * kTiny); }

  // How far the largest gradient of a mass that may grow lies above the least of one that may fall,
  // where what is left of the cap, whose gradient is 0, is a mass too.
  static T violation(T most, T least, T total, T cap) {
    most = std::max(most, T(0));
    return most - (full(total, cap) ? least : std::min(least, T(0)));
  }

  // ---- stars ----------------------------------------------------------------------------------

  struct Curves {
    T inverse, bound, E, most, rho;
  };

  Curves curves(T weight) const {
    Curves c{};
    const T share = problem_.sums() ? cap_ * weight : cap_;
    c.rho = problem_.squares() ? 1 / (2 * share) : T(0);
    c.inverse = 1 / (problem_.sums() ? A_ + c.rho : A_);
    c.E = problem_.sums() ? A_ : A_ + c.rho;
    c.bound = problem_.sums() && !problem_.squares() ? share : kInfinity;
    c.most = !problem_.sums() && !problem_.squares() ? cap_ : kInfinity;
    return c;
  }

  // A class over its rivals, all alike. Only rivals that carry mass or will carry some are looked
  // at singly: the level of a part of the rays is a lower bound on the level of all.
  //
  // Every v has `base` in it, about 1, beside which all that C |x|^2 can move may be nothing: so
  // rays and level stand without it.
  void one_class(std::int64_t i) {
    const std::int32_t y = problem_.orders[i].items[0];
    T* s = scores_.data();
    const Curves c = curves(T(1));
    const auto duals = duals_.of(i);
    T total = 0;
    for (const Dual<T>& dual : duals) total += dual.value;
    const T base = 1 - s[y] + A_ * total;
    s[y] = -kInfinity;
    std::size_t m = 0;
    T level = 0;
    for (const Dual<T>& dual : duals) {
      set_ray(m, s[dual.key] + A_ * dual.value, dual.value, dual.key);
      level += v_[m++] - dual.value / c.inverse;
      s[dual.key] = -kInfinity;
    }
    if (m > 0) {
      level /= static_cast<T>(m);
    } else {
      const auto r = static_cast<std::int32_t>(problem_.ops.top(s, k_));
      if (!(s[r] + base > 0)) {
        seen_.settled = true;
        return;
      }
      set_ray(m++, s[r], T(0), r);
      // From -base on, a tiny cap would be lost beside what base holds.
      level = std::max(-base, s[r] - c.most * c.E);
      s[r] = -kInfinity;
    }
    level = balance_class(m, c, base, level);
    const std::int64_t count = problem_.ops.above(s, k_, level, found_.data());
    for (std::int64_t f = 0; f < count; ++f) {
      const std::int32_t r = found_[static_cast<std::size_t>(f)];
      set_ray(m++, s[r], T(0), r);
    }
    if (count > 0) level = balance_class(m, c, base, level);
    settle_class(i, m, y, total, c, base, level);
  }

  void set_ray(std::size_t j, T v, T old, std::int32_t key) {
    v_[j] = v;
    old_[j] = old;
    key_[j] = key;
  }

  // balance_level of threshold.hpp for rays that differ in v alone. The excess is concave in the
  // level: a step from above the root lands below it, one from below stays below.
  T balance_class(std::size_t m, const Curves& c, T base, T level) {
    const std::size_t padded = (m + 15) / 16 * 16;
    for (std::size_t j = m; j < padded; ++j) v_[j] = -kInfinity;
    const T turn = c.most * c.E - base;  // where the right side stops growing
    const T least = c.most < kInfinity ? kTiny * c.most / c.inverse : T(0);
    for (int step = 0; step < 60; ++step) {
      T mass = 0, inside = 0;
      problem_.ops.mass(v_.data(), static_cast<std::int64_t>(padded), level, c.inverse, c.bound,
                        &mass, &inside);
      const bool room = level < turn;
      const T excess = (room ? (level + base) / c.E : c.most) - mass;
      const T slope = inside * c.inverse + (room ? 1 / c.E : T(0));
      if (excess == 0) return level;
      // Above all rays with the cap not reached: from the turn down there is a slope again.
      const T next = slope > 0 ? level - excess / slope : turn;
      if (std::abs(next - level) <= std::max(kTiny * std::abs(next), least)) return next;
      if (step > 20 && c.bound < kInfinity) return balance_bounded(m, c, base, level);
      level = next;
    }
    return level;
  }

  // With bounds the excess is not concave; a bracket keeps Newton's steps from going in circles.
  T balance_bounded(std::size_t m, const Curves& c, T base, T level) {
    rays_.clear();
    for (std::size_t j = 0; j < m; ++j)
      rays_.push_back({v_[j] + base, old_[j], key_[j], c.inverse, c.bound, T(1)});
    return balance_level(rays_, c.E, c.most, level + base) - base;
  }

  void settle_class(std::int64_t i, std::size_t m, std::int32_t y, T total, const Curves& c, T base,
                    T level) {
    const bool sums = problem_.sums(), squares = problem_.squares();
    const T D = 1 / c.inverse, pull = c.E * total;
    T most = -kInfinity, least = kInfinity, worst = 0, lost = 0, change = 0, square = 0, along = 0;
    T given = 0, bent = 0;
    bool inside = false;
    std::int32_t kept = 0;
    for (std::size_t j = 0; j < m; ++j) {
      const T old = old_[j], v = v_[j] + base, g = v - D * old - pull;
      const T h = v - A_ * (old + total);
      T now = std::min(std::max((v_[j] - level) * c.inverse, T(0)), c.bound);
      if (std::abs(now - old) <= kTiny * now) now = old;
      if (sums) {
        most = std::max(most, old <= 0 ? g : old >= c.bound ? -g : std::abs(g));
        inside = inside || (now > 0 && now < c.bound);
        if (h > 0) lost += squares ? h * h : h;
      } else {
        most = std::max(most, g);
        if (old > 0) least = std::min(least, g);
        worst = std::max(worst, h);
      }
      const T step = now - old;
      if (step != 0) {
        moves_.push_back({key_[j], -step});
        given += step;
        square += step * step;
        along += step * (h - 1);
        if (sums && squares) bent += step * (now + old);
      }
      old_[j] = now;
      kept += now > 0;
    }
    change = given;
    double linear = static_cast<double>(given);
    const double per = 1 / (4 * static_cast<double>(cap_));
    if (sums) {
      seen_.violation = std::max(most, T(0));
      lose(lost);
      linear -= static_cast<double>(bent) * per;
    } else {
      seen_.violation = violation(most, least, total, c.most);
      lose(squares ? worst * worst : worst);
      inside = kept > 1 || (kept == 1 && !full(total + change, c.most));
      if (squares) linear -= static_cast<double>(change * (2 * total + change)) * per;
    }
    seen_.settled = moves_.empty() && !inside && seen_.violation <= 0;
    if (moves_.empty()) return;
    if (change != 0) moves_.push_back({y, change});
    totals.linear += linear;
    totals.norm2 += static_cast<double>(norm_ * (square + change * change) - 2 * along);
    Dual<T>* to = duals_.rewrite(i, kept, arena_);
    for (std::size_t j = 0; j < m; ++j)
      if (old_[j] > 0) *to++ = {key_[j], old_[j]};
  }

  // Every pair has the virtual label in it.
  void centred(std::int64_t i) {
    const Order order = problem_.orders[i];
    const T* s = scores_.data();
    const Curves c = curves(T(1));
    for (const Dual<T>& dual : duals_.of(i)) mass_[static_cast<std::size_t>(dual.key)] = dual.value;
    T total = 0;
    std::int64_t p = 0;
    for (std::int32_t r = 0; r < k_; ++r) {
      const bool over = p < order.size && order.items[p] == r;
      p += over;
      total += over ? -mass_[static_cast<std::size_t>(r)] : mass_[static_cast<std::size_t>(r)];
    }
    const T centre = s[k_] - A_ * total;
    rays_.clear();
    p = 0;
    for (std::int32_t r = 0; r < k_; ++r) {
      const bool over = p < order.size && order.items[p] == r;
      p += over;
      const T sign = over ? T(-1) : T(1);
      T& mass = mass_[static_cast<std::size_t>(r)];
      rays_.push_back({1 + sign * (s[r] - centre) + A_ * mass, mass, r, c.inverse, c.bound, sign});
      mass = 0;
    }
    const T level = balance_level(rays_, c.E, c.most, A_ * total);
    settle_star(i, k_, total, c, level);
  }

  // Explicit pairs of one label over others, each with its own margin and weight.
  void fan(std::int64_t i) {
    const Order order = problem_.orders[i];
    const T* s = scores_.data();
    const std::int32_t y = order.items[0];
    const auto n_pairs = static_cast<std::size_t>(order.size / 2);
    beta_.assign(n_pairs, T(0));
    T total = 0;
    for (const Dual<T>& dual : duals_.of(i)) {
      beta_[static_cast<std::size_t>(dual.key)] = dual.value;
      total += dual.value;
    }
    const T base = A_ * total - s[y];
    rays_.clear();
    Curves c{};
    for (std::size_t p = 0; p < n_pairs; ++p) {
      const T margin = order.margin ? static_cast<T>(order.margin[2 * p]) : T(1);
      const T weight = order.weight ? static_cast<T>(order.weight[2 * p]) : T(1);
      c = curves(weight);
      const T v = s[order.items[2 * p + 1]] + margin + A_ * beta_[p] + base;
      rays_.push_back(
          {v, beta_[p], static_cast<std::int32_t>(p), c.inverse, c.bound, T(1), margin, weight});
    }
    const T level = balance_level(rays_, c.E, c.most, T(0));
    settle_star(i, y, total, c, level, &order);
  }

  // Gives every ray its mass at the level. The keys of a fan are places of pairs, else labels.
  void settle_star(std::int64_t i, std::int32_t centre, T total, const Curves& c, T level,
                   const Order* fan = nullptr) {
    const bool sums = problem_.sums(), squares = problem_.squares();
    T most = -kInfinity, least = kInfinity, worst = 0, lost = 0, change = 0, square = 0;
    double linear = 0, along = 0;
    bool inside = false;
    std::int32_t kept = 0;
    for (Ray<T>& ray : rays_) {
      const T h = ray.v - A_ * (ray.old + ray.sign * total);
      const T g = ray.v - ray.old / ray.inverse - ray.sign * c.E * total;
      T now = mass_at(ray, level);
      if (std::abs(now - ray.old) <= kTiny * now) now = ray.old;
      if (sums) {
        most = std::max(most, ray.old <= 0 ? g : ray.old >= ray.bound ? -g : std::abs(g));
        inside = inside || (now > 0 && now < ray.bound);
        if (h > 0) lost += ray.weight * (squares ? h * h : h);
      } else {
        most = std::max(most, g);
        if (ray.old > 0) least = std::min(least, g);
        worst = std::max(worst, h);
      }
      const T step = now - ray.old;
      if (step != 0) {
        moves_.push_back(
            {fan ? fan->items[2 * std::int64_t{ray.key} + 1] : ray.key, -ray.sign * step});
        change += ray.sign * step;
        square += step * step;
        along += static_cast<double>(step) * static_cast<double>(h - ray.margin);
        linear += static_cast<double>(ray.margin) * static_cast<double>(step);
        if (sums && squares) linear -= quarter(now, ray.old) / static_cast<double>(ray.weight);
      }
      ray.old = now;
      kept += now > 0;
    }
    if (sums) {
      seen_.violation = std::max(most, T(0));
      lose(lost);
    } else {
      seen_.violation = violation(most, least, total, c.most);
      lose(squares ? worst * worst : worst);
      inside = kept > 1 || (kept == 1 && !full(total + change, c.most));
      if (squares) linear -= quarter(total + change, total);
    }
    seen_.settled = moves_.empty() && !inside && seen_.violation <= 0;
    if (moves_.empty()) return;
    if (change != 0) moves_.push_back({centre, change});
    totals.linear += linear;
    totals.norm2 += static_cast<double>(norm_ * (square + change * change)) - 2 * along;
    Dual<T>* to = duals_.rewrite(i, kept, arena_);
    for (const Ray<T>& ray : rays_)
      if (ray.old > 0) *to++ = {ray.key, ray.old};
  }

  void lose(T loss) { totals.loss += static_cast<double>(cap_) * static_cast<double>(loss); }

  // What a mass that grows from `old` to `now` adds to R.
  double quarter(T now, T old) const {
    const auto a = static_cast<double>(now), b = static_cast<double>(old);
    return (a * a - b * b) / (4 * static_cast<double>(cap_));
  }

  // ---- two tiers, the worst pair as loss --------------------------------------------------------

  void sides(std::int64_t i) {
    const Order order = problem_.orders[i];
    const T* s = scores_.data();
    const Curves c = curves(T(1));
    for (const Dual<T>& dual : duals_.of(i)) mass_[static_cast<std::size_t>(dual.key)] = dual.value;
    // Scores without the example's own mass; of the upper side with their sign turned, so that of
    // both sides the largest are in danger.
    T total = 0, low = kInfinity, high = -kInfinity, top_over = -kInfinity, top_under = -kInfinity;
    T most_over = -kInfinity, least_over = kInfinity, most_under = -kInfinity,
      least_under = kInfinity;
    std::int64_t p = 0;
    for (std::int32_t r = 0; r < k_; ++r) {
      const T mass = mass_[static_cast<std::size_t>(r)];
      if (p < order.size && order.items[p] == r) {
        ++p;
        total += mass;
        low = std::min(low, s[r]);
        top_over = std::max(top_over, A_ * mass - s[r]);
        most_over = std::max(most_over, -s[r]);
        if (mass > 0) least_over = std::min(least_over, -s[r]);
      } else {
        high = std::max(high, s[r]);
        top_under = std::max(top_under, A_ * mass + s[r]);
        most_under = std::max(most_under, s[r]);
        if (mass > 0) least_under = std::min(least_under, s[r]);
      }
    }
    // Gradients by side: a pair's is 1 + its two halves - rho * total.
    const T worst = std::max(1 + high - low, T(0));
    const T most = 1 + most_over + most_under - c.rho * total;
    const T least = 1 + least_over + least_under - c.rho * total;
    seen_.violation = violation(most, least, total, c.most);
    lose(problem_.squares() ? worst * worst : worst);
    // No side's level lies below these.
    const T floor_over = std::max(top_over - A_ * c.most, -1 - top_under);
    const T floor_under = std::max(top_under - A_ * c.most, -1 - top_over);
    over_.clear();
    under_.clear();
    order_over_.clear();
    order_under_.clear();
    p = 0;
    for (std::int32_t r = 0; r < k_; ++r) {
      const T mass = mass_[static_cast<std::size_t>(r)];
      const bool up = p < order.size && order.items[p] == r;
      p += up;
      const T value = A_ * mass + (up ? -s[r] : s[r]);
      const T top = up ? top_over : top_under;
      if (mass > 0 || value >= std::min(up ? floor_over : floor_under, top))
        (up ? order_over_ : order_under_).push_back({r, value});
    }
    for (auto* side : {&order_over_, &order_under_}) {
      std::sort(side->begin(), side->end(), [](const Dual<T>& a, const Dual<T>& b) {
        return a.value > b.value || (a.value == b.value && a.key < b.key);
      });
      auto& values = side == &order_over_ ? over_ : under_;
      for (const Dual<T>& label : *side) values.push_back(label.value);
    }
    const Sides<T> found = balance_sides(over_, under_, A_, c.rho, c.most);
    flat_.clear();
    T now_total = 0, square = 0;
    double along = 0;
    for (const auto* side : {&order_over_, &order_under_}) {
      const bool up = side == &order_over_;
      const T level = up ? found.level_over : found.level_under;
      for (const Dual<T>& label : *side) {
        T& old = mass_[static_cast<std::size_t>(label.key)];
        T now = std::max((label.value - level) / A_, T(0));
        if (found.total <= 0) now = 0;
        if (std::abs(now - old) <= kTiny * now) now = old;
        if (now > 0) flat_.push_back({label.key, now});
        if (up) now_total += now;
        if (now != old) {
          const T step = up ? now - old : old - now;
          moves_.push_back({label.key, step});
          square += step * step;
          along += static_cast<double>(step) * static_cast<double>(s[label.key]);
        }
        old = 0;
      }
    }
    const bool inside = flat_.size() > 2 || (flat_.size() == 2 && !full(now_total, c.most));
    seen_.settled = moves_.empty() && !inside && seen_.violation <= 0;
    if (moves_.empty()) return;
    totals.linear += static_cast<double>(now_total - total);
    if (problem_.squares()) totals.linear -= quarter(now_total, total);
    totals.norm2 += static_cast<double>(norm_ * square) + 2 * along;
    write(i, flat_);
  }

  // ---- any pairs --------------------------------------------------------------------------------

  struct Pair {
    std::int32_t over, under;
    T margin, weight, bound, rho, old;
  };

  void pairs(std::int64_t i) {
    const bool sums = problem_.sums(), squares = problem_.squares();
    list_.clear();
    for_each_pair(problem_.orders[i], k_,
                  [&](std::int32_t a, std::int32_t b, double margin, double weight) {
                    const auto omega = static_cast<T>(weight);
                    const T share = sums ? cap_ * omega : cap_;
                    list_.push_back({a, b, static_cast<T>(margin), omega,
                                     sums && !squares ? share : kInfinity,
                                     squares ? 1 / (2 * share) : T(0), T(0)});
                  });
    beta_.assign(list_.size(), T(0));
    total_ = 0;
    for (const Dual<T>& dual : duals_.of(i)) {
      const auto p = static_cast<std::size_t>(dual.key);
      beta_[p] = list_[p].old = dual.value;
      total_ += dual.value;
    }
    T worst = 0, lost = 0;
    for (const Pair& pair : list_) {
      const T h = std::max(hinge(pair), T(0)), loss = squares ? h * h : h;
      worst = std::max(worst, loss);
      lost += pair.weight * loss;
    }
    lose(sums ? lost : worst);
    if (sums || squares)
      sweep_pairs();
    else
      exchange();
    keep_pairs(i);
  }

  T hinge(const Pair& pair) const {
    const T* s = scores_.data();
    return pair.margin - (s[pair.over] - s[pair.under]);
  }

  void set_mass(std::size_t p, T mass) {
    const Pair& pair = list_[p];
    const T step = mass - beta_[p];
    beta_[p] = mass;
    total_ += step;
    scores_[static_cast<std::size_t>(pair.over)] += A_ * step;
    scores_[static_cast<std::size_t>(pair.under)] -= A_ * step;
  }

  // Clipped steps on one pair after another. The squared hinge of the worst pair couples all of
  // them through their total, every other loss leaves each its own.
  void sweep_pairs() {
    constexpr int kSweeps = 5;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      T most = 0;
      for (std::size_t p = 0; p < list_.size(); ++p) {
        const Pair& pair = list_[p];
        const T g = hinge(pair) - pair.rho * (problem_.sums() ? beta_[p] : total_);
        const T wrong = beta_[p] <= 0 ? g : beta_[p] >= pair.bound ? -g : std::abs(g);
        if (!(wrong > 0)) continue;
        most = std::max(most, wrong);
        set_mass(p, std::min(std::max(beta_[p] + g / (2 * A_ + pair.rho), T(0)), pair.bound));
      }
      if (sweep == 0) seen_.violation = most;
      if (most <= T(0.1) * seen_.violation) break;
    }
  }

  // The masses of one example share the cap: what one pair gains another loses, or the part of the
  // cap that nobody has, which may always grow.
  void exchange() {
    const std::size_t nobody = list_.size();
    const std::size_t steps = std::min<std::size_t>(4 * list_.size(), 100);
    for (std::size_t step = 0; step <= steps; ++step) {
      std::size_t up = nobody, down = nobody;
      T most = 0, least = full(total_, cap_) ? kInfinity : T(0);
      for (std::size_t p = 0; p < list_.size(); ++p) {
        const T g = hinge(list_[p]);
        if (g > most) {
          most = g;
          up = p;
        }
        if (beta_[p] > 0 && g < least) {
          least = g;
          down = p;
        }
      }
      const T wrong = most - least;
      if (step == 0) seen_.violation = wrong;
      if (step == steps || up == down || !(wrong > T(0.05) * seen_.violation)) return;
      const T gain = up == nobody ? T(0) : hinge(list_[up]);
      const T loss = down == nobody ? T(0) : hinge(list_[down]);
      T amount = std::min((gain - loss) / (A_ * bend(up, down)),
                          down == nobody ? cap_ - total_ : beta_[down]);
      if (!(amount > 0)) return;
      if (down != nobody) set_mass(down, amount >= beta_[down] ? T(0) : beta_[down] - amount);
      if (up != nobody) set_mass(up, beta_[up] + amount);
    }
  }

  // |(e_a - e_b) - (e_c - e_d)|^2 of two pairs, either of which may be nobody.
  T bend(std::size_t p, std::size_t q) const {
    if (p == list_.size() || q == list_.size()) return 2;
    const Pair &x = list_[p], &y = list_[q];
    const int common =
        (x.over == y.over) + (x.under == y.under) - (x.over == y.under) - (x.under == y.over);
    return static_cast<T>(std::max(4 - 2 * common, 1));
  }

  void keep_pairs(std::int64_t i) {
    const bool sums = problem_.sums(), squares = problem_.squares();
    flat_.clear();
    ends_of_moves_.clear();
    double linear = 0;
    T total = 0;
    bool inside = false, moved = false;
    const auto touch = [&](std::int32_t label, T step) {
      T& sum = step_[static_cast<std::size_t>(label)];
      if (!marked_[static_cast<std::size_t>(label)]) {
        marked_[static_cast<std::size_t>(label)] = 1;
        ends_of_moves_.push_back(label);
      }
      sum += step;
    };
    for (std::size_t p = 0; p < list_.size(); ++p) {
      const Pair& pair = list_[p];
      T now = beta_[p];
      if (std::abs(now - pair.old) <= kTiny * now) now = pair.old;
      total += pair.old;
      if (now > 0) flat_.push_back({static_cast<std::int32_t>(p), now});
      inside = inside || (now > 0 && now < pair.bound);
      if (now == pair.old) continue;
      moved = true;
      const T step = now - pair.old;
      linear += static_cast<double>(pair.margin) * static_cast<double>(step);
      if (sums && squares) linear -= quarter(now, pair.old) / static_cast<double>(pair.weight);
      touch(pair.over, step);
      touch(pair.under, -step);
    }
    if (!sums && !squares) inside = flat_.size() > 1 || (flat_.size() == 1 && !full(total_, cap_));
    seen_.settled = !moved && !inside && seen_.violation <= 0;
    if (!moved) return;
    if (!sums && squares) linear -= quarter(total_, total);
    double along = 0;
    T square = 0;
    for (const std::int32_t label : ends_of_moves_) {
      T& step = step_[static_cast<std::size_t>(label)];
      marked_[static_cast<std::size_t>(label)] = 0;
      if (step != 0) {
        moves_.push_back({label, step});
        square += step * step;
        along += static_cast<double>(step) *
                 static_cast<double>(scores_[static_cast<std::size_t>(label)]);
      }
      step = 0;
    }
    totals.linear += linear;
    totals.norm2 += 2 * along - static_cast<double>((2 * A_ - norm_) * square);
    write(i, flat_);
  }

  // ---- what all shapes share --------------------------------------------------------------------

  void write(std::int64_t i, const std::vector<Dual<T>>& duals) {
    Dual<T>* to = duals_.rewrite(i, static_cast<std::int32_t>(duals.size()), arena_);
    std::copy(duals.begin(), duals.end(), to);
  }

  // W += x times the moves, for the share's features. A few labels of many are cheaper one number
  // at a time.
  void apply(const Share& share) {
    constexpr std::int64_t kLanesPerVector = 64 / static_cast<std::int64_t>(sizeof(T));
    const auto count = static_cast<std::int64_t>(moves_.size());
    if (count == 0) return;
    const std::int64_t lanes = problem_.lanes;
    T* const table = first_row(share);
    if (2 * count * kLanesPerVector >= lanes) {
      for (const Move<T>& move : moves_) step_[static_cast<std::size_t>(move.label)] = move.step;
      problem_.ops.add(row_, step_.data(), lanes, table);
      for (const Move<T>& move : moves_) step_[static_cast<std::size_t>(move.label)] = 0;
    } else if (count == 2) {
      const Move<T> a = moves_[0], b = moves_[1];
      for_each_feature(row_, [=](std::int64_t j, T x) {
        T* w = table + j * lanes;
        w[a.label] += x * a.step;
        w[b.label] += x * b.step;
      });
    } else {
      for_each_feature(row_, [&](std::int64_t j, T x) {
        T* w = table + j * lanes;
        for (const Move<T>& move : moves_) w[move.label] += x * move.step;
      });
    }
    if (!problem_.intercept || !share.constant) return;
    for (const Move<T>& move : moves_) bias_row()[move.label] += move.step;
  }

  const Problem<T>& problem_;
  Duals<T>& duals_;
  T* const W_;
  const int arena_;
  const std::int32_t k_;
  Row<T> row_{};
  T norm_ = 0, A_ = 0, cap_ = 0, total_ = 0;
  Visit<T> seen_;
  std::vector<std::int32_t> cut32_;
  std::vector<std::int64_t> cut64_;
  std::vector<T> cut_values_;
  std::vector<T> v_, old_;  // rays of a class
  std::vector<std::int32_t> key_;
  std::vector<T> scores_, step_, mass_, beta_, over_, under_;
  std::vector<std::int32_t> found_, ends_of_moves_;
  std::vector<std::uint8_t> marked_;
  std::vector<Ray<T>> rays_;
  std::vector<Pair> list_;
  std::vector<Move<T>> moves_;
  std::vector<Dual<T>> flat_, order_over_, order_under_;
  std::pair<std::int32_t, std::int32_t> ends_{-1, -1};
};

}  // namespace kesler
