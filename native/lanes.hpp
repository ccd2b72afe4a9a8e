// Scores of one row for all labels, and the move of all labels along one row.
//
// Design. The weights of k labels over d features are one table of d rows (d + 1 with an
// intercept), a row per feature, its k labels side by side in `lanes` numbers: k padded to 4, 8 or
// a multiple of 16. So a score is a sum of vectors, s += x_j * W[j], whether x is dense or sparse,
// and a sparse row touches one short stretch of memory per non-zero. Padding lanes stay zero.
//
// lanes.cpp is compiled once per instruction set. What stands in this header is plain data and
// function pointers only: an inline function here could be compiled with AVX-512 in one object file
// and be handed by the linker to code that runs on a machine without it.
#pragma once

#include <cstdint>

namespace kesler {

enum class Index : std::uint8_t { dense, int32, int64 };

// One example: `size` values, and where its features stand (null for a dense row).
template <class T>
struct Row {
  const T* values;
  const void* index;
  std::int64_t size;
  Index kind;
};

template <class T>
struct LaneOps {
  // s = bias + sum_j x_j W[j]; a null bias is zero.
  void (*score)(Row<T> x, const T* W, std::int64_t lanes, const T* bias, T* s);
  // The same for `count` dense rows that lie `stride` numbers apart; scores `lanes` apart.
  void (*score_block)(const T* x, std::int64_t stride, std::int64_t count, std::int64_t d,
                      const T* W, std::int64_t lanes, const T* bias, T* s);
  // W[j] += x_j c.
  void (*add)(Row<T> x, const T* c, std::int64_t lanes, T* W);
  // Squared Euclidean norm of x.
  T (*squared_norm)(Row<T> x);
  // The first of the largest of s[0..k), k > 0.
  std::int64_t (*top)(const T* s, std::int64_t k);
  // The labels r of 0..k with s[r] > level, ascending, into `found`; how many there are.
  std::int64_t (*above)(const T* s, std::int64_t k, T level, std::int32_t* found);
  // The sum of clip((v_j - level) * inverse, 0, bound) over `n` numbers, a multiple of 16, and how
  // many of them lie strictly between the bounds.
  void (*mass)(const T* v, std::int64_t n, T level, T inverse, T bound, T* sum, T* inside);
  // score in double precision, whatever T is.
  void (*score_wide)(Row<T> x, const T* W, std::int64_t lanes, const T* bias, double* s);
  // add to a table in double precision.
  void (*add_wide)(Row<T> x, const double* c, std::int64_t lanes, double* W);
  // Are all scores finite numbers?
  bool (*finite)(const T* s, std::int64_t lanes);
};

struct Lanes {
  const char* isa;
  LaneOps<float> f32;
  LaneOps<double> f64;
};

extern const Lanes lanes_baseline;
extern const Lanes lanes_avx2;
extern const Lanes lanes_avx512;

}  // namespace kesler
