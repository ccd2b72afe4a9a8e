// One pass of on-line learning over given rows (Har-Peled, Roth and Zimak 2002, Figure 1b and
// section 3.4): score a row, find violated pairs, promote and demote. What is violated and how far
// to move is the rule's (rules.hpp); how weights are laid out is lanes.hpp's.
//
// Design. While one row is presented only its k scores change at each move: an additive move of
// label r by step t changes s_r by t * |x|^2, so the scores of MATH's "scores refreshed after each
// change" cost O(1), and the moves of all labels are written to the table once, when the row is
// done. Winnow's moves are not additive; they are written at once, feature by feature.
//
// Averaging keeps the table W and sums = sum over moves of (steps before the move) * move; the mean
// of W over all `steps` steps is W - sums / steps, so a step costs only its own features and
// labels.
//
// The sums of many labels are a second large table that nothing else brings into the caches. So
// moves of few labels are noted, and their share of the sums is added when the pass ends: label by
// label into a short buffer, then a cache line of labels at a time into the table.
//
// A presentation that moves nothing would move nothing again: a weight of w costs at most w moves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "orders.hpp"
#include "rows.hpp"
#include "rules.hpp"

namespace kesler {

enum class Update : std::uint8_t { all, worst, independent };

template <class T>
struct Network {
  T* weights = nullptr;  // d (+ 1 with an intercept) rows of `lanes`
  T* sums = nullptr;     // null: no averaging
  T* logs = nullptr;     // Winnow only
  std::int64_t lanes = 0;
  bool intercept = false;
  double steps = 0;  // presentations so far
  double shift = 0;  // Winnow only: weights are divided by exp(shift)
};

struct Pass {
  std::int64_t mistakes = 0;  // examples with a violated pair
  std::int64_t moves = 0;
  std::int64_t overflow = -1;  // the row whose scores were not finite
};

template <class T, class Rule>
class Learner {
 public:
  Learner(const LaneOps<T>& ops, const Rows<T>& rows, const Orders& orders, const Rule& rule,
          Update update, Network<T>& net, std::function<bool(std::int64_t)> poll)
      : ops_(ops), rows_(rows), orders_(orders), rule_(rule), update_(update), net_(net),
        poll_(std::move(poll)), k_(orders.n_labels) {
    const auto lanes = static_cast<std::size_t>(net.lanes);
    scores_.assign(lanes, T(0));
    step_.assign(lanes, T(0));
    sum_step_.assign(lanes, T(0));
    moved_.assign(lanes, 0);
    role_.assign(lanes, 0);
  }

  // Presents the rows named by `visits` (null: all, in order), each `weight` times (null: once).
  Pass run(const std::int64_t* visits, std::int64_t n_visits, const double* weight) {
    try {
      for (visit_ = 0; visit_ < n_visits; ++visit_) {
        const std::int64_t i = visits ? visits[visit_] : visit_;
        rows_.read(i, row_);
        tick(64 + (row_.size + 1) * net_.lanes);
        if (!present(i, weight ? weight[i] : 1.0)) break;
      }
    } catch (const Interrupted&) {  // poll knows why
      pass_.moves += moves_;
      write();
    }
    add_noted();
    return pass_;
  }

 private:
  struct Interrupted {};

  // Counts work, wherever it is done, and asks now and then whether to go on.
  void tick(std::int64_t work) {
    constexpr std::int64_t kWorkBetweenPolls = 1 << 22;
    work_ += work;
    if (work_ < kWorkBetweenPolls) return;
    work_ = 0;
    if (!poll_(visit_)) throw Interrupted{};
  }

  // Presents example i `weight` times; the fraction left over is one presentation whose pairs weigh
  // that fraction.
  bool present(std::int64_t i, double weight) {
    if (weight <= 0) return true;
    const Order order = orders_[i];
    example_ = i;
    norm_ = -1;
    overflow_ = wrong_ = false;
    score();
    if (!ops_.finite(scores_.data(), net_.lanes)) {
      pass_.overflow = i;
      return false;
    }
    while (weight > 0) {
      share_ = static_cast<T>(std::min(weight, 1.0));
      present_once(order);
      pass_.moves += moves_;
      const bool settled = moves_ == 0;
      moves_ = 0;
      if (overflow_) {
        pass_.overflow = i;
        return false;
      }
      if (settled) {
        net_.steps += weight;
        break;
      }
      net_.steps += std::min(weight, 1.0);
      weight -= 1;
    }
    write();
    pass_.mistakes += wrong_;
    return true;
  }

