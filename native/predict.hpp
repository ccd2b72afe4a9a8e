// Scores and best labels of many rows, by blocks: nothing of size n x k is made unless the caller
// asks for the scores themselves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace kesler {

// The linear sorter as prediction sees it: w - sums * per_step where sums is given (an average that
// is not laid out), else w.
template <class T>
struct Sorter {
  const T* weights = nullptr;
  const T* sums = nullptr;
  T per_step = 0;
  std::int64_t lanes = 0;
  bool intercept = false;
};

template <class T>
class BlockScorer {
 public:
  static constexpr std::int64_t kRows = 64;

  BlockScorer(const LaneOps<T>& ops, const Rows<T>& rows, const Sorter<T>& sorter,
              const std::int64_t* picked)
      : ops_(ops), rows_(rows), sorter_(sorter), picked_(picked),
        scores_(static_cast<std::size_t>(kRows * sorter.lanes)),
        sums_(sorter.sums ? scores_.size() : 0) {}

  // Scores of rows begin..end (at most kRows of them), `lanes` numbers apart.
  const T* operator()(std::int64_t begin, std::int64_t end) {
    fill(sorter_.weights, begin, end, scores_.data());
    if (sorter_.sums) {
      fill(sorter_.sums, begin, end, sums_.data());
      const auto used = static_cast<std::size_t>((end - begin) * sorter_.lanes);
      for (std::size_t i = 0; i < used; ++i) scores_[i] -= sums_[i] * sorter_.per_step;
    }
    return scores_.data();
  }

 private:
  void fill(const T* table, std::int64_t begin, std::int64_t end, T* out) {
    const std::int64_t lanes = sorter_.lanes;
    const T* bias = sorter_.intercept ? table + rows_.d * lanes : nullptr;
    if (rows_.kind == Index::dense) {
      const T* x[kRows];
      for (std::int64_t i = begin; i < end; ++i)
        x[i - begin] = rows_.values + (picked_ ? picked_[i] : i) * rows_.d;
      ops_.score_rows(x, end - begin, rows_.d, table, lanes, bias, out);
      return;
    }
    for (std::int64_t i = begin; i < end; ++i)
      ops_.score(rows_[picked_ ? picked_[i] : i], table, lanes, bias, out + (i - begin) * lanes);
  }

  const LaneOps<T>& ops_;
  const Rows<T>& rows_;
  const Sorter<T>& sorter_;
  const std::int64_t* picked_;
  std::vector<T> scores_, sums_;
};

// Calls each(i, scores) for rows 0..n (of `picked`, where given) on `n_threads` threads.
template <class T, class Each, class Poll>
bool over_scores(const LaneOps<T>& ops, const Rows<T>& rows, const Sorter<T>& sorter,
                 const std::int64_t* picked, std::int64_t n, int n_threads, Each each, Poll poll) {
  constexpr std::int64_t kStep = BlockScorer<T>::kRows;
  return over_blocks(
      n, 8 * kStep, n_threads,
      [&](std::int64_t begin, std::int64_t end) {
        BlockScorer<T> scorer(ops, rows, sorter, picked);
        for (std::int64_t b = begin; b < end; b += kStep) {
          const std::int64_t e = std::min(b + kStep, end);
          const T* s = scorer(b, e);
          for (std::int64_t i = b; i < e; ++i) each(i, s + (i - b) * sorter.lanes);
        }
      },
      poll);
}

// The `count` best of k labels, best first, ties to the smaller index.
template <class T>
void best_labels(const T* s, std::int64_t k, std::int64_t count, std::int64_t* out) {
  if (count == 1) {
    std::int64_t best = 0;
    for (std::int64_t r = 1; r < k; ++r)
      if (s[r] > s[best]) best = r;
    out[0] = best;
    return;
  }
  const auto before = [s](std::int64_t a, std::int64_t b) {  // what is no number comes last
    const bool a_lost = s[a] != s[a], b_lost = s[b] != s[b];
    if (a_lost || b_lost) return a_lost == b_lost ? a < b : b_lost;
    return s[a] != s[b] ? s[a] > s[b] : a < b;
  };
  if (count == k) {
    std::iota(out, out + k, std::int64_t{0});
    std::sort(out, out + k, before);
    return;
  }
  thread_local std::vector<std::int64_t> labels;
  labels.resize(static_cast<std::size_t>(k));
  std::iota(labels.begin(), labels.end(), std::int64_t{0});
  std::partial_sort_copy(labels.begin(), labels.end(), out, out + count, before);
}

}  // namespace kesler
