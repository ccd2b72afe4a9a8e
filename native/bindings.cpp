// The module, the instruction sets, and the bindings of everything but the dual solver: they check
// what they are given, release the GIL, and turn what the kernels say into arrays and exceptions.
#include "bindings.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "online.hpp"
#include "predict.hpp"
#include "relations.hpp"

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
#include <immintrin.h>
#include <intrin.h>
#endif

namespace kesler {

const Lanes* lanes_in_use = nullptr;

namespace {

// ---- instruction sets ------------------------------------------------------------------------

#if defined(_MSC_VER) && defined(KESLER_HAS_avx2)
bool cpu_has(bool avx512) {
  int leaf[4];
  __cpuid(leaf, 1);
  const bool osxsave = leaf[2] & (1 << 27), fma = leaf[2] & (1 << 12);
  if (!osxsave || !fma) return false;
  const unsigned long long state = _xgetbv(0);
  __cpuidex(leaf, 7, 0);
  if (!avx512) return (state & 0x6) == 0x6 && (leaf[1] & (1 << 5));
  const int wanted = (1 << 16) | (1 << 17) | (1 << 30) | (1 << 31);
  return (state & 0xe6) == 0xe6 && (leaf[1] & wanted) == wanted;
}
bool has_avx2() { return cpu_has(false); }
bool has_avx512() { return cpu_has(true); }
#elif defined(KESLER_HAS_avx2)
// __builtin_cpu_supports reads cpuid and XGETBV.
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

std::vector<const Lanes*> available_lanes() {
  std::vector<const Lanes*> found{&lanes_baseline};
#ifdef KESLER_HAS_avx2
  if (has_avx2()) found.push_back(&lanes_avx2);
  if (has_avx512()) found.push_back(&lanes_avx512);
#endif
  return found;
}

void use_isa(const std::string& name) {
  std::string known;
  for (const Lanes* lanes : available_lanes()) {
    if (name == lanes->isa) {
      lanes_in_use = lanes;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(lanes->isa);
  }
  throw std::invalid_argument("instruction set '" + name +
                              "' is not to be had here; there is: " + known);
}

// ---- constraints -------------------------------------------------------------------------------

nb::object order_sizes(const OrdersHandle& handle) {
  const Orders& orders = handle.orders;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(orders.n));
  {
    const nb::gil_scoped_release release;
    for (std::int64_t i = 0; i < orders.n; ++i)
      sizes[static_cast<std::size_t>(i)] = count_pairs(orders[i], orders.n_labels);
  }
  return to_array(std::move(sizes));
}

// (over, under, margin, weight) of all stored pairs, in order of storage.
nb::tuple order_pairs(const OrdersHandle& handle) {
  const Orders& orders = handle.orders;
  std::vector<std::int32_t> over, under;
  std::vector<double> margins, weights;
  {
    const nb::gil_scoped_release release;
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < orders.n; ++i) total += count_pairs(orders[i], orders.n_labels);
    over.reserve(static_cast<std::size_t>(total));
    under.reserve(static_cast<std::size_t>(total));
    margins.reserve(static_cast<std::size_t>(total));
    weights.reserve(static_cast<std::size_t>(total));
    for (std::int64_t i = 0; i < orders.n; ++i)
      for_each_pair(orders[i], orders.n_labels,
                    [&](std::int32_t a, std::int32_t b, double margin, double weight) {
                      over.push_back(a);
                      under.push_back(b);
                      margins.push_back(margin);
                      weights.push_back(weight);
                    });
  }
  return nb::make_tuple(to_array(std::move(over)), to_array(std::move(under)),
                        to_array(std::move(margins)), to_array(std::move(weights)));
}

template <class T>
nb::object order_errors(const OrdersHandle& handle, ReadArray<T> scores) {
  const Orders& orders = handle.orders;
  if (scores.ndim() != 2 || static_cast<std::int64_t>(scores.shape(0)) != orders.n ||
      static_cast<std::int64_t>(scores.shape(1)) != orders.n_labels + std::int64_t{1})
    throw std::invalid_argument("scores must have n rows and k + 1 columns");
  check_aligned(scores);
  std::vector<std::uint8_t> wrong(static_cast<std::size_t>(orders.n));
  {
    const nb::gil_scoped_release release;
    for (std::int64_t i = 0; i < orders.n; ++i)
      wrong[static_cast<std::size_t>(i)] = is_wrong(
          orders[i], scores.data() + i * (orders.n_labels + std::int64_t{1}), orders.n_labels);
  }
  return to_array(std::move(wrong));
}

struct Stopped {};

// Runs a computation over orders without the GIL; it asks before each example whether to go on.
template <class F>
auto unlocked(F compute) {
  Poll poll{nb::none()};
  try {
    const nb::gil_scoped_release release;
    return compute([&] {
      if (!poll()) throw Stopped{};
    });
  } catch (const Stopped&) {
  }
  poll.rethrow();
  throw std::runtime_error("stopped");  // poll knows why, and has thrown it
}

// (example, labels along the cycle) of the first cycle, or None.
nb::object order_cycle(const OrdersHandle& handle) {
  Cycle cycle = unlocked([&](const GoOn& go_on) { return first_cycle(handle.orders, go_on); });
  if (cycle.example < 0) return nb::none();
  return nb::make_tuple(cycle.example, to_array(std::move(cycle.labels)));
}

// (example, label) of the first ranking that names a label twice, or None.
nb::object order_repeat(const OrdersHandle& handle) {
  const auto [example, label] = first_repeat(handle.orders);
  if (example < 0) return nb::none();
  return nb::make_tuple(example, label);
}

// (indptr, items) of the transitive closure.
nb::tuple order_closure(const OrdersHandle& handle) {
  PairLists made = unlocked([&](const GoOn& go_on) { return closure_of(handle.orders, go_on); });
  return nb::make_tuple(to_array(std::move(made.indptr)), to_array(std::move(made.items)));
}

nb::object order_reduction(const OrdersHandle& handle) {
  return to_array(unlocked([&](const GoOn& go_on) { return reduction_of(handle.orders, go_on); }));
}

nb::object order_consistent(const OrdersHandle& a, const OrdersHandle& b) {
  if (a.orders.n != b.orders.n || a.orders.n_labels != b.orders.n_labels)
    throw std::invalid_argument("both must have the same examples and labels");
  return to_array(
      unlocked([&](const GoOn& go_on) { return consistency(a.orders, b.orders, go_on); }));
}

// ---- on-line learning --------------------------------------------------------------------------

template <class T, std::size_t... I>
std::vector<std::string> names_of_rules(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, AllRules<T>>::name...};
}

