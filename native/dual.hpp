// Dual sweeps: one example's problem after another is solved exactly (reduced.hpp), in random
// order, over the examples that still move. Keerthi, Sundararajan, Chang, Hsieh and Lin (2008) for
// classes.
//
// Design. A round visits all examples once, then again and again those that have not settled, until
// the largest violation of an epoch falls below a threshold that halves from round to round; where
// rows share few features those with little violation wait for the next round too. What the full
// pass sees gives an estimate of the duality gap, so that the certificate (certificate.hpp) is
// asked for when it has something to say.
//
// Threads. Every worker keeps the weights of some features to itself: no other ever reads them, so
// they stay in the caches of one processor. Visits go in small blocks: each worker scores all
// visits of the block as far as its features go; then each finds the moves of some of the visits
// from the sums; then each makes the moves of all in its features. Within a block nobody sees what
// the others found, which is harmless while blocks are a small part of the data; when the dual
// objective falls nonetheless the blocks halve, and at one visit each the curvature is raised by
// the number of workers, which is safe always (Smith et al. 2018). Who visits what depends on
// nothing but the list: the same bits every time.
#pragma once

#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "parallel.hpp"
#include "reduced.hpp"

namespace kesler {

// Steele, Lea and Flood's SplitMix64 (2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 to n - 1; n below 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((operator()() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

struct Round {
  double primal = 0, dual = 0;  // as the full pass saw them
  double violation = 0;         // of the last epoch
  std::int64_t visits = 0;
  std::int64_t epochs = 0;
  bool done = true;  // false: broken off by the poll
};

template <class T>
class DualSolver {
 public:
  // Solves from weights of zero, which must stay where they are.
  DualSolver(Problem<T> problem, T* weights, std::uint64_t seed, int n_threads)
      : problem_(std::move(problem)), W_(weights), random_(seed), n_threads_(n_threads) {
    const std::int64_t n = problem_.rows.n;
    if (n >= std::int64_t{1} << 32)
      throw std::invalid_argument("there is room for 2^32 - 1 examples");
    look_at_rows();
    duals.resize(n, n_threads_);
    alone_ = std::make_unique<Reduced<T>>(problem_, duals, W_, 0);
  }

  DualSolver(const DualSolver&) = delete;
  DualSolver& operator=(const DualSolver&) = delete;

  Duals<T> duals;

  // The row whose squared norm is no finite number, or -1.
  std::int64_t overflow() const { return overflow_; }
  const Problem<T>& problem() const { return problem_; }

  // Rows without features get their masses, which no visit changes.
  void place_flat() {
    for (const std::uint32_t i : flat_) alone_->place_flat(i);
    recount();
  }

  // After duals and weights were changed together: C, masses and weights times a factor.
  void scale(double factor) {
    problem_.C *= factor;
    duals.scale(static_cast<T>(factor));
    const std::int64_t size = table_size();
    for (std::int64_t at = 0; at < size; ++at) W_[at] *= static_cast<T>(factor);
    wanted_ = 1;
    last_dual_ = -std::numeric_limits<double>::infinity();
    recount();
  }

  // What is kept as running sums, computed anew.
  void recount() {
    norm2_ = squared_norm();
    linear_ = 0;
    for (std::int64_t i = 0; i < problem_.rows.n; ++i) linear_ += linear_of(i);
  }

  // One round; broken off after `most` visits, and after the full pass where that puts the relative
  // gap at `target` or below.
  Round round(double target, std::int64_t most, const std::function<bool(std::int64_t)>& poll) {
    Round seen;
    poll_ = &poll;
    active_ = live_;
    Totals totals;
    double first = 0;  // violation of the full pass
    while (!active_.empty()) {
      if (!epoch(totals, seen)) {
        seen.done = false;
        return seen;
      }
      if (++seen.epochs == 1) {
        first = seen.violation;
        if (n_threads_ > 1) {
          norm2_ = squared_norm();  // visits did not see those beside them
          keep_rising();
        }
        seen.primal = totals.loss + norm2_ / 2;
        seen.dual = linear_ - norm2_ / 2;
        if (seen.primal - seen.dual <= target * seen.primal) break;
      }
      little_ = scattered_ ? kLittle * seen.violation : 0;
      if (seen.violation < wanted_) {
        wanted_ /= 2;
        break;
      }
      if (seen.visits >= most) break;
      if (little_ > 0 && (seen.violation < kFallen * first || seen.epochs >= kMostEpochs)) break;
    }
    return seen;
  }

