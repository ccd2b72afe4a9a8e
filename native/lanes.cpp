// The label-lane kernels; lanes.hpp tells the layout and why this file is compiled several times.
// Everything but the final table has internal linkage, and no std template is used.
#include "lanes.hpp"

#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "vectors.hpp"

namespace kesler {
namespace {

// The features of a row: the p-th one stands at table row at(p).
template <class I>
struct Sparse {
  static constexpr bool sparse = true;
  const I* index;
  i64 at(i64 p) const { return static_cast<i64>(index[p]); }
};
struct Dense {
  static constexpr bool sparse = false;
  i64 at(i64 p) const { return p; }
};

constexpr i64 kAhead = 12;  // features
// Dense rows are often sparse in runs (the margins of an image): eight zeros are passed over at
// once.
constexpr int kZeros = 8;
template <class T>
inline bool all_zero(const T* x) {
  std::uint64_t bits[kZeros * sizeof(T) / 8];
  std::memcpy(bits, x, sizeof bits);
  std::uint64_t any = 0;
  for (const std::uint64_t word : bits) any |= word;
  return any == 0;
}

// M vectors of N lanes. Few vectors leave the adder idle between dependent sums, so short stretches
// run several independent sums over the features and add them up at the end.
template <class T, int N, int M, class F>
void score_stretch(const T* x, F feature, i64 size, const T* W, i64 lanes, const T* bias, T* s) {
  constexpr int U = M >= 4 ? 1 : 4 / M;
  Vec<T, N> acc[U][M];
  for (int m = 0; m < M; ++m) {
    acc[0][m] = bias ? load<N>(bias + m * N) : Vec<T, N>{};
    for (int u = 1; u < U; ++u) acc[u][m] = Vec<T, N>{};
  }
  constexpr int B = F::sparse ? U : kZeros;
  i64 p = 0;
  for (; p + B <= size; p += B) {
    if (!F::sparse && all_zero(x + p)) continue;
    for (int i = 0; i < B; ++i) {
      const T* w = W + feature.at(p + i) * lanes;
      const T v = x[p + i];
      // A wide table lies outside the nearest caches, and its rows come in no order.
      if (F::sparse && M >= 4 && p + kAhead < size)
        for (int m = 0; m < M; ++m) prefetch(W + feature.at(p + kAhead) * lanes + m * N);
      for (int m = 0; m < M; ++m) acc[i % U][m] += v * load<N>(w + m * N);
    }
  }
  for (; p < size; ++p) {
    const T* w = W + feature.at(p) * lanes;
    const T v = x[p];
    for (int m = 0; m < M; ++m) acc[0][m] += v * load<N>(w + m * N);
  }
  for (int m = 0; m < M; ++m) {
    for (int u = 1; u < U; ++u) acc[0][m] += acc[u][m];
    store<N>(s + m * N, acc[0][m]);
  }
}

// Few labels leave most of a vector idle: then a vector of the table holds G = N / L features of L
// lanes each, and meets G values of x, each repeated L times.
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define KESLER_SPREAD
// Lane i of the result is x[B + i / L].
template <class T, int N, int L, int B>
inline Vec<T, N> spread(Vec<T, N> x) {
  constexpr int C = B + 1, D = B + 2, E = B + 3;
  if constexpr (N == 16 && L == 4)
    return __builtin_shufflevector(x, x, B, B, B, B, C, C, C, C, D, D, D, D, E, E, E, E);
  else if constexpr (N == 16 && L == 8)
    return __builtin_shufflevector(x, x, B, B, B, B, B, B, B, B, C, C, C, C, C, C, C, C);
  else
    return __builtin_shufflevector(x, x, B, B, B, B, C, C, C, C);
}

// The products of N values of x, from the Uth stretch of G on.
template <class T, int N, int L, int U>
inline void packed_steps(Vec<T, N> x, const T* w, Vec<T, N>* acc) {
  if constexpr (U < L) {
    acc[U % 4] += spread<T, N, L, U*(N / L)>(x) * load<N>(w + U * N);
    packed_steps<T, N, L, U + 1>(x, w, acc);
  }
}
#endif
#endif

template <class T, int L>
void score_packed(const T* x, i64 d, const T* W, const T* bias, T* s) {
  constexpr int N = kVector<T>;
#ifdef KESLER_SPREAD
  if constexpr (N >= 2 * L) {
    constexpr int G = N / L;
    Vec<T, N> acc[4] = {};
    i64 j = 0;
    for (; j + N <= d; j += N) packed_steps<T, N, L, 0>(load<N>(x + j), W + j * L, acc);
    T lanes[N];
    store<N>(lanes, (acc[0] + acc[1]) + (acc[2] + acc[3]));
    score_stretch<T, L, 1>(x + j, Dense{}, d - j, W + j * L, L, bias, s);
    Vec<T, L> sum = load<L>(s);
    for (int g = 0; g < G; ++g) sum += load<L>(lanes + g * L);
    store<L>(s, sum);
    return;
  }
#endif
  constexpr int V = N < L ? N : L;
  score_stretch<T, V, L / V>(x, Dense{}, d, W, L, bias, s);
}

template <class T, int N, int M, class F>
void add_stretch(const T* x, F feature, i64 size, const T* c, i64 lanes, T* W) {
  Vec<T, N> step[M];
  for (int m = 0; m < M; ++m) step[m] = load<N>(c + m * N);
  for (i64 p = 0; p < size; ++p) {
    if (!F::sparse && p % kZeros == 0 && p + kZeros <= size && all_zero(x + p)) {
      p += kZeros - 1;
      continue;
    }
    T* w = W + feature.at(p) * lanes;
    const T v = x[p];
    for (int m = 0; m < M; ++m) {
      Vec<T, N> now = load<N>(w + m * N);
      now += v * step[m];
      store<N>(w + m * N, now);
    }
  }
}

#ifdef KESLER_SPREAD
template <class T, int N, int L, int U>
inline void packed_moves(Vec<T, N> x, Vec<T, N> step, T* w) {
  if constexpr (U < L) {
    Vec<T, N> now = load<N>(w + U * N);
    now += spread<T, N, L, U*(N / L)>(x) * step;
    store<N>(w + U * N, now);
    packed_moves<T, N, L, U + 1>(x, step, w);
  }
}
#endif

template <class T, int L>
void add_packed(const T* x, i64 d, const T* c, T* W) {
  constexpr int N = kVector<T>;
#ifdef KESLER_SPREAD
  if constexpr (N >= 2 * L) {
    T repeated[N];
    for (int i = 0; i < N; ++i) repeated[i] = c[i % L];
    const Vec<T, N> step = load<N>(repeated);
    i64 j = 0;
    for (; j + N <= d; j += N) packed_moves<T, N, L, 0>(load<N>(x + j), step, W + j * L);
    add_stretch<T, L, 1>(x + j, Dense{}, d - j, c, L, W + j * L);
    return;
  }
#endif
  constexpr int V = N < L ? N : L;
  for (int at = 0; at < L; at += V) add_stretch<T, V, 1>(x, Dense{}, d, c + at, L, W + at);
}

template <class T, class F>
void score_row(const T* x, F feature, i64 size, const T* W, i64 lanes, const T* bias, T* s) {
  over_stretches<T, 8>(lanes, [&]<int N, int M>(i64 at) {
    score_stretch<T, N, M>(x, feature, size, W + at, lanes, bias ? bias + at : nullptr, s + at);
  });
}

template <class T, class F>
void add_row(const T* x, F feature, i64 size, const T* c, i64 count, i64 lanes, T* W) {
  over_stretches<T, 8>(count, [&]<int N, int M>(i64 at) {
    add_stretch<T, N, M>(x, feature, size, c + at, lanes, W + at);
  });
}

// Calls body(feature) with the features of a row as what they are.
template <class T, class Body>
void over_features(const Row<T>& x, Body body) {
  switch (x.kind) {
    case Index::dense:
      return body(Dense{});
    case Index::int32:
      return body(Sparse<std::int32_t>{static_cast<const std::int32_t*>(x.index)});
    case Index::int64:
      return body(Sparse<i64>{static_cast<const i64*>(x.index)});
  }
}

template <class T>
void score(Row<T> x, const T* W, i64 lanes, const T* bias, T* s) {
  if (x.kind == Index::dense && lanes == 4) return score_packed<T, 4>(x.values, x.size, W, bias, s);
  if (x.kind == Index::dense && lanes == 8) return score_packed<T, 8>(x.values, x.size, W, bias, s);
  over_features(x, [&](auto feature) { score_row(x.values, feature, x.size, W, lanes, bias, s); });
}

template <class T>
void add_part(Row<T> x, const T* c, i64 count, i64 lanes, T* W) {
  over_features(x, [&](auto feature) { add_row(x.values, feature, x.size, c, count, lanes, W); });
}

template <class T>
void add(Row<T> x, const T* c, i64 lanes, T* W) {
  if (x.kind == Index::dense && lanes == 4) return add_packed<T, 4>(x.values, x.size, c, W);
  if (x.kind == Index::dense && lanes == 8) return add_packed<T, 8>(x.values, x.size, c, W);
  add_part(x, c, lanes, lanes, W);
}

template <class T>
T squared_norm(Row<T> x) {
  constexpr int N = kVector<T>;
  Vec<T, N> acc{};
  i64 p = 0;
  for (; p + N <= x.size; p += N) {
    const Vec<T, N> v = load<N>(x.values + p);
    acc += v * v;
  }
  T sum = sum_of<T, N>(acc);
  for (; p < x.size; ++p) sum += x.values[p] * x.values[p];
  return sum;
}

template <class T>
i64 top(const T* s, i64 k) {
  constexpr int N = kVector<T>;
  if (k <= 8) {  // no branch: which of few labels wins is hard to guess
    T best = s[0];
    i64 at = 0;
    for (i64 r = 1; r < k; ++r) {
      at = s[r] > best ? r : at;
      best = s[r] > best ? s[r] : best;
    }
    return at;
  }
  T best = s[0];
  i64 r = 0;
  if (k >= N) {
    Vec<T, N> most = load<N>(s);
    for (r = N; r + N <= k; r += N) most = larger(most, load<N>(s + r));
    best = largest_of<T, N>(most);
  }
  for (; r < k; ++r) best = s[r] > best ? s[r] : best;
  for (r = 0; r < k; ++r)
    if (s[r] == best) return r;
  return 0;
}

template <class T>
i64 above(const T* s, i64 k, T level, std::int32_t* found) {
  i64 count = 0, r = 0;
#if defined(__AVX512F__)
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  constexpr int N = kVector<T>;
  for (; r < k; r += N) {
    const unsigned rest = k - r < N ? (1u << (k - r)) - 1 : (1u << N) - 1;
    unsigned mask;
    if constexpr (sizeof(T) == 4)
      mask = _mm512_mask_cmp_ps_mask(static_cast<__mmask16>(rest),
                                     _mm512_maskz_loadu_ps(static_cast<__mmask16>(rest), s + r),
                                     _mm512_set1_ps(level), _CMP_GT_OQ);
    else
      mask = _mm512_mask_cmp_pd_mask(static_cast<__mmask8>(rest),
                                     _mm512_maskz_loadu_pd(static_cast<__mmask8>(rest), s + r),
                                     _mm512_set1_pd(level), _CMP_GT_OQ);
    if (mask == 0) continue;
    _mm512_mask_compressstoreu_epi32(
        found + count, static_cast<__mmask16>(mask),
        _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(r))));
    count += __builtin_popcount(mask);
  }
#else
  for (; r < k; ++r) {  // no branch; the slot is written over until a label stays
    found[count] = static_cast<std::int32_t>(r);
    count += s[r] > level;
  }
#endif
  return count;
}

