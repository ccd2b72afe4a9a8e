// Vectors of numbers as wide as the instruction set has them, for the files that are compiled once
// per instruction set: all of it has internal linkage, so that no copy for AVX-512 can be handed by
// the linker to code that runs on a machine without it.
#pragma once

#include <cstdint>

#ifndef KESLER_LANES
#error "KESLER_LANES must name the instruction set a file is compiled for"
#endif
#define KESLER_JOIN(a, b) a##b
#define KESLER_TABLE(name, isa) KESLER_JOIN(name, isa)

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
template <class V>
inline V larger(V a, V b) {
  return a > b ? a : b;
}
template <int N, class T>
inline Vec<T, N> all(T x) {
  return Vec<T, N>{} + x;
}
// 1 in the lanes that are above 0, else 0.
template <class T, int N>
inline Vec<T, N> positive(Vec<T, N> v) {
  const Vec<T, N> zero{}, one = zero + 1;
  return v > zero ? one : zero;
}

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
inline Vec<T, N> operator+(Vec<T, N> a, const Vec<T, N>& b) {
  return a += b;
}
template <class T, int N>
inline Vec<T, N> operator-(const Vec<T, N>& a, const Vec<T, N>& b) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] - b.v[i];
  return r;
}
template <class T, int N>
inline Vec<T, N> operator*(const Vec<T, N>& a, const Vec<T, N>& b) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] * b.v[i];
  return r;
}
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
template <class T, int N>
inline Vec<T, N> larger(const Vec<T, N>& a, const Vec<T, N>& b) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return r;
}
template <int N, class T>
inline Vec<T, N> all(T x) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = x;
  return r;
}
template <class T, int N>
inline Vec<T, N> positive(const Vec<T, N>& v) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = v.v[i] > 0 ? T(1) : T(0);
  return r;
}

#endif

// Numbers in the widest vector of the instruction set; wider ones would be taken apart in memory.
#ifndef KESLER_VECTOR_BYTES
#define KESLER_VECTOR_BYTES 16
#endif
template <class T>
constexpr int kVector = KESLER_VECTOR_BYTES / static_cast<int>(sizeof(T));

// Adds up, or takes the largest of, the lanes of a vector: halves onto halves.
#if defined(__GNUC__)
template <class T, int N, class Join>
inline T fold(Vec<T, N> v, Join join) {
  if constexpr (N == 1) {
    return v[0];
  } else {
    Vec<T, N / 2> low, high;
    __builtin_memcpy(&low, &v, sizeof low);
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
    return fold<T, N / 2>(join(low, high), join);
  }
}
template <class T, int N>
inline T sum_of(Vec<T, N> v) {
  return fold<T, N>(v, [](auto a, auto b) { return a + b; });
}
template <class T, int N>
inline T largest_of(Vec<T, N> v) {
  return fold<T, N>(v, [](auto a, auto b) { return a > b ? a : b; });
}
#else
template <class T, int N>
inline T sum_of(Vec<T, N> v) {
  for (int half = N / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v[i] += v[i + half];
  return v[0];
}
template <class T, int N>
inline T largest_of(Vec<T, N> v) {
  for (int half = N / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
  return v[0];
}
#endif

// Calls body.operator()<N, M>(offset) for stretches of M vectors that cover all lanes: at most
// `Most` vectors at once, so that the sums stay in registers.
template <class T, int Most, class Body>
void over_stretches(i64 lanes, Body body) {
  constexpr int V = kVector<T>;
  if (lanes == 4) {
    constexpr int N = V < 4 ? V : 4;
    return body.template operator()<N, 4 / N>(0);
  }
  if (lanes == 8) {
    constexpr int N = V < 8 ? V : 8;
    return body.template operator()<N, 8 / N>(0);
  }
  i64 at = 0;
  for (; at + Most * V <= lanes; at += Most * V) body.template operator()<V, Most>(at);
  const int rest = static_cast<int>((lanes - at) / V);
  if constexpr (Most > 1)
    if (rest == 1) return body.template operator()<V, 1>(at);
  if constexpr (Most > 2)
    if (rest == 2) return body.template operator()<V, 2>(at);
  if constexpr (Most > 3)
    if (rest == 3) return body.template operator()<V, 3>(at);
  if constexpr (Most > 4)
    if (rest == 4) return body.template operator()<V, 4>(at);
  if constexpr (Most > 5)
    if (rest == 5) return body.template operator()<V, 5>(at);
  if constexpr (Most > 6)
    if (rest == 6) return body.template operator()<V, 6>(at);
  if constexpr (Most > 7)
    if (rest == 7) return body.template operator()<V, 7>(at);
}

}  // namespace
}  // namespace kesler