 private:
  static constexpr auto kSettled = std::numeric_limits<std::uint32_t>::max();  // no example
  static constexpr T kLeastNorm = sizeof(T) == 4 ? T(1e-30) : T(1e-290);
  static constexpr double kParallel = 1 << 21;  // numbers in an epoch worth more than one thread
  // Of rows that share few features few examples keep the gap open in the end: those with this part
  // of the largest violation of the last epoch wait, until the others have come down to that of the
  // full pass. Where all examples pull at the same weights that takes longer.
  static constexpr double kLittle = 0.03, kFallen = 0.1, kScattered = 0.05;
  static constexpr std::int64_t kMostEpochs = 100;  // the last few may be at odds by rounding alone
  // Visits of a worker in a block: what they read should outweigh that all wait for each other.
  static constexpr double kBlockSize = 1 << 14;
  static constexpr std::int64_t kLeastBlock = 2, kMostBlock = 4;

  // Takes more care where the dual objective fell.
  void keep_rising() {
    const double dual = linear_ - norm2_ / 2;
    if (dual < last_dual_ - 1e-6 * std::abs(last_dual_)) {
      if (block_ > 1)
        block_ /= 2;
      else
        curvature_ = static_cast<T>(n_threads_);
    }
    last_dual_ = dual;
  }

  std::int64_t table_size() const {
    return (problem_.rows.d + (problem_.intercept ? 1 : 0)) * problem_.lanes;
  }

  double squared_norm() const {
    constexpr std::int64_t kStretch = 4096, kBlock = 64 * kStretch;  // short sums in T
    const std::int64_t size = table_size();
    std::vector<double> sums(static_cast<std::size_t>((size + kBlock - 1) / kBlock), 0.0);
    over_blocks(
        size, kBlock, n_threads_,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t at = begin; at < end; at += kStretch) {
            const Row<T> part{W_ + at, nullptr, std::min(kStretch, end - at), Index::dense};
            sums[static_cast<std::size_t>(at / kBlock)] +=
                static_cast<double>(problem_.ops.squared_norm(part));
          }
        },
        [] { return true; });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  void look_at_rows() {
    const std::int64_t n = problem_.rows.n;
    problem_.norm.resize(static_cast<std::size_t>(n));
    const Orders& orders = problem_.orders;
    bool classes =
        orders.form == Form::set && !orders.forms && !orders.indptr && orders.n_labels > 1;
    if (!classes) problem_.shapes.resize(static_cast<std::size_t>(n));
    Row<T> row;
    for (std::int64_t i = 0; i < n; ++i) {
      problem_.rows.read(i, row);
      per_visit_ += static_cast<double>(row.size);
      const T norm = problem_.ops.squared_norm(row) + (problem_.intercept ? T(1) : T(0));
      problem_.norm[static_cast<std::size_t>(i)] = norm;
      if (!(norm <= std::numeric_limits<T>::max() / 16) && overflow_ < 0) overflow_ = i;
      Shape shape = Shape::one_class;
      if (!classes) {
        shape = shape_of(orders[i], orders.n_labels, problem_.aggregate);
        problem_.shapes[static_cast<std::size_t>(i)] = shape;
      }
      if (shape == Shape::none || !(problem_.cap(i) > 0)) continue;
      (norm < kLeastNorm ? flat_ : live_).push_back(static_cast<std::uint32_t>(i));
    }
    const double all = static_cast<double>(n) * static_cast<double>(problem_.rows.d);
    scattered_ = problem_.rows.kind != Index::dense && per_visit_ < kScattered * all;
    per_visit_ = 64 + per_visit_ / static_cast<double>(std::max<std::int64_t>(n, 1)) *
                          static_cast<double>(problem_.lanes);
    block_ =
        std::clamp(static_cast<std::int64_t>(kBlockSize / per_visit_), kLeastBlock, kMostBlock);
  }

  double linear_of(std::int64_t i) const {
    const auto masses = duals.of(i);
    if (masses.empty()) return 0;
    const double cap = problem_.cap(i);
    const Order order = problem_.orders[i];
    const Shape shape = problem_.shape(i);
    double linear = 0, total = 0, squares = 0;
    for (const Dual<T>& dual : masses) {
      const auto value = static_cast<double>(dual.value);
      const std::int64_t p = 2 * std::int64_t{dual.key};
      const bool own = order.form == Form::pairs;
      const double share = shape == Shape::sides ? 0.5 : 1;
      linear += value * share * (own && order.margin ? order.margin[p] : 1.0);
      total += value * share;
      squares += value * value / (own && order.weight ? order.weight[p] : 1.0);
    }
    if (problem_.squares()) linear -= (problem_.sums() ? squares : total * total) / (4 * cap);
    return linear;
  }