template <class T>
void mass(const T* v, i64 n, T level, T inverse, T bound, T* sum, T* inside) {
#if defined(__GNUC__)
  constexpr int N = kVector<T>;
  Vec<T, N> total{}, count{};
  const Vec<T, N> zero{}, one = zero + 1, top = zero + bound;
  for (i64 j = 0; j < n; j += N) {
    const Vec<T, N> m = (load<N>(v + j) - level) * inverse;
    total += m > zero ? (m < top ? m : top) : zero;
    count += (m > zero) & (m < top) ? one : zero;
  }
  *sum = sum_of<T, N>(total);
  *inside = sum_of<T, N>(count);
#else
  T total = 0, count = 0;
  for (i64 j = 0; j < n; ++j) {
    const T m = (v[j] - level) * inverse;
    total += m > 0 ? (m < bound ? m : bound) : T(0);
    count += m > 0 && m < bound ? T(1) : T(0);
  }
  *sum = total;
  *inside = count;
#endif
}

#if defined(__GNUC__)
template <int N, class T>
inline Vec<double, N> load_wide(const T* p) {
  if constexpr (sizeof(T) == sizeof(double))
    return load<N>(p);
  else
    return __builtin_convertvector(load<N>(p), Vec<double, N>);
}
#else
template <int N, class T>
inline Vec<double, N> load_wide(const T* p) {
  Vec<double, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = static_cast<double>(p[i]);
  return r;
}
#endif

