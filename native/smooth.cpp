// Kernels of the Newton method (newton.hpp) over blocks of rows: the smoothed loss of each row and
// its derivatives, and sums of outer products. Compiled once per instruction set, as lanes.cpp is,
// and under the same rules.
//
// Design. With l the losses of a row's labels (0 at its own), c its centre and w the width, the
// smoothed loss is the largest p.l - w/2 |p - c|^2 over the unit simplex. Its maximiser is the
// point of the simplex nearest to z = c + l/w, p = (z - level)_+: Newton's steps on the level from
// below end after a few, when the labels above it stay the same.
#include "lanes.hpp"
#include "vectors.hpp"

namespace kesler {
namespace {

template <class T>
struct Projected {
  T level, worst, carriers;
};

// Leaves l in the first half of rows.work, z in the second.
template <class T, int N>
inline Projected<T> project(const SmoothRows<T>& rows, i64 i, T inverse) {
  const i64 lanes = rows.lanes;
  const T* s = rows.s + i * lanes;
  const T* t = rows.t ? rows.t + i * lanes : nullptr;
  const T* c = rows.centre + i * lanes;
  const std::int32_t y = rows.y[i];
  const T base = 1 - (t ? s[y] + rows.step * t[y] : s[y]);
  T* const l = rows.work;
  T* const z = l + lanes;
  for (i64 r = 0; r < lanes; r += N) {
    Vec<T, N> loss = load<N>(s + r) + (load<N>(rows.mask + r) + all<N>(base));
    if (t) loss += rows.step * load<N>(t + r);
    store<N>(l + r, loss);
  }
  l[y] = 0;
  Vec<T, N> highest{}, most = all<N>(-inverse);
  for (i64 r = 0; r < lanes; r += N) {
    const Vec<T, N> loss = load<N>(l + r), at = load<N>(c + r) + inverse * loss;
    highest = larger(highest, loss);
    most = larger(most, at);
    store<N>(z + r, at);
  }
  Projected<T> found{largest_of<T, N>(most) - 1, largest_of<T, N>(highest), 0};
  for (int round = 0; round < 64; ++round) {
    Vec<T, N> sum{}, above{};
    const Vec<T, N> floor = all<N>(found.level);
    for (i64 r = 0; r < lanes; r += N) {
      const Vec<T, N> over = load<N>(z + r) - floor;
      sum += larger(over, Vec<T, N>{});
      above += positive<T, N>(over);
    }
    const T now = sum_of<T, N>(above);
    if (now == found.carriers || now == 0) break;
    found.carriers = now;
    found.level += (sum_of<T, N>(sum) - 1) / now;
  }
  return found;
}

template <class T, int N>
SmoothSums smooth_with(const SmoothRows<T>& rows, T* pi, std::int32_t* carriers) {
  SmoothSums sums;
  const i64 lanes = rows.lanes;
  Vec<T, N> reached{}, bent{};
  for (i64 i = 0; i < rows.count; ++i) {
    const T* c = rows.centre + i * lanes;
    const T cap = rows.cap[i];
    const Projected<T> found = project<T, N>(rows, i, 1 / rows.width);
    const Vec<T, N> floor = all<N>(found.level);
    for (i64 r = 0; r < lanes; r += N) {
      const Vec<T, N> p = larger(load<N>(rows.work + lanes + r) - floor, Vec<T, N>{});
      const Vec<T, N> off = p - load<N>(c + r);
      reached += cap * (p * load<N>(rows.work + r));
      bent += cap * (off * off);
      store<N>(pi + i * lanes + r, p);
    }
    sums.worst += static_cast<double>(cap * found.worst);
    carriers[i] = static_cast<std::int32_t>(found.carriers);
  }
  sums.reached = static_cast<double>(sum_of<T, N>(reached));
  sums.value = sums.reached - static_cast<double>(rows.width / 2 * sum_of<T, N>(bent));
  return sums;
}

template <class T, int N>
double slope_with(const SmoothRows<T>& rows) {
  double sum = 0;
  Vec<T, N> slope{};
  for (i64 i = 0; i < rows.count; ++i) {
    const T* t = rows.t + i * rows.lanes;
    const Projected<T> found = project<T, N>(rows, i, 1 / rows.width);
    const Vec<T, N> floor = all<N>(found.level);
    for (i64 r = 0; r < rows.lanes; r += N)
      slope += rows.cap[i] *
               (larger(load<N>(rows.work + rows.lanes + r) - floor, Vec<T, N>{}) * load<N>(t + r));
    sum -= static_cast<double>(rows.cap[i] * t[rows.y[i]]);
  }
  return sum + static_cast<double>(sum_of<T, N>(slope));
}

// Calls body.operator()<N>() with the vector that `lanes` is made of.
template <class T, class Body>
auto by_width(i64 lanes, Body body) {
  constexpr int V = kVector<T>;
  if (lanes == 4) return body.template operator()<(V < 4 ? V : 4)>();
  if (lanes == 8) return body.template operator()<(V < 8 ? V : 8)>();
  return body.template operator()<V>();
}

template <class T>
SmoothSums smooth(const SmoothRows<T>& rows, T* pi, std::int32_t* carriers) {
  return by_width<T>(rows.lanes, [&]<int N>() { return smooth_with<T, N>(rows, pi, carriers); });
}

template <class T>
double slope(const SmoothRows<T>& rows) {
  return by_width<T>(rows.lanes, [&]<int N>() { return slope_with<T, N>(rows); });
}

template <class T>
void gram(const T* x, i64 size, i64 stride, T* M) {
  constexpr int N = kVector<T>, R = 8;
  for (i64 j = 0; j < size; ++j) {
    T* const row = M + j * stride;
    Vec<T, N> scale[R];
    for (int r = 0; r < R; ++r) scale[r] = all<N>(x[r * stride + j]);
    for (i64 l = 0; l <= j; l += N) {
      Vec<T, N> now = load<N>(row + l);
      for (int r = 0; r < R; ++r) now += scale[r] * load<N>(x + r * stride + l);
      store<N>(row + l, now);
    }
  }
}

}  // namespace

extern const Smooth KESLER_TABLE(smooth_, KESLER_LANES);
const Smooth KESLER_TABLE(smooth_, KESLER_LANES) = {
    {smooth<float>, slope<float>, gram<float>},
    {smooth<double>, slope<double>, gram<double>},
};

}  // namespace kesler