  // Squared norm of the row with its constant feature, computed when a pair is violated. A row of
  // norm 0 has nothing to move along, and one whose norm overflows cannot be learned.
  bool can_move() {
    if (norm_ < 0) {
      norm_ = ops_.squared_norm(row_) + (net_.intercept ? T(1) : T(0));
      overflow_ = !(2 * norm_ <= std::numeric_limits<T>::max());
    }
    return norm_ > 0 && !overflow_;
  }

  bool usable(T step) {
    overflow_ = overflow_ || !(step <= std::numeric_limits<T>::max());
    return step > 0 && !overflow_;
  }

  void score() {
    const T* bias = net_.intercept ? net_.weights + rows_.d * net_.lanes : nullptr;
    ops_.score(row_, net_.weights, net_.lanes, bias, scores_.data());
  }

  void present_once(const Order& order) {
    tick(net_.lanes);
    switch (update_) {
      case Update::all:
        return all_pairs(order);
      case Update::worst:
        return worst_pair(order);
      case Update::independent:
        return each_label(order);
    }
  }

  void all_pairs(const Order& order) {
    if (order.form == Form::set && !any_violated(order)) return;
    for_each_pair(order, k_, [&](std::int32_t a, std::int32_t b, double margin, double weight) {
      if (weight > 0) settle(a, b, static_cast<T>(margin), static_cast<T>(weight));
    });
  }

  bool any_violated(const Order& order) {
    worst_of_sides(order);
    return best_a_ >= 0 && is_violated(best_a_, best_b_, T(1));
  }

  // The pair of greatest loss; among equals the one with the smallest labels.
  void worst_pair(const Order& order) {
    if (order.form == Form::set) {
      worst_of_sides(order);
      if (best_a_ >= 0) settle(best_a_, best_b_, T(1), T(1));
      return;
    }
    T worst_loss = 0, worst_margin = 1, worst_weight = 1;
    std::int32_t worst_a = -1, worst_b = -1;
    for_each_pair(order, k_, [&](std::int32_t a, std::int32_t b, double margin, double weight) {
      tick(1);
      if (!(weight > 0)) return;
      const T loss = rule_.loss(s(a) - s(b), static_cast<T>(margin));
      const bool smaller = a < worst_a || (a == worst_a && b < worst_b);
      if (worst_a < 0 || loss > worst_loss || (loss == worst_loss && smaller)) {
        worst_loss = loss;
        worst_a = a;
        worst_b = b;
        worst_margin = static_cast<T>(margin);
        worst_weight = static_cast<T>(weight);
      }
    });
    if (worst_a >= 0) settle(worst_a, worst_b, worst_margin, worst_weight);
  }

  void worst_of_sides(const Order& order) {
    best_a_ = best_b_ = -1;
    if (order.size == 0 || order.size == k_) return;
    // The rest is searched with the set itself put below all.
    best_a_ = order.items[0];
    if (order.size == 1) {
      T& mine = scores_[static_cast<std::size_t>(best_a_)];
      const T kept = mine;
      mine = -std::numeric_limits<T>::infinity();
      best_b_ = static_cast<std::int32_t>(ops_.top(scores_.data(), k_));
      mine = kept;
      return;
    }
    aside_.clear();
    for (std::int64_t p = 0; p < order.size; ++p) {
      T& mine = scores_[static_cast<std::size_t>(order.items[p])];
      if (p && mine < aside_[static_cast<std::size_t>(best_at_)]) best_a_ = order.items[p];
      if (best_a_ == order.items[p]) best_at_ = p;
      aside_.push_back(mine);
      mine = -std::numeric_limits<T>::infinity();
    }
    best_b_ = static_cast<std::int32_t>(ops_.top(scores_.data(), k_));
    for (std::int64_t p = 0; p < order.size; ++p)
      scores_[static_cast<std::size_t>(order.items[p])] = aside_[static_cast<std::size_t>(p)];
  }

  bool is_violated(std::int32_t a, std::int32_t b, T margin) const {
    const T scale = std::abs(s(a)) + std::abs(s(b)) + margin;
    return rule_.violated(rule_.loss(s(a) - s(b), margin), scale);
  }

  void settle(std::int32_t a, std::int32_t b, T margin, T weight) {
    tick(1);
    if (!is_violated(a, b, margin)) return;
    wrong_ = true;
    if (!can_move()) return;
    const T loss = rule_.loss(s(a) - s(b), margin);
    const T step = rule_.step(loss, 2 * norm_, weight * share_);
    if (!usable(step)) return;
    promote(a, step);
    promote(b, -step);
    ++moves_;
  }

