// The rules of on-line learning: when a pair is violated and how its two labels are promoted and
// demoted (Har-Peled, Roth and Zimak 2002, Figure 1b; the Winnow of Roth's notes, section 5.1; the
// passive-aggressive steps of Crammer et al.). One struct is one rule. To add a rule, write its
// struct and name it in `AllRules`: the loop, the bindings and the estimator find it there.
//
// A rule answers
//   loss(margin, wanted)       how wrong a pair is whose scores differ by `margin`
//   violated(loss, scale)      whether to move; `scale` bounds the numbers that loss comes from
//   step(loss, norm, weight)   how far to move; `norm` is the squared norm of the expanded point
// and has `additive` = true where a label moves by step * x. A rule that is not additive keeps the
// logarithms of its weights in a second table and says what a logarithm weighs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace kesler {

struct RuleSettings {
  double C;              // aggressiveness of the passive-aggressive rules
  double log_promotion;  // logarithm of Winnow's promotion factor
};

// For the mistake-driven rules a tie is a mistake: with zero weights nothing would ever move.
template <class T>
struct MistakeDriven {
  T loss(T margin, T) const { return -margin; }
  bool violated(T loss, T) const { return loss >= 0; }
};

template <class T>
struct Perceptron : MistakeDriven<T> {
  static constexpr const char* name = "perceptron";
  static constexpr bool additive = true;
  explicit Perceptron(const RuleSettings&) {}
  T step(T, T, T weight) const { return weight; }
};

// w+ = exp(log), w- = exp(-log): a promotion of one is a demotion of the other, so one logarithm
// serves both, and the effective weight is their difference.
template <class T>
struct Winnow : MistakeDriven<T> {
  static constexpr const char* name = "winnow";
  static constexpr bool additive = false;
  T rate;
  explicit Winnow(const RuleSettings& settings) : rate(static_cast<T>(settings.log_promotion)) {}
  T step(T, T, T weight) const { return rate * weight; }
  // The weight of a logarithm, divided by exp(shift) so that it never overflows.
  static T weigh(T log, T shift) {
    return shift == 0 ? 2 * std::sinh(log) : std::exp(log - shift) - std::exp(-log - shift);
  }
  static T size(T log) { return std::abs(log); }
};

template <class T>
struct PositiveWinnow : Winnow<T> {
  static constexpr const char* name = "positive_winnow";
  using Winnow<T>::Winnow;
  static T weigh(T log, T shift) { return std::exp(log - shift); }
  static T size(T log) { return log; }
};

template <class T>
struct HingeDriven {
  static constexpr bool additive = true;
  T C;
  explicit HingeDriven(const RuleSettings& settings) : C(static_cast<T>(settings.C)) {}
  T loss(T margin, T wanted) const { return wanted - margin; }
  // What rounding leaves of a loss that was settled is not a loss.
  bool violated(T loss, T scale) const {
    return loss > 8 * std::numeric_limits<T>::epsilon() * scale;
  }
};

template <class T>
struct PassiveAggressive1 : HingeDriven<T> {
  static constexpr const char* name = "pa1";
  using HingeDriven<T>::HingeDriven;
  T step(T loss, T norm, T weight) const { return std::min(loss / norm, this->C * weight); }
};

template <class T>
struct PassiveAggressive2 : HingeDriven<T> {
  static constexpr const char* name = "pa2";
  using HingeDriven<T>::HingeDriven;
  T step(T loss, T norm, T weight) const { return loss / (norm + 1 / (2 * this->C * weight)); }
};

template <class T>
using AllRules = std::tuple<Perceptron<T>, Winnow<T>, PositiveWinnow<T>, PassiveAggressive1<T>,
                            PassiveAggressive2<T>>;

}  // namespace kesler
