// The reduced problem of one example in closed form: Crammer and Singer's fixed point (2001,
// section 6) and its kin for the other losses, found without a sort.
//
// Design. One label, the centre, stands in every pair of a star: a class over its rivals, or the
// virtual label between relevant and irrelevant ones. Then the mass b_j of pair j depends on the
// others only through one number, the level l:
//     b_j = clip((v_j - sign_j l) / D_j, 0, u_j),   balance(l) = sum_j sign_j b_j(l),
// and l solves balance(l) = min(l / E, most). Left falls with l, right grows: the root is unique.
// Both are piecewise linear, so Newton's method ends after a few pieces; a bracket keeps it safe.
//
// v_j is the loss of pair j were the example's own mass nothing, D_j and E the curvatures:
//                   D_j                 u_j           E                 most
//   max, hinge      A                   infinite      A                 C q
//   max, squared    A                   infinite      A + 1 / (2 C q)   infinite
//   sum, hinge      A                   C q w_j       A                 infinite
//   sum, squared    A + 1/(2 C q w_j)   infinite      A                 infinite
// with A the squared norm of x. This file knows nothing of scores and storage.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace kesler {

// One pair of a star.
template <class T>
struct Ray {
  T v;               // loss without the example's own mass
  T old;             // mass before
  std::int32_t key;  // who it is to the caller
  T inverse;         // 1 / D
  T bound;           // u
  T sign;            // +1: the centre is over, -1: under
  T margin = 1;      // what the pair asks for, and what it counts
  T weight = 1;
};

template <class T>
T mass_at(const Ray<T>& ray, T level) {
  const T mass = (ray.v - ray.sign * level) * ray.inverse;
  return std::min(std::max(mass, T(0)), ray.bound);
}

// The level at which the rays balance, sought from `level` on.
template <class T>
T balance_level(const std::vector<Ray<T>>& rays, T E, T most, T level) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  T low = -kInfinity, high = kInfinity;
  for (int step = 0; step < 100; ++step) {
    T excess = 0, slope = 0;
    for (const Ray<T>& ray : rays) {
      const T mass = (ray.v - ray.sign * level) * ray.inverse;
      if (mass <= 0) continue;
      if (mass >= ray.bound) {
        excess -= ray.sign * ray.bound;
      } else {
        excess -= ray.sign * mass;
        slope += ray.inverse;
      }
    }
    if (level < most * E) {
      excess += level / E;
      slope += 1 / E;
    } else {
      excess += most;
    }
    if (excess == 0) return level;
    (excess < 0 ? low : high) = level;
    T next = slope > 0 ? level - excess / slope : (excess < 0 ? high : low);
    if (!(next > low && next < high)) {
      if (low == -kInfinity || high == kInfinity) return level;
      next = low + (high - low) / 2;
      if (!(next > low && next < high)) return level;
    }
    if (std::abs(next - level) <= 2 * std::numeric_limits<T>::epsilon() * std::abs(next))
      return next;
    level = next;
  }
  return level;
}

// Two tiers A over B with the worst pair as their loss: each side holds the same total mass t, and
// within a side masses are (c_r - theta) / A where that is positive. A side is given by its values
// c in descending order, for which this finds theta for a total.
template <class T>
T side_level(const std::vector<T>& descending, T norm, T total, std::size_t& used) {
  T sum = 0, theta = 0;
  used = 0;
  for (std::size_t r = 0; r < descending.size(); ++r) {
    if (r > 0 && descending[r] <= theta) break;
    sum += descending[r];
    used = r + 1;
    theta = (sum - norm * total) / static_cast<T>(used);
  }
  return theta;
}

template <class T>
struct Sides {
  T total, level_over, level_under;
};

// The total t that solves theta_A(t) + theta_B(t) + 1 = t * excess, or `most` where that is less.
template <class T>
Sides<T> balance_sides(const std::vector<T>& over, const std::vector<T>& under, T norm, T excess,
                       T most) {
  Sides<T> found{0, over[0], under[0]};
  // The two levels are convex and falling in the total, so Newton's steps never pass the root.
  for (int step = 0; step < 100; ++step) {
    std::size_t n_over = 0, n_under = 0;
    found.level_over = side_level(over, norm, found.total, n_over);
    found.level_under = side_level(under, norm, found.total, n_under);
    const T left = found.level_over + found.level_under + 1 - found.total * excess;
    const T slope = norm / static_cast<T>(n_over) + norm / static_cast<T>(n_under) + excess;
    const T next = std::min(found.total + left / slope, most);
    if (!(next > found.total)) break;
    const bool settled = next - found.total <= 2 * std::numeric_limits<T>::epsilon() * next;
    found.total = next;
    if (settled) break;
  }
  std::size_t used = 0;
  found.level_over = side_level(over, norm, found.total, used);
  found.level_under = side_level(under, norm, found.total, used);
  return found;
}

}  // namespace kesler