constexpr std::size_t kRules = std::tuple_size_v<AllRules<float>>;

std::vector<std::string> rule_names() {
  return names_of_rules<float>(std::make_index_sequence<kRules>{});
}

// Calls f with the rule of that name.
template <class T, std::size_t At = 0, class F>
void with_rule(const std::string& name, const RuleSettings& settings, F f) {
  if constexpr (At == kRules) {
    throw std::invalid_argument("unknown rule '" + name + "'");
  } else {
    using Rule = std::tuple_element_t<At, AllRules<T>>;
    if (name == Rule::name)
      f(Rule(settings));
    else
      with_rule<T, At + 1>(name, settings, f);
  }
}

// What a rule needs: (keeps logarithms, first weight of a label).
nb::tuple rule_traits(const std::string& name) {
  nb::object traits;
  with_rule<double>(name, {1.0, 1.0}, [&](auto rule) {
    using Rule = decltype(rule);
    double first = 0;
    if constexpr (!Rule::additive) first = Rule::weigh(0, 0);
    traits = nb::make_tuple(!Rule::additive, first);
  });
  return nb::cast<nb::tuple>(traits);
}

Update update_of(const std::string& name) {
  if (name == "all") return Update::all;
  if (name == "worst") return Update::worst;
  if (name == "independent") return Update::independent;
  throw std::invalid_argument("unknown update '" + name + "'");
}