template <class T, int N, int M, class F>
void wide_stretch(const T* x, F feature, i64 size, const T* W, i64 lanes, const T* bias,
                  double* s) {
  Vec<double, N> acc[M];
  for (int m = 0; m < M; ++m) acc[m] = bias ? load_wide<N>(bias + m * N) : Vec<double, N>{};
  for (i64 p = 0; p < size; ++p) {
    if (!F::sparse && p % kZeros == 0 && p + kZeros <= size && all_zero(x + p)) {
      p += kZeros - 1;
      continue;
    }
    const T* w = W + feature.at(p) * lanes;
    if (F::sparse && M >= 4 && p + kAhead < size)
      for (int m = 0; m < M; ++m) prefetch(W + feature.at(p + kAhead) * lanes + m * N);
    const double v = static_cast<double>(x[p]);
    for (int m = 0; m < M; ++m) acc[m] += v * load_wide<N>(w + m * N);
  }
  for (int m = 0; m < M; ++m) store<N>(s + m * N, acc[m]);
}

template <class T, class F>
void wide_row(const T* x, F feature, i64 size, const T* W, i64 lanes, const T* bias, double* s) {
  over_stretches<double, 8>(lanes, [&]<int N, int M>(i64 at) {
    wide_stretch<T, N, M>(x, feature, size, W + at, lanes, bias ? bias + at : nullptr, s + at);
  });
}