  // One-vs-all: a label on top of the order is a positive example of itself, one below a negative
  // one, and a label outside the order says nothing. Against the virtual label both sides are
  // judged by sign alone, so it never moves.
  void each_label(const Order& order) {
    const auto judge = [&](std::int32_t r, T sign) {
      const T loss = rule_.loss(sign * s(r), T(1));
      if (!rule_.violated(loss, std::abs(s(r)) + 1)) return;
      wrong_ = true;
      if (!can_move()) return;
      const T step = rule_.step(loss, norm_, share_);
      if (!usable(step)) return;
      promote(r, sign * step);
      ++moves_;
    };
    switch (order.form) {
      case Form::set:
        if (order.size == 0 || order.size == k_) return;
        [[fallthrough]];
      case Form::calibrated:
        for (std::int64_t p = 0; p < order.size; ++p) judge(order.items[p], 1);
        for_each_rest(order, k_, [&](std::int32_t b) { judge(b, -1); });
        return;
      case Form::adjacent:
      case Form::all:
        for_each_tier(order, [&](std::int64_t first, std::int64_t last) {
          if (first == 0 && last == order.size) return;
          for (std::int64_t p = first; p < last; ++p)
            judge(label_of(order.items[p]), first == 0 ? T(1) : T(-1));
        });
        return;
      case Form::pairs:
        for (std::int64_t p = 0; p < order.size; p += 2) role(order.items[p]) |= 1;
        for (std::int64_t p = 1; p < order.size; p += 2) role(order.items[p]) |= 2;
        for (std::int64_t p = 0; p < order.size; ++p) {
          const std::int32_t r = order.items[p];
          if (role(r) && r != k_) judge(r, role(r) == 1 ? T(1) : T(-1));
          role(r) = 0;
        }
        return;
    }
  }

  T s(std::int32_t label) const { return scores_[static_cast<std::size_t>(label)]; }
  std::uint8_t& role(std::int32_t label) { return role_[static_cast<std::size_t>(label)]; }

  // Moves one label by `step` along the row: up when positive, down when negative.
  void promote(std::int32_t label, T step) {
    const auto r = static_cast<std::size_t>(label);
    if constexpr (Rule::additive) {
      if (!moved_[r]) {
        moved_[r] = 1;
        moved_labels_.push_back(label);
      }
      step_[r] += step;
      sum_step_[r] += step * static_cast<T>(net_.steps);
      scores_[r] += step * norm_;
    } else {
      multiply(label, step);
    }
  }

  void write() {
    if (moved_labels_.empty()) return;
    constexpr std::int64_t kLanesPerVector = 64 / static_cast<std::int64_t>(sizeof(T));
    const auto count = static_cast<std::int64_t>(moved_labels_.size());
    // A few labels of many are cheaper one number at a time.
    const bool scattered = 2 * count * kLanesPerVector < net_.lanes;
    move_table(net_.weights, step_, scattered);
    if (net_.sums && scattered)
      note();
    else if (net_.sums)
      move_table(net_.sums, sum_step_, scattered);
    for (const std::int32_t label : moved_labels_) {
      const auto r = static_cast<std::size_t>(label);
      step_[r] = sum_step_[r] = 0;
      moved_[r] = 0;
    }
    moved_labels_.clear();
  }

  // A move of the sums that waits for the end of the pass.
  struct Noted {
    std::int64_t example;
    std::int32_t label;
    T step;
  };

  void note() {
    constexpr std::size_t kMost = 1 << 20;
    for (const std::int32_t label : moved_labels_)
      noted_.push_back({example_, label, sum_step_[static_cast<std::size_t>(label)]});
    if (noted_.size() >= kMost) add_noted();
  }

  void add_noted() {
    if (noted_.empty()) return;
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    // A counting sort by label.
    std::vector<std::uint32_t> ends(static_cast<std::size_t>(net_.lanes) + 1, 0);
    for (const Noted& move : noted_) ++ends[static_cast<std::size_t>(move.label) + 1];
    for (std::size_t r = 1; r < ends.size(); ++r) ends[r] += ends[r - 1];
    sorted_.resize(noted_.size());
    for (const Noted& move : noted_) sorted_[ends[static_cast<std::size_t>(move.label)]++] = move;
    Row<T> row;
    for (std::size_t begin = 0, end = 0; begin < sorted_.size(); begin = end) {
      const std::int64_t first = sorted_[begin].label / kLine * kLine;
      std::int64_t work = 0;
      for (end = begin; end < sorted_.size() && sorted_[end].label < first + kLine; ++end) {
        rows_.read(sorted_[end].example, row);
        work += row.size;
      }
      // Laying out a buffer pays when it is used more than a little.
      const bool buffered = work > kLine * rows_.d / 4;
      if (buffered) buffer_.assign(static_cast<std::size_t>(kLine * rows_.d), T(0));
      for (std::size_t e = begin; e < end; ++e) {
        const Noted& move = sorted_[e];
        rows_.read(move.example, row);
        T* to = buffered ? buffer_.data() + (move.label - first) * rows_.d : net_.sums + move.label;
        const std::int64_t stride = buffered ? 1 : net_.lanes;
        for_each_feature(row, [&](std::int64_t j, T x) { to[j * stride] += x * move.step; });
        if (net_.intercept) net_.sums[rows_.d * net_.lanes + move.label] += move.step;
      }
      for (std::int64_t j = 0; buffered && j < rows_.d; ++j)
        for (std::int64_t l = 0; l < kLine; ++l)
          net_.sums[j * net_.lanes + first + l] +=
              buffer_[static_cast<std::size_t>(l * rows_.d + j)];
    }
    noted_.clear();
  }