// One pass. `state` holds (steps, shift, moves) and is brought up to date even when the pass is
// broken off. Returns (examples with a violated pair, moves, example that overflowed or -1).
template <class T>
nb::tuple online_pass(const RowsHandle& rows_handle, const OrdersHandle& orders_handle,
                      std::optional<ReadArray<std::int64_t>> visits,
                      std::optional<ReadArray<double>> weight, WriteArray<T> weights,
                      std::optional<WriteArray<T>> sums, std::optional<WriteArray<T>> logs,
                      WriteArray<double> state, const std::string& rule_name,
                      const std::string& update_name, double C, double log_promotion,
                      bool intercept, nb::object report) {
  const Rows<T>& rows = rows_handle.as<T>();
  const Orders& orders = orders_handle.orders;
  if (rows.n != orders.n) throw std::invalid_argument("X and y differ in length");
  const auto lanes = static_cast<std::int64_t>(weights.ndim() == 2 ? weights.shape(1) : 0);
  check_lanes(lanes);
  const std::int64_t table_rows = rows.d + (intercept ? 1 : 0);
  check_table(weights, table_rows, lanes);
  if (sums) check_table(*sums, table_rows, lanes);
  if (logs) check_table(*logs, table_rows, lanes);
  if (state.size() != 3) throw std::invalid_argument("state holds three numbers");
  check_aligned(state);
  check_aligned(visits);
  check_aligned(weight);
  if (weight && static_cast<std::int64_t>(weight->size()) != rows.n)
    throw std::invalid_argument("weights and X differ in length");
  if (visits)
    for (std::size_t v = 0; v < visits->size(); ++v)
      if (visits->data()[v] < 0 || visits->data()[v] >= rows.n)
        throw std::invalid_argument("a visit is outside X");
  check_virtual_lane(orders, lanes);
  const Update update = update_of(update_name);

  Network<T> net;
  net.weights = weights.data();
  net.sums = sums ? sums->data() : nullptr;
  net.logs = logs ? logs->data() : nullptr;
  net.lanes = lanes;
  net.intercept = intercept;
  net.steps = state.data()[0];
  net.shift = state.data()[1];

  Poll poll(std::move(report));
  Pass pass;
  with_rule<T>(rule_name, {C, log_promotion}, [&](auto rule) {
    if (!decltype(rule)::additive && !net.logs)
      throw std::invalid_argument("this rule keeps logarithms");
    const nb::gil_scoped_release release;
    Learner<T, decltype(rule)> learner(ops<T>(), rows, orders, rule, update, net,
                                       [&](std::int64_t visit) { return poll(visit); });
    pass = learner.run(visits ? visits->data() : nullptr,
                       visits ? static_cast<std::int64_t>(visits->size()) : rows.n,
                       weight ? weight->data() : nullptr);
  });
  state.data()[0] = net.steps;
  state.data()[1] = net.shift;
  state.data()[2] += static_cast<double>(pass.moves);
  poll.rethrow();
  return nb::make_tuple(pass.mistakes, pass.moves, pass.overflow);
}

// ---- prediction --------------------------------------------------------------------------------

template <class T>
Sorter<T> make_sorter(const ReadArray<T>& weights, const std::optional<ReadArray<T>>& sums,
                      double per_step, bool intercept, std::int64_t d) {
  Sorter<T> sorter;
  if (weights.ndim() != 2 ||
      static_cast<std::int64_t>(weights.shape(0)) != d + (intercept ? 1 : 0) ||
      (sums && (sums->ndim() != 2 || sums->shape(0) != weights.shape(0) ||
                sums->shape(1) != weights.shape(1))))
    throw std::invalid_argument("a weight table has the wrong shape");
  check_aligned(weights);
  check_aligned(sums);
  sorter.lanes = static_cast<std::int64_t>(weights.shape(1));
  check_lanes(sorter.lanes);
  sorter.weights = weights.data();
  sorter.sums = sums ? sums->data() : nullptr;
  sorter.per_step = static_cast<T>(per_step);
  sorter.intercept = intercept;
  return sorter;
}

// Runs each(i, scores) over all rows, or over the picked ones.
template <class T, class Each>
void predict_rows(const RowsHandle& handle, const std::optional<ReadArray<std::int64_t>>& picked,
                  const Sorter<T>& sorter, int n_threads, std::int64_t n_out, Each each) {
  const Rows<T>& rows = handle.as<T>();
  const std::int64_t n = picked ? static_cast<std::int64_t>(picked->size()) : rows.n;
  if (n_out != n) throw std::invalid_argument("the output has the wrong number of rows");
  check_aligned(picked);
  if (picked)
    for (std::int64_t v = 0; v < n; ++v)
      if (picked->data()[v] < 0 || picked->data()[v] >= rows.n)
        throw std::invalid_argument("a picked row is outside X");
  Poll poll{nb::none()};
  {
    const nb::gil_scoped_release release;
    over_scores(ops<T>(), rows, sorter, picked ? picked->data() : nullptr, n,
                n_threads < 1 ? 1 : n_threads, each, [&] { return poll(); });
  }
  poll.rethrow();
}

template <class T>
void scores(const RowsHandle& handle, std::optional<ReadArray<std::int64_t>> picked,
            ReadArray<T> weights, std::optional<ReadArray<T>> sums, double per_step, bool intercept,
            WriteArray<T> out, int n_threads) {
  const Sorter<T> sorter = make_sorter(weights, sums, per_step, intercept, handle.as<T>().d);
  if (out.ndim() != 2 || static_cast<std::int64_t>(out.shape(1)) > sorter.lanes)
    throw std::invalid_argument("the output has the wrong shape");
  check_aligned(out);
  const auto k = static_cast<std::int64_t>(out.shape(1));
  T* to = out.data();
  predict_rows<T>(handle, picked, sorter, n_threads, static_cast<std::int64_t>(out.shape(0)),
                  [=](std::int64_t i, const T* s) { std::copy_n(s, k, to + i * k); });
}