template <class T>
void score_wide(Row<T> x, const T* W, i64 lanes, const T* bias, double* s) {
  over_features(x, [&](auto feature) { wide_row(x.values, feature, x.size, W, lanes, bias, s); });
}

template <class T, int N, int M, class F>
void wide_add_stretch(const T* x, F feature, i64 size, const double* c, i64 lanes, double* W) {
  Vec<double, N> step[M];
  for (int m = 0; m < M; ++m) step[m] = load<N>(c + m * N);
  for (i64 p = 0; p < size; ++p) {
    if (F::sparse && p + kAhead < size)
      for (int m = 0; m < M; ++m) prefetch(W + feature.at(p + kAhead) * lanes + m * N);
    if (x[p] == 0) continue;
    double* w = W + feature.at(p) * lanes;
    const double v = static_cast<double>(x[p]);
    for (int m = 0; m < M; ++m) {
      Vec<double, N> now = load<N>(w + m * N);
      now += v * step[m];
      store<N>(w + m * N, now);
    }
  }
}

template <class T>
void add_wide(Row<T> x, const double* c, i64 lanes, double* W) {
  over_features(x, [&](auto feature) {
    over_stretches<double, 8>(lanes, [&]<int N, int M>(i64 at) {
      wide_add_stretch<T, N, M>(x.values, feature, x.size, c + at, lanes, W + at);
    });
  });
}

template <class T, int N>
bool finite_in(const T* s, i64 lanes) {
  Vec<T, N> zero{};  // a number times 0 is 0; what is not finite times 0 is not a number
  for (i64 r = 0; r < lanes; r += N) zero += T(0) * load<N>(s + r);
  return sum_of<T, N>(zero) == 0;
}

