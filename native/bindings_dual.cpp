// Bindings of the dual solver and the certificate.
#include "bindings.hpp"
#include "certificate.hpp"
#include "dual.hpp"

namespace kesler {
namespace {

Aggregate aggregate_of(const std::string& name) {
  if (name == "max") return Aggregate::max;
  if (name == "sum") return Aggregate::sum;
  throw std::invalid_argument("unknown aggregate '" + name + "'");
}

Loss loss_of(const std::string& name) {
  if (name == "hinge") return Loss::hinge;
  if (name == "squared_hinge") return Loss::squared_hinge;
  throw std::invalid_argument("unknown loss '" + name + "'");
}

using Weight = std::optional<ReadArray<double>>;

template <class T>
Problem<T> make_problem(const RowsHandle& rows, const OrdersHandle& orders, const Weight& weight,
                        double C, const std::string& aggregate, const std::string& loss,
                        bool intercept, std::int64_t lanes) {
  Problem<T> problem;
  problem.ops = ops<T>();
  problem.rows = rows.as<T>();
  problem.orders = orders.orders;
  if (problem.rows.n != problem.orders.n) throw std::invalid_argument("X and y differ in length");
  if (weight && static_cast<std::int64_t>(weight->size()) != problem.rows.n)
    throw std::invalid_argument("weights and X differ in length");
  check_aligned(weight);
  problem.weight = weight ? weight->data() : nullptr;
  if (!(C > 0) || C == std::numeric_limits<double>::infinity())
    throw std::invalid_argument("C must be a finite number above 0");
  problem.C = C;
  problem.aggregate = aggregate_of(aggregate);
  problem.loss = loss_of(loss);
  if (problem.aggregate == Aggregate::max && problem.orders.weight)
    throw std::invalid_argument("pairs have weights only under 'sum'");
  problem.intercept = intercept;
  problem.lanes = lanes;
  check_lanes(lanes);
  check_virtual_lane(problem.orders, lanes);
  for (std::int64_t i = 0; problem.orders.form != Form::set && i < problem.orders.n; ++i)
    if (count_pairs(problem.orders[i], problem.orders.n_labels) >=
        std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("example " + std::to_string(i) + " has 2^31 pairs or more");
  return problem;
}

template <class T>
void check_masses(const ReadArray<std::int64_t>& indptr, const ReadArray<std::int32_t>& keys,
                  const ReadArray<T>& values, std::int64_t n) {
  check_aligned(indptr);
  check_aligned(keys);
  check_aligned(values);
  if (static_cast<std::int64_t>(indptr.size()) != n + 1 || keys.size() != values.size() ||
      indptr.data()[0] != 0 || indptr.data()[n] != static_cast<std::int64_t>(keys.size()))
    throw std::invalid_argument("the dual variables do not fit the examples");
  for (std::int64_t i = 0; i < n; ++i)
    if (indptr.data()[i + 1] < indptr.data()[i])
      throw std::invalid_argument("the dual variables do not fit the examples");
}

nb::tuple to_tuple(const Certified& found) {
  return nb::make_tuple(found.primal, found.dual, found.margin);
}

// Keeps alive what the solver reads.
template <class T>
class SolverHandle {
 public:
  SolverHandle(RowsHandle& rows, OrdersHandle& orders, Weight weight, double C,
               const std::string& aggregate, const std::string& loss, bool intercept,
               WriteArray<T> weights, std::uint64_t seed, int n_threads)
      : weight_(std::move(weight)), weights_(std::move(weights)), n_threads_(n_threads) {
    const auto lanes = static_cast<std::int64_t>(weights_.ndim() == 2 ? weights_.shape(1) : 0);
    Problem<T> problem =
        make_problem<T>(rows, orders, weight_, C, aggregate, loss, intercept, lanes);
    check_table(weights_, problem.rows.d + (intercept ? 1 : 0), lanes);
    if (n_threads < 1) throw std::invalid_argument("there must be a thread");
    const nb::gil_scoped_release release;
    solver_ = std::make_unique<DualSolver<T>>(std::move(problem), weights_.data(), seed, n_threads);
    if (solver_->overflow() < 0) solver_->place_flat();
  }

  std::int64_t overflow() const { return solver_->overflow(); }

  // (primal, dual, violation, visits, epochs) of a round.
  nb::tuple round(double target, std::int64_t most, nb::object report) {
    Poll poll(std::move(report));
    Round seen;
    {
      const nb::gil_scoped_release release;
      seen = solver_->round(target, most, [&](std::int64_t visits) { return poll(visits); });
    }
    poll.rethrow();
    return nb::make_tuple(seen.primal, seen.dual, seen.violation, seen.visits, seen.epochs);
  }

  void scale(double factor) {
    const nb::gil_scoped_release release;
    solver_->scale(factor);
  }

  nb::tuple certify(bool rebuild) {
    Poll poll{nb::none()};
    Certified found;
    {
      const nb::gil_scoped_release release;
      Lists lists;
      list(lists);
      Certificate<T> certificate(
          solver_->problem(),
          Masses<T>{lists.indptr.data(), lists.keys.data(), lists.values.data()});
      found = certificate.run(weights_.data(), rebuild, n_threads_, [&] { return poll(); });
      if (rebuild) solver_->recount();
    }
    poll.rethrow();
    return to_tuple(found);
  }

  nb::tuple masses() const {
    Lists lists;
    list(lists);
    return nb::make_tuple(to_array(std::move(lists.indptr)), to_array(std::move(lists.keys)),
                          to_array(std::move(lists.values)));
  }

  // Starts from masses, times a factor; `certify` with `rebuild` must follow, which checks them.
  void place(ReadArray<std::int64_t> indptr, ReadArray<std::int32_t> keys, ReadArray<T> values,
             double factor) {
    const std::int64_t n = solver_->problem().rows.n;
    check_masses(indptr, keys, values, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t begin = indptr.data()[i], end = indptr.data()[i + 1];
      Dual<T>* to = solver_->duals.rewrite(i, static_cast<std::int32_t>(end - begin), 0);
      for (std::int64_t e = begin; e < end; ++e)
        *to++ = {keys.data()[e], static_cast<T>(factor) * values.data()[e]};
    }
    solver_->place_flat();
  }

 private:
  struct Lists {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> keys;
    std::vector<T> values;
  };

  void list(Lists& lists) const {
    const std::int64_t n = solver_->problem().rows.n;
    const auto total = static_cast<std::size_t>(solver_->duals.count());
    lists.indptr.reserve(static_cast<std::size_t>(n) + 1);
    lists.keys.reserve(total);
    lists.values.reserve(total);
    lists.indptr.push_back(0);
    std::vector<Dual<T>> sorted;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto duals = solver_->duals.of(i);
      sorted.assign(duals.begin(), duals.end());
      std::sort(sorted.begin(), sorted.end(),
                [](const Dual<T>& a, const Dual<T>& b) { return a.key < b.key; });
      for (const Dual<T>& dual : sorted) {
        lists.keys.push_back(dual.key);
        lists.values.push_back(dual.value);
      }
      lists.indptr.push_back(static_cast<std::int64_t>(lists.keys.size()));
    }
  }

  Weight weight_;
  WriteArray<T> weights_;
  int n_threads_;
  std::unique_ptr<DualSolver<T>> solver_;
};

// (primal, dual, margin) of dual variables and weights from anywhere.
template <class T>
nb::tuple certify(const RowsHandle& rows, const OrdersHandle& orders, Weight weight, double C,
                  const std::string& aggregate, const std::string& loss, bool intercept,
                  ReadArray<std::int64_t> indptr, ReadArray<std::int32_t> keys, ReadArray<T> values,
                  WriteArray<T> weights, bool rebuild, int n_threads) {
  const auto lanes = static_cast<std::int64_t>(weights.ndim() == 2 ? weights.shape(1) : 0);
  const Problem<T> problem =
      make_problem<T>(rows, orders, weight, C, aggregate, loss, intercept, lanes);
  check_table(weights, problem.rows.d + (intercept ? 1 : 0), lanes);
  check_masses(indptr, keys, values, problem.rows.n);
  Poll poll{nb::none()};
  Certified found;
  {
    const nb::gil_scoped_release release;
    Certificate<T> certificate(problem, Masses<T>{indptr.data(), keys.data(), values.data()});
    found = certificate.run(weights.data(), rebuild, n_threads < 1 ? 1 : n_threads,
                            [&] { return poll(); });
  }
  poll.rethrow();
  return to_tuple(found);
}

// What each example has in each label's row of weights, as the arrays of a CSR matrix.
template <class T>
nb::tuple dual_shares(const OrdersHandle& orders, Weight weight, double C,
                      const std::string& aggregate, const std::string& loss,
                      ReadArray<std::int64_t> indptr, ReadArray<std::int32_t> keys,
                      ReadArray<T> values) {
  Problem<T> problem;  // no rows: only what belongs to whom
  problem.orders = orders.orders;
  problem.rows.n = orders.orders.n;
  problem.weight = weight ? weight->data() : nullptr;
  problem.C = C;
  problem.aggregate = aggregate_of(aggregate);
  problem.loss = loss_of(loss);
  if (weight && static_cast<std::int64_t>(weight->size()) != problem.rows.n)
    throw std::invalid_argument("weights and y differ in length");
  check_masses(indptr, keys, values, problem.rows.n);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(problem.rows.n) + 1, 0);
  std::vector<std::int32_t> labels;
  std::vector<double> shares;
  {
    const nb::gil_scoped_release release;
    Certificate<T> certificate(problem, Masses<T>{indptr.data(), keys.data(), values.data()});
    for (const auto& share : certificate.shares()) {
      ++starts[static_cast<std::size_t>(share.example) + 1];
      labels.push_back(share.label);
      shares.push_back(share.value);
    }
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  }
  return nb::make_tuple(to_array(std::move(starts)), to_array(std::move(labels)),
                        to_array(std::move(shares)));
}

template <class T>
void bind_typed(nb::module_& m, const char* name) {
  using Handle = SolverHandle<T>;
  nb::class_<Handle>(m, name)
      .def(nb::init<RowsHandle&, OrdersHandle&, Weight, double, const std::string&,
                    const std::string&, bool, WriteArray<T>, std::uint64_t, int>(),
           nb::arg("rows"), nb::arg("orders"), nb::arg("weight").none(), nb::arg("C"),
           nb::arg("aggregate"), nb::arg("loss"), nb::arg("intercept"),
           nb::arg("weights").noconvert(), nb::arg("seed"), nb::arg("n_threads"),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("overflow", &Handle::overflow)
      .def("round", &Handle::round, nb::arg("target"), nb::arg("most"), nb::arg("report").none())
      .def("scale", &Handle::scale, nb::arg("factor"))
      .def("certify", &Handle::certify, nb::arg("rebuild"))
      .def("masses", &Handle::masses)
      .def("place", &Handle::place, nb::arg("indptr"), nb::arg("keys"), nb::arg("values"),
           nb::arg("factor"));
  m.def("certify", &certify<T>, nb::arg("rows"), nb::arg("orders"), nb::arg("weight").none(),
        nb::arg("C"), nb::arg("aggregate"), nb::arg("loss"), nb::arg("intercept"),
        nb::arg("indptr"), nb::arg("keys"), nb::arg("values").noconvert(),
        nb::arg("weights").noconvert(), nb::arg("rebuild"), nb::arg("n_threads"));
  m.def("dual_shares", &dual_shares<T>, nb::arg("orders"), nb::arg("weight").none(), nb::arg("C"),
        nb::arg("aggregate"), nb::arg("loss"), nb::arg("indptr"), nb::arg("keys"),
        nb::arg("values").noconvert());
}

}  // namespace

void bind_dual(nb::module_& m) {
  bind_typed<float>(m, "DualSolver32");
  bind_typed<double>(m, "DualSolver64");
}

}  // namespace kesler