  void shuffle() {
    for (auto left = static_cast<std::uint32_t>(active_.size()); left > 1; --left)
      std::swap(active_[left - 1], active_[random_.below(left)]);
  }

  bool epoch(Totals& totals, Round& seen) {
    shuffle();
    settled_.clear();
    seen.violation = 0;
    const double work = static_cast<double>(active_.size()) * per_visit_;
    const bool done =
        n_threads_ > 1 && work >= kParallel ? together(totals, seen) : alone(totals, seen);
    for (const std::size_t v : settled_) active_[v] = kSettled;
    std::erase(active_, kSettled);
    return done;
  }

  static constexpr std::size_t kFar = 4, kNear = 2;  // visits

  // These bring nearer what a visit needs: where its lists are told, its lists, its row, its
  // weights.
#if defined(__GNUC__)
  static void fetch(const void* p) { __builtin_prefetch(p); }
  static void fetch_to_write(const void* p) { __builtin_prefetch(p, 1, 2); }
#else
  static void fetch(const void*) {}
  static void fetch_to_write(const void*) {}
#endif
  void fetch_place(std::int64_t i) const {
    fetch(duals.place(i));
    if (!problem_.orders.indptr) fetch(problem_.orders.items + i);
    fetch(problem_.norm.data() + i);
  }
  void fetch_row_place(std::int64_t i) const {
    if (problem_.rows.kind == Index::int32)
      fetch(static_cast<const std::int32_t*>(problem_.rows.indptr) + i);
    else if (problem_.rows.kind == Index::int64)
      fetch(static_cast<const std::int64_t*>(problem_.rows.indptr) + i);
  }
  void fetch_row(std::int64_t i) const {
    constexpr std::int64_t kLines = 16, kLine = 64;
    Row<T> row;
    problem_.rows.read(i, row);
    const auto all = [](const void* from, std::int64_t bytes) {
      const auto* p = static_cast<const char*>(from);
      for (std::int64_t b = 0; b < std::min(bytes, kLines * kLine); b += kLine) fetch(p + b);
    };
    all(row.values, row.size * static_cast<std::int64_t>(sizeof(T)));
    if (row.index) all(row.index, row.size * (row.kind == Index::int32 ? 4 : 8));
  }
  // Weights of a sparse row lie all over the table.
  void fetch_weights(std::int64_t i, const Share& share) const {
    constexpr std::int64_t kMostFetched = 1 << 13, kLine = 64;
    if (problem_.rows.kind == Index::dense) return;
    const std::int64_t lanes = problem_.lanes;
    Row<T> row;
    problem_.rows.read(i, row);
    const std::int64_t first = share.first ? share.first[i] : 0;
    std::int64_t last = share.last ? share.last[i] : row.size;
    last = std::min(last, first + kMostFetched / lanes);
    const auto per_line = kLine / static_cast<std::int64_t>(sizeof(T));
    const auto all = [&](const auto* index) {
      for (std::int64_t p = first; p < last; ++p)
        for (std::int64_t lane = 0; lane < lanes; lane += per_line)
          fetch_to_write(W_ + static_cast<std::int64_t>(index[p]) * lanes + lane);
    };
    if (row.kind == Index::int32)
      all(static_cast<const std::int32_t*>(row.index));
    else
      all(static_cast<const std::int64_t*>(row.index));
  }

  // Brings nearer what the visits after v need to be scored by a share of the weights.
  void look_ahead(std::size_t v, const Share& share) const {
    if (v + kFar < active_.size()) fetch_row_place(active_[v + kFar]);
    if (v + kNear < active_.size()) fetch_row(active_[v + kNear]);
    // The next visit's come while this one counts.
    if (v + 1 < active_.size()) fetch_weights(active_[v + 1], share);
  }

  // What was seen on the visit at place v of the list.
  void note(const Reduced<T>& reduced, const Visit<T>& found, std::size_t v,
            std::vector<std::size_t>& settled, T& violation, std::int64_t& work) {
    if (found.settled || static_cast<double>(found.violation) < little_) settled.push_back(v);
    violation = std::max(violation, found.violation);
    work += 64 + reduced.row_size() * problem_.lanes;
  }