template <class T>
bool finite(const T* s, i64 lanes) {
  constexpr int V = kVector<T>;
  if (lanes == 4) return finite_in<T, (V < 4 ? V : 4)>(s, lanes);
  if (lanes == 8) return finite_in<T, (V < 8 ? V : 8)>(s, lanes);
  return finite_in<T, V>(s, lanes);
}

// R rows share every load of the table: one load of a vector of W feeds R multiply-adds.
template <class T, int N, int M, int R>
void score_rows_stretch(const T* const* x, i64 d, const T* W, i64 lanes, const T* bias, T* s) {
  Vec<T, N> acc[R][M];
  for (int r = 0; r < R; ++r)
    for (int m = 0; m < M; ++m) acc[r][m] = bias ? load<N>(bias + m * N) : Vec<T, N>{};
  for (i64 j = 0; j < d; ++j) {
    const T* w = W + j * lanes;
    for (int m = 0; m < M; ++m) {
      const Vec<T, N> wm = load<N>(w + m * N);
      for (int r = 0; r < R; ++r) acc[r][m] += x[r][j] * wm;
    }
  }
  for (int r = 0; r < R; ++r)
    for (int m = 0; m < M; ++m) store<N>(s + r * lanes + m * N, acc[r][m]);
}

template <class T>
void score_rows(const T* const* x, i64 count, i64 d, const T* W, i64 lanes, const T* bias, T* s) {
  over_stretches<T, 4>(lanes, [&]<int N, int M>(i64 at) {
    constexpr int R = M == 1 ? 8 : (M == 2 ? 6 : 4);
    const T* b = bias ? bias + at : nullptr;
    i64 r = 0;
    for (; r + R <= count; r += R)
      score_rows_stretch<T, N, M, R>(x + r, d, W + at, lanes, b, s + r * lanes + at);
    for (; r < count; ++r)  // summed in the same order: a row scores the same in any batch
      score_rows_stretch<T, N, M, 1>(x + r, d, W + at, lanes, b, s + r * lanes + at);
  });
}

// R rows share every load and store of the table.
template <class T, int N, int M, int R>
void add_rows_stretch(const T* const* x, i64 d, const T* c, i64 lanes, T* W) {
  Vec<T, N> step[R][M];
  for (int r = 0; r < R; ++r)
    for (int m = 0; m < M; ++m) step[r][m] = load<N>(c + r * lanes + m * N);
  for (i64 j = 0; j < d; ++j) {
    T* w = W + j * lanes;
    for (int m = 0; m < M; ++m) {
      Vec<T, N> now = load<N>(w + m * N);
      for (int r = 0; r < R; ++r) now += x[r][j] * step[r][m];
      store<N>(w + m * N, now);
    }
  }
}

template <class T>
void add_rows(const T* const* x, i64 count, i64 d, const T* c, i64 lanes, T* W) {
  over_stretches<T, 4>(lanes, [&]<int N, int M>(i64 at) {
    constexpr int R = M == 1 ? 8 : (M == 2 ? 6 : 4);
    i64 r = 0;
    for (; r + R <= count; r += R)
      add_rows_stretch<T, N, M, R>(x + r, d, c + r * lanes + at, lanes, W + at);
    for (; r < count; ++r)
      add_rows_stretch<T, N, M, 1>(x + r, d, c + r * lanes + at, lanes, W + at);
  });
}

}  // namespace

#define KESLER_TEXT(x) #x
#define KESLER_NAME(isa) KESLER_TEXT(isa)

extern const Smooth KESLER_TABLE(smooth_, KESLER_LANES);
extern const Lanes KESLER_TABLE(lanes_, KESLER_LANES) = {
    KESLER_NAME(KESLER_LANES),
    {score<float>, score_rows<float>, add<float>, add_part<float>, add_rows<float>,
     squared_norm<float>, top<float>, above<float>, mass<float>, score_wide<float>, add_wide<float>,
     finite<float>},
    {score<double>, score_rows<double>, add<double>, add_part<double>, add_rows<double>,
     squared_norm<double>, top<double>, above<double>, mass<double>, score_wide<double>,
     add_wide<double>, finite<double>},
    &KESLER_TABLE(smooth_, KESLER_LANES),
};

}  // namespace kesler
