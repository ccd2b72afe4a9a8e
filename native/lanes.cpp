// The label-lane kernels; lanes.hpp tells the layout and why this file is compiled several times.
// Everything but the final table has internal linkage, and no std template is used.
#include "lanes.hpp"

#ifndef KESLER_LANES
#error "KESLER_LANES must name the instruction set this file is compiled for"
#endif

namespace kesler {
namespace {

using i64 = std::int64_t;

#if defined(__GNUC__)

template <class T, int N>
struct VecOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using Vec = typename VecOf<T, N>::type;

template <int N, class T>
inline Vec<T, N> load(const T* p) {
  Vec<T, N> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <int N, class T>
inline void store(T* p, Vec<T, N> v) {
  __builtin_memcpy(p, &v, sizeof v);
}
inline void prefetch(const void* p) { __builtin_prefetch(p); }

#else  // a compiler without vector types: fixed loops that it may vectorise

template <class T, int N>
struct Vec {
  T v[N];
  T& operator[](int i) { return v[i]; }
  Vec& operator+=(const Vec& o) {
    for (int i = 0; i < N; ++i) v[i] += o.v[i];
    return *this;
  }
};
template <class T, int N>
inline Vec<T, N> operator*(T x, const Vec<T, N>& o) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = x * o.v[i];
  return r;
}
template <int N, class T>
inline Vec<T, N> load(const T* p) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = p[i];
  return r;
}
template <int N, class T>
inline void store(T* p, const Vec<T, N>& r) {
  for (int i = 0; i < N; ++i) p[i] = r.v[i];
}
inline void prefetch(const void*) {}

#endif

// The features of a row: the p-th one stands at table row at(p).
template <class I>
struct Sparse {
  const I* index;
  i64 at(i64 p) const { return static_cast<i64>(index[p]); }
};
struct Dense {
  i64 at(i64 p) const { return p; }
};

template <class T>
constexpr int kVector = 64 / static_cast<int>(sizeof(T));

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
  i64 p = 0;
  for (; p + U <= size; p += U)
    for (int u = 0; u < U; ++u) {
      const T* w = W + feature.at(p + u) * lanes;
      const T v = x[p + u];
      for (int m = 0; m < M; ++m) acc[u][m] += v * load<N>(w + m * N);
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

template <class T, int N, int M, class F>
void add_stretch(const T* x, F feature, i64 size, const T* c, i64 lanes, T* W) {
  Vec<T, N> step[M];
  for (int m = 0; m < M; ++m) step[m] = load<N>(c + m * N);
  for (i64 p = 0; p < size; ++p) {
    T* w = W + feature.at(p) * lanes;
    const T v = x[p];
    for (int m = 0; m < M; ++m) {
      Vec<T, N> now = load<N>(w + m * N);
      now += v * step[m];
      store<N>(w + m * N, now);
    }
  }
}

// Calls f.template operator()<N, M>(offset) for stretches that cover all lanes: at most eight
// vectors at once, so that the sums stay in registers.
template <class T, class Body>
void over_stretches(i64 lanes, Body body) {
  constexpr int N = kVector<T>;
  if (lanes == 4) return body.template operator()<4, 1>(0);
  if (lanes == 8) return body.template operator()<8, 1>(0);
  i64 at = 0;
  for (; at + 8 * N <= lanes; at += 8 * N) body.template operator()<N, 8>(at);
  switch ((lanes - at) / N) {
    case 1:
      return body.template operator()<N, 1>(at);
    case 2:
      return body.template operator()<N, 2>(at);
    case 3:
      return body.template operator()<N, 3>(at);
    case 4:
      return body.template operator()<N, 4>(at);
    case 5:
      return body.template operator()<N, 5>(at);
    case 6:
      return body.template operator()<N, 6>(at);
    case 7:
      return body.template operator()<N, 7>(at);
    default:
      return;
  }
}

template <class T, class F>
void score_row(const T* x, F feature, i64 size, const T* W, i64 lanes, const T* bias, T* s) {
  over_stretches<T>(lanes, [&]<int N, int M>(i64 at) {
    score_stretch<T, N, M>(x, feature, size, W + at, lanes, bias ? bias + at : nullptr, s + at);
  });
}

template <class T, class F>
void add_row(const T* x, F feature, i64 size, const T* c, i64 lanes, T* W) {
  over_stretches<T>(lanes, [&]<int N, int M>(i64 at) {
    add_stretch<T, N, M>(x, feature, size, c + at, lanes, W + at);
  });
}

template <class T>
void score(Row<T> x, const T* W, i64 lanes, const T* bias, T* s) {
  switch (x.kind) {
    case Index::dense:
      return score_row(x.values, Dense{}, x.size, W, lanes, bias, s);
    case Index::int32:
      return score_row(x.values, Sparse<std::int32_t>{static_cast<const std::int32_t*>(x.index)},
                       x.size, W, lanes, bias, s);
    case Index::int64:
      return score_row(x.values, Sparse<i64>{static_cast<const i64*>(x.index)}, x.size, W, lanes,
                       bias, s);
  }
}

template <class T>
void add(Row<T> x, const T* c, i64 lanes, T* W) {
  switch (x.kind) {
    case Index::dense:
      return add_row(x.values, Dense{}, x.size, c, lanes, W);
    case Index::int32:
      return add_row(x.values, Sparse<std::int32_t>{static_cast<const std::int32_t*>(x.index)},
                     x.size, c, lanes, W);
    case Index::int64:
      return add_row(x.values, Sparse<i64>{static_cast<const i64*>(x.index)}, x.size, c, lanes, W);
  }
}

template <class T>
T squared_norm(Row<T> x) {
  constexpr int N = kVector<T>;
  Vec<T, N> acc{};
  i64 p = 0;
  for (; p + N <= x.size; p += N) {
    Vec<T, N> v = load<N>(x.values + p);
    acc += v * v;
  }
  T sum = 0;
  for (int i = 0; i < N; ++i) sum += acc[i];
  for (; p < x.size; ++p) sum += x.values[p] * x.values[p];
  return sum;
}

// R rows share every load of the table: one load of a vector of W feeds R multiply-adds.
template <class T, int N, int M, int R>
void block_stretch(const T* x, i64 stride, i64 d, const T* W, i64 lanes, const T* bias, T* s) {
  Vec<T, N> acc[R][M];
  for (int r = 0; r < R; ++r)
    for (int m = 0; m < M; ++m) acc[r][m] = bias ? load<N>(bias + m * N) : Vec<T, N>{};
  for (i64 j = 0; j < d; ++j) {
    const T* w = W + j * lanes;
    for (int m = 0; m < M; ++m) {
      const Vec<T, N> wm = load<N>(w + m * N);
      for (int r = 0; r < R; ++r) acc[r][m] += x[r * stride + j] * wm;
    }
  }
  for (int r = 0; r < R; ++r)
    for (int m = 0; m < M; ++m) store<N>(s + r * lanes + m * N, acc[r][m]);
}

template <class T, int N, int M>
void block_rows(const T* x, i64 stride, i64 count, i64 d, const T* W, i64 lanes, const T* bias,
                T* s) {
  constexpr int R = M == 1 ? 8 : (M == 2 ? 6 : 4);
  i64 r = 0;
  for (; r + R <= count; r += R)
    block_stretch<T, N, M, R>(x + r * stride, stride, d, W, lanes, bias, s + r * lanes);
  for (; r < count; ++r)
    score_stretch<T, N, M>(x + r * stride, Dense{}, d, W, lanes, bias, s + r * lanes);
}

template <class T>
void score_block(const T* x, i64 stride, i64 count, i64 d, const T* W, i64 lanes, const T* bias,
                 T* s) {
  constexpr int N = kVector<T>;
  const T* b = bias;
  if (lanes == 4) return block_rows<T, 4, 1>(x, stride, count, d, W, lanes, b, s);
  if (lanes == 8) return block_rows<T, 8, 1>(x, stride, count, d, W, lanes, b, s);
  i64 at = 0;
  for (; at + 4 * N <= lanes; at += 4 * N)
    block_rows<T, N, 4>(x, stride, count, d, W + at, lanes, b ? b + at : b, s + at);
  if (lanes - at == N)
    block_rows<T, N, 1>(x, stride, count, d, W + at, lanes, b ? b + at : b, s + at);
  else if (lanes - at == 2 * N)
    block_rows<T, N, 2>(x, stride, count, d, W + at, lanes, b ? b + at : b, s + at);
  else if (lanes - at == 3 * N)
    block_rows<T, N, 3>(x, stride, count, d, W + at, lanes, b ? b + at : b, s + at);
}

}  // namespace

#define KESLER_JOIN(a, b) a##b
#define KESLER_TABLE(isa) KESLER_JOIN(lanes_, isa)
#define KESLER_TEXT(x) #x
#define KESLER_NAME(isa) KESLER_TEXT(isa)

extern const Lanes KESLER_TABLE(KESLER_LANES) = {
    KESLER_NAME(KESLER_LANES),
    {score<float>, score_block<float>, add<float>, squared_norm<float>},
    {score<double>, score_block<double>, add<double>, squared_norm<double>},
};

}  // namespace kesler
