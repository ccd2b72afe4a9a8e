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
  // The same for `count` dense rows; their scores lie `lanes` apart.
  void (*score_rows)(const T* const* x, std::int64_t count, std::int64_t d, const T* W,
                     std::int64_t lanes, const T* bias, T* s);
  // W[j] += x_j c.
  void (*add)(Row<T> x, const T* c, std::int64_t lanes, T* W);
  // The same for the first `count` lanes of rows that lie `lanes` apart.
  void (*add_part)(Row<T> x, const T* c, std::int64_t count, std::int64_t lanes, T* W);
  // The same for `count` dense rows; their c lie `lanes` apart.
  void (*add_rows)(const T* const* x, std::int64_t count, std::int64_t d, const T* c,
                   std::int64_t lanes, T* W);
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

// Rows of one block of a smoothed loss (newton.hpp): scores s + step t of `count` rows, `lanes`
// apart, the label y[i] of each row and what it counts.
template <class T>
struct SmoothRows {
  std::int64_t count, lanes;
  const T* s;
  const T* t;  // null where the step is 0
  const T* centre;
  const std::int32_t* y;
  const T* cap;
  const T* mask;  // 0 for labels, far below 0 for padding lanes
  T step, width;
  T* work;  // 2 lanes numbers
};

struct SmoothSums {
  double value = 0, reached = 0, worst = 0, slope = 0;
};

template <class T>
struct SmoothOps {
  // Sums over the rows of cap times: the smoothed loss, p.l of its maximiser p, the largest loss;
  // t is not read. Fills pi (lanes apart) with the p and tells how many labels of each carry mass.
  SmoothSums (*smooth)(const SmoothRows<T>& rows, T* pi, std::int32_t* carriers);
  // The sum of cap times the derivative of the smoothed loss along t.
  double (*slope)(const SmoothRows<T>& rows);
  // M += sum over eight rows of x x^T, the lower triangle by whole vectors; rows and those of M lie
  // `stride` numbers apart, a multiple of 16, and have `size` numbers.
  void (*gram)(const T* x, std::int64_t size, std::int64_t stride, T* M);
};

struct Smooth {
  SmoothOps<float> f32;
  SmoothOps<double> f64;
};

struct Lanes {
  const char* isa;
  LaneOps<float> f32;
  LaneOps<double> f64;
  const Smooth* smooth;
};

extern const Lanes lanes_baseline;
extern const Lanes lanes_avx2;
extern const Lanes lanes_avx512;

}  // namespace kesler