  bool alone(Totals& totals, Round& seen) {
    alone_->totals = {};
    alone_->curvature = 1;
    T violation = 0;
    std::int64_t work = 0;
    bool going = true;
    for (std::size_t v = 0; v < active_.size() && going; ++v) {
      if (v + kFar < active_.size()) fetch_place(active_[v + kFar]);
      if (v + kNear < active_.size()) fetch(duals.list(active_[v + kNear]));
      look_ahead(v, {0, problem_.rows.d});
      note(*alone_, alone_->visit(active_[v]), v, settled_, violation, work);
      ++seen.visits;
      if (work >= kWorkBetweenPolls) {
        work = 0;
        going = (*poll_)(seen.visits);
      }
    }
    take(*alone_, totals);
    seen.violation = static_cast<double>(violation);
    return going;
  }

  void take(const Reduced<T>& reduced, Totals& totals) {
    totals.loss += reduced.totals.loss;
    linear_ += reduced.totals.linear;
    norm2_ += reduced.totals.norm2;
  }

  struct Worker {
    explicit Worker(Share kept) : share(kept) {}
    Share share;
    std::unique_ptr<Reduced<T>> reduced;
    // What it found in a block: moves, and of which example up to where.
    std::vector<Move<T>> moves;
    std::vector<std::pair<std::int64_t, std::size_t>> visits;
    std::vector<std::size_t> settled;
    T violation = 0;
    std::int64_t work = 0;
  };

  void hire() {
    if (!workers_.empty()) return;
    bool ascend = true;
    const std::vector<std::int64_t> ends = even_shares(ascend);
    if (ascend && problem_.rows.kind != Index::dense) cut_rows(ends);
    std::int64_t begin = 0;
    for (std::size_t t = 0; t < ends.size(); ++t) {
      Share share{begin, ends[t], t == 0};
      if (!cuts_.empty()) {
        share.first = cuts_[t].data();
        share.last = cuts_[t + 1].data();
      }
      Worker& worker = workers_.emplace_back(share);
      worker.reduced = std::make_unique<Reduced<T>>(problem_, duals, W_, static_cast<int>(t));
      begin = ends[t];
    }
  }

  // Where the share of each worker ends, so that all have as many stored values to go through; and
  // whether the features of every row ascend.
  std::vector<std::int64_t> even_shares(bool& ascend) const {
    const auto d = static_cast<std::size_t>(problem_.rows.d);
    std::vector<std::int64_t> ends(static_cast<std::size_t>(n_threads_), problem_.rows.d);
    std::vector<std::int64_t> stored(d, 1);
    Row<T> row;
    for (std::int64_t i = 0; problem_.rows.kind != Index::dense && i < problem_.rows.n; ++i) {
      problem_.rows.read(i, row);
      ascend = ascend && row.size <= std::numeric_limits<std::int32_t>::max();
      std::int64_t before = -1;
      for_each_feature(row, [&](std::int64_t j, T) {
        ++stored[static_cast<std::size_t>(j)];
        if (j <= before) ascend = false;
        before = j;
      });
    }
    const auto total =
        static_cast<double>(std::accumulate(stored.begin(), stored.end(), std::int64_t{0}));
    double sum = 0;
    std::size_t part = 0;
    for (std::size_t j = 0; j < d; ++j) {
      sum += static_cast<double>(stored[j]);
      while (part + 1 < ends.size() && sum * n_threads_ >= total * static_cast<double>(part + 1))
        ends[part++] = static_cast<std::int64_t>(j) + 1;
    }
    return ends;
  }

  // Where the share of each worker begins in each row, and ends.
  void cut_rows(const std::vector<std::int64_t>& ends) {
    const auto n = static_cast<std::size_t>(problem_.rows.n);
    cuts_.assign(ends.size() + 1, std::vector<std::int32_t>(n, 0));
    Row<T> row;
    for (std::size_t i = 0; i < n; ++i) {
      problem_.rows.read(static_cast<std::int64_t>(i), row);
      std::size_t part = 0;
      std::int32_t p = 0;
      for_each_feature(row, [&](std::int64_t j, T) {
        while (j >= ends[part]) cuts_[++part][i] = p;
        ++p;
      });
      while (part < ends.size()) cuts_[++part][i] = p;
    }
  }

  // Room for so many numbers, from the start of a cache line on.
  static T* aligned(std::vector<T>& room, std::size_t size) {
    constexpr std::uintptr_t kLine = 64;
    room.assign(size + kLine / sizeof(T), T(0));
    const auto over = reinterpret_cast<std::uintptr_t>(room.data()) % kLine;
    return room.data() + (over ? (kLine - over) / sizeof(T) : 0);
  }