template <class T>
void best(const RowsHandle& handle, ReadArray<T> weights, std::optional<ReadArray<T>> sums,
          double per_step, bool intercept, std::int64_t n_labels, WriteArray<std::int64_t> out,
          int n_threads) {
  const Sorter<T> sorter = make_sorter(weights, sums, per_step, intercept, handle.as<T>().d);
  if (out.ndim() != 2 || n_labels < 1 || n_labels > sorter.lanes ||
      static_cast<std::int64_t>(out.shape(1)) > n_labels)
    throw std::invalid_argument("the output has the wrong shape");
  check_aligned(out);
  const auto count = static_cast<std::int64_t>(out.shape(1));
  std::int64_t* to = out.data();
  if (count == 0) return;
  predict_rows<T>(
      handle, std::nullopt, sorter, n_threads, static_cast<std::int64_t>(out.shape(0)),
      [=](std::int64_t i, const T* s) { best_labels(s, n_labels, count, to + i * count); });
}

}  // namespace
}  // namespace kesler

NB_MODULE(_core, m) {
  using namespace kesler;
  m.doc() = "The native core of Kesler.";
  lanes_in_use = available_lanes().back();
  if (const char* wanted = std::getenv("KESLER_ISA"); wanted && *wanted) {
    try {
      use_isa(wanted);
    } catch (const std::invalid_argument& error) {
      throw nb::import_error((std::string("KESLER_ISA: ") + error.what()).c_str());
    }
  }

  m.def("isa", [] { return std::string(lanes_in_use->isa); });
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (const Lanes* lanes : available_lanes()) names.emplace_back(lanes->isa);
    return names;
  });
  m.def("use_isa", &use_isa, nb::arg("name"));
  m.def("lanes_for", &lanes_for, nb::arg("n_labels"));

  nb::class_<RowsHandle>(m, "Rows").def(
      nb::init<AnyArray, std::optional<AnyArray>, std::optional<AnyArray>, std::int64_t,
               std::int64_t>(),
      nb::arg("values"), nb::arg("indices").none(), nb::arg("indptr").none(), nb::arg("n"),
      nb::arg("d"));

  nb::class_<OrdersHandle>(m, "Orders")
      .def(
          nb::init<std::int64_t, std::int64_t, std::uint8_t, std::optional<ReadArray<std::uint8_t>>,
                   std::optional<ReadArray<std::int64_t>>, ReadArray<std::int32_t>,
                   std::optional<ReadArray<double>>, std::optional<ReadArray<double>>>(),
          nb::arg("n"), nb::arg("n_labels"), nb::arg("form"), nb::arg("forms").none(),
          nb::arg("indptr").none(), nb::arg("items"), nb::arg("margin").none(),
          nb::arg("weight").none())
      .def("sizes", &order_sizes)
      .def("pairs", &order_pairs)
      .def("errors", &order_errors<float>)
      .def("errors", &order_errors<double>)
      .def("cycle", &order_cycle)
      .def("repeat", &order_repeat)
      .def("closure", &order_closure)
      .def("reduction", &order_reduction)
      .def("is_consistent_with", &order_consistent);

  m.def("rule_names", &rule_names);
  m.def("rule_traits", &rule_traits, nb::arg("name"));
  const auto def_typed = [&]<class T>(T) {
    m.def("online_pass", &online_pass<T>, nb::arg("rows"), nb::arg("orders"),
          nb::arg("visits").none(), nb::arg("weight").none(), nb::arg("weights").noconvert(),
          nb::arg("sums").none().noconvert(), nb::arg("logs").none().noconvert(),
          nb::arg("state").noconvert(), nb::arg("rule"), nb::arg("update"), nb::arg("C"),
          nb::arg("log_promotion"), nb::arg("intercept"), nb::arg("report").none());
    m.def("scores", &scores<T>, nb::arg("rows"), nb::arg("picked").none(),
          nb::arg("weights").noconvert(), nb::arg("sums").none().noconvert(), nb::arg("per_step"),
          nb::arg("intercept"), nb::arg("out").noconvert(), nb::arg("n_threads"));
    m.def("best", &best<T>, nb::arg("rows"), nb::arg("weights").noconvert(),
          nb::arg("sums").none().noconvert(), nb::arg("per_step"), nb::arg("intercept"),
          nb::arg("n_labels"), nb::arg("out").noconvert(), nb::arg("n_threads"));
  };
  def_typed(float{});
  def_typed(double{});
  bind_dual(m);
  bind_newton(m);
}