  void move_table(T* table, const std::vector<T>& step, bool scattered) {
    if (scattered && moved_labels_.size() == 2) {  // one promoted, one demoted
      const std::int64_t a = moved_labels_[0], b = moved_labels_[1], lanes = net_.lanes;
      const T step_a = step[static_cast<std::size_t>(a)],
              step_b = step[static_cast<std::size_t>(b)];
      for_each_feature(row_, [=](std::int64_t j, T x) {
        T* w = table + j * lanes;
        w[a] += x * step_a;
        w[b] += x * step_b;
      });
    } else if (scattered) {
      for_each_feature(row_, [&](std::int64_t j, T x) {
        T* w = table + j * net_.lanes;
        for (const std::int32_t label : moved_labels_)
          w[label] += x * step[static_cast<std::size_t>(label)];
      });
    } else {
      ops_.add(row_, step.data(), net_.lanes, table);
    }
    if (!net_.intercept) return;
    T* bias = table + rows_.d * net_.lanes;
    for (const std::int32_t label : moved_labels_)
      bias[label] += step[static_cast<std::size_t>(label)];
  }

  void multiply(std::int32_t label, T step) {
    tick(4 * row_.size);
    make_room(label, step);
    const auto shift = static_cast<T>(net_.shift);
    const auto one = [&](std::int64_t j, T x) {
      const std::int64_t at = j * net_.lanes + label;
      const T log = net_.logs[at] += step * x;
      const T weight = Rule::weigh(log, shift);
      const T change = weight - net_.weights[at];
      net_.weights[at] = weight;
      if (net_.sums) net_.sums[at] += change * static_cast<T>(net_.steps);
      scores_[static_cast<std::size_t>(label)] += change * x;
    };
    for_each_feature(row_, one);
    if (net_.intercept) one(rows_.d, T(1));
  }

  // Before logarithms grow by `step * x`: if a weight would overflow, all are divided by more.
  void make_room(std::int32_t label, T step) {
    constexpr T kRoom = 30;  // exp(30) leaves float32 room for any sum over features
    T largest = 0;
    const auto look = [&](std::int64_t j, T x) {
      largest = std::max(largest, Rule::size(net_.logs[j * net_.lanes + label] + step * x));
    };
    for_each_feature(row_, look);
    if (net_.intercept) look(rows_.d, T(1));
    if (largest > static_cast<T>(net_.shift) + kRoom) rescale(largest);
  }

  // All weights share one factor, which no order of labels depends on.
  void rescale(T shift) {
    const T factor = static_cast<T>(std::exp(net_.shift - static_cast<double>(shift)));
    const std::int64_t rows = rows_.d + (net_.intercept ? 1 : 0);
    for (std::int64_t j = 0; j < rows; ++j)
      for (std::int64_t r = 0; r < live_lanes(); ++r) {
        const std::int64_t at = j * net_.lanes + r;
        net_.weights[at] = Rule::weigh(net_.logs[at], shift);
        if (net_.sums) net_.sums[at] *= factor;
      }
    net_.shift = static_cast<double>(shift);
    score();
  }

  std::int64_t live_lanes() const {
    return std::min<std::int64_t>(net_.lanes, static_cast<std::int64_t>(k_) + 1);
  }

  const LaneOps<T>& ops_;
  const Rows<T>& rows_;
  const Orders& orders_;
  const Rule rule_;
  const Update update_;
  Network<T>& net_;
  const std::function<bool(std::int64_t)> poll_;  // told the visit, answers whether to go on
  const std::int32_t k_;
  Row<T> row_{};
  T norm_ = 0, share_ = 1;
  std::int64_t moves_ = 0;
  std::int64_t visit_ = 0, example_ = 0, work_ = 0;
  Pass pass_;
  bool overflow_ = false, wrong_ = false;
  std::int32_t best_a_ = -1, best_b_ = -1;
  std::int64_t best_at_ = 0;
  std::vector<T> scores_, step_, sum_step_, aside_, buffer_;
  std::vector<Noted> noted_, sorted_;
  std::vector<std::uint8_t> moved_, role_;
  std::vector<std::int32_t> moved_labels_;
};

}  // namespace kesler