  bool together(Totals& totals, Round& seen) {
    hire();
    const auto K = static_cast<std::size_t>(n_threads_);
    const auto block = static_cast<std::size_t>(block_);
    Barrier barrier(n_threads_);
    std::atomic<bool> stop{false};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    const std::int64_t before = seen.visits;
    const auto lanes = static_cast<std::size_t>(problem_.lanes);
    std::vector<T> room;
    T* const scores = aligned(room, K * block * K * lanes);
    const auto partial = [&](std::size_t visit, std::size_t part) {
      return scores + (visit * K + part) * lanes;
    };

    // What fails in a thread is told when all have come to an end.
    const auto guarded = [&](auto body) {
      try {
        body();
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    };

    const auto work = [&](std::size_t t) {
      Worker& worker = workers_[t];
      Reduced<T>& reduced = *worker.reduced;
      reduced.totals = {};
      reduced.curvature = curvature_;
      worker.settled.clear();
      worker.violation = 0;
      worker.work = 0;
      for (std::size_t b = 0; b < active_.size(); b += K * block) {
        const std::size_t end = std::min(b + K * block, active_.size());
        guarded([&] {
          for (std::size_t v = b; v < end; ++v) {
            look_ahead(v, worker.share);
            if (v % K == t) {
              fetch_place(active_[v]);
              if (v >= b + K) fetch(duals.list(active_[v - K]));
            }
            reduced.score(active_[v], worker.share, partial(v - b, t));
          }
        });
        barrier.wait();
        worker.moves.clear();
        worker.visits.clear();
        guarded([&] {
          for (std::size_t v = b; v < end; ++v) {
            if (v % K != t) continue;
            note(reduced, reduced.find(active_[v], partial(v - b, 0), n_threads_, worker.moves), v,
                 worker.settled, worker.violation, worker.work);
            const auto& moves = reduced.moves();
            if (moves.empty()) continue;
            worker.moves.insert(worker.moves.end(), moves.begin(), moves.end());
            worker.visits.emplace_back(active_[v], worker.moves.size());
          }
          if (t == 0 && worker.work >= kWorkBetweenPolls) {
            worker.work = 0;
            if (!(*poll_)(before + static_cast<std::int64_t>(end))) stop = true;
          }
        });
        if (failed) stop = true;  // set nowhere else than between these barriers
        barrier.wait();
        guarded([&] {
          for (const Worker& other : workers_) {
            std::size_t begin = 0;
            for (const auto& [i, end] : other.visits) {
              reduced.follow(i, other.moves, begin, end, worker.share);
              begin = end;
            }
          }
        });
        if (stop) return;
      }
    };
    enum : int { wait, go, give_up };
    std::atomic<int> start{wait};
    std::vector<std::thread> threads;
    try {
      for (std::size_t t = 1; t < K; ++t)
        threads.emplace_back([&, t] {
          start.wait(wait);
          if (start == go) work(t);
        });
      start = go;
    } catch (...) {  // no more threads to be had
      start = give_up;
      failure = std::current_exception();
    }
    start.notify_all();
    if (!failure) work(0);
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    T violation = 0;
    for (const Worker& worker : workers_) {
      take(*worker.reduced, totals);
      settled_.insert(settled_.end(), worker.settled.begin(), worker.settled.end());
      violation = std::max(violation, worker.violation);
    }
    seen.violation = static_cast<double>(violation);
    seen.visits += static_cast<std::int64_t>(active_.size());
    return !stop;
  }

  static constexpr std::int64_t kWorkBetweenPolls = 1 << 22;

  Problem<T> problem_;
  T* const W_;
  Random random_;
  const int n_threads_;
  std::vector<std::uint32_t> live_, flat_, active_;
  std::vector<std::size_t> settled_;  // places in the list of active ones
  std::int64_t overflow_ = -1;
  bool scattered_ = false;  // have rows few features in common?
  double little_ = 0;       // a violation at which an example waits for the next round
  double wanted_ = 1;       // an epoch's violation below which all examples come back
  double norm2_ = 0, linear_ = 0;
  double per_visit_ = 0;  // numbers that a visit reads, on average
  double last_dual_ = -std::numeric_limits<double>::infinity();
  std::int64_t block_ = kLeastBlock;
  T curvature_ = 1;
  std::unique_ptr<Reduced<T>> alone_;
  std::vector<Worker> workers_;
  std::vector<std::vector<std::int32_t>> cuts_;  // of sparse rows into shares
  const std::function<bool(std::int64_t)>* poll_ = nullptr;
};

}  // namespace kesler
