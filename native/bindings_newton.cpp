// Bindings of what the Newton method needs of the rows.
#include <cmath>

#include "bindings.hpp"
#include "newton.hpp"

namespace kesler {
namespace {

template <class T>
const SmoothOps<T>& smooth_ops() {
  if constexpr (std::is_same_v<T, float>)
    return lanes_in_use->smooth->f32;
  else
    return lanes_in_use->smooth->f64;
}

// Keeps alive what the method reads.
template <class T>
class NewtonHandle {
 public:
  NewtonHandle(RowsHandle& rows, OrdersHandle& orders, std::int64_t lanes, bool intercept,
               int n_threads) {
    const Orders& given = orders.orders;
    if (given.form != Form::set || given.forms || given.indptr)
      throw std::invalid_argument("the Newton method is for classes");
    const Rows<T>& read = rows.as<T>();
    if (read.kind != Index::dense) throw std::invalid_argument("the Newton method is for dense X");
    if (read.n != given.n) throw std::invalid_argument("X and y differ in length");
    if (read.n >= std::int64_t{1} << 32) throw std::invalid_argument("there are too many examples");
    check_lanes(lanes);
    if (lanes < given.n_labels) throw std::invalid_argument("more labels than lanes");
    if (n_threads < 1) throw std::invalid_argument("there must be a thread");
    n_ = read.n;
    newton_ = std::make_unique<Newton<T>>(ops<T>(), smooth_ops<T>(), read, given.items,
                                          given.n_labels, lanes, intercept, n_threads);
  }

  void pick(ReadArray<std::int64_t> picked, ReadArray<T> cap) {
    if (picked.size() != cap.size()) throw std::invalid_argument("a cap for every row is needed");
    for (std::size_t i = 0; i < picked.size(); ++i)
      if (picked.data()[i] < 0 || picked.data()[i] >= n_)
        throw std::invalid_argument("a row is outside X");
    newton_->pick({picked.data(), picked.data() + picked.size()},
                  {cap.data(), cap.data() + cap.size()});
  }

  void place(ReadArray<std::int64_t> indptr, ReadArray<std::int32_t> labels, ReadArray<T> values) {
    const std::int64_t n = newton_->n_picked();
    if (static_cast<std::int64_t>(indptr.size()) != n + 1 || labels.size() != values.size() ||
        indptr.data()[0] != 0 || indptr.data()[n] != static_cast<std::int64_t>(labels.size()))
      throw std::invalid_argument("the dual variables do not fit the examples");
    for (std::int64_t i = 0; i < n; ++i)
      if (indptr.data()[i + 1] < indptr.data()[i])
        throw std::invalid_argument("the dual variables do not fit the examples");
    for (std::size_t e = 0; e < labels.size(); ++e)
      if (labels.data()[e] < 0 || labels.data()[e] >= newton_->n_labels())
        throw std::invalid_argument("a dual variable belongs to no label");
    newton_->place(indptr.data(), labels.data(), values.data());
  }

  double split(ReadArray<T> W, double reach, WriteArray<double> linear) {
    check(W);
    check(linear);
    Poll poll{nb::none()};
    double worst = 0;
    bool done = true;
    {
      const nb::gil_scoped_release release;
      worst = newton_->split(W.data(), reach, linear.data(), [&] { return poll(); }, done);
    }
    poll.rethrow();
    return worst;
  }

  std::tuple<double, double, double> smooth(double width) {
    const nb::gil_scoped_release release;
    const SmoothSums sums = newton_->smooth(width);
    return {sums.value, sums.reached, sums.worst};
  }

  double gradient(WriteArray<double> V) {
    check(V);
    const nb::gil_scoped_release release;
    return newton_->gradient(V.data());
  }

  void hessian(double width, std::int64_t enough, WriteArray<double> H) {
    const auto size = static_cast<std::size_t>(newton_->n_labels() * newton_->features());
    if (H.ndim() != 2 || H.shape(0) != size || H.shape(1) != size)
      throw std::invalid_argument("the Hessian has the wrong shape");
    const nb::gil_scoped_release release;
    newton_->hessian(width, enough, H.data());
  }

  void product(double width, std::int64_t enough, ReadArray<T> p, WriteArray<double> out) {
    if (enough < 1) throw std::invalid_argument("there must be rows");
    check(p);
    check(out);
    const nb::gil_scoped_release release;
    newton_->product(width, enough, p.data(), out.data());
  }

  double carried() const { return newton_->carried(); }

  nb::tuple carrying() const {
    std::vector<std::int64_t> rows;
    std::vector<T> counts;
    newton_->carrying(rows, counts);
    return nb::make_tuple(to_array(std::move(rows)), to_array(std::move(counts)));
  }

  void aim(ReadArray<T> p) {
    check(p);
    const nb::gil_scoped_release release;
    newton_->aim(p.data());
  }

  double slope(double step, double width) {
    const nb::gil_scoped_release release;
    return newton_->slope(step, width);
  }

  void move(double step) { newton_->move(step); }
  void recentre() { newton_->recentre(); }

  nb::tuple masses() const {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> labels;
    std::vector<T> values;
    newton_->masses(indptr, labels, values);
    return nb::make_tuple(to_array(std::move(indptr)), to_array(std::move(labels)),
                          to_array(std::move(values)));
  }

 private:
  template <class Array>
  void check(const Array& table) const {
    if (table.ndim() != 2 || static_cast<std::int64_t>(table.shape(0)) != newton_->features() ||
        static_cast<std::int64_t>(table.shape(1)) != newton_->lanes())
      throw std::invalid_argument("a table has the wrong shape");
    check_aligned(table);
  }

  std::int64_t n_ = 0;
  std::unique_ptr<Newton<T>> newton_;
};

template <class T>
void bind_typed(nb::module_& m, const char* name) {
  using Handle = NewtonHandle<T>;
  nb::class_<Handle>(m, name)
      .def(nb::init<RowsHandle&, OrdersHandle&, std::int64_t, bool, int>(), nb::arg("rows"),
           nb::arg("orders"), nb::arg("lanes"), nb::arg("intercept"), nb::arg("n_threads"),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("pick", &Handle::pick, nb::arg("picked"), nb::arg("cap").noconvert())
      .def("place", &Handle::place, nb::arg("indptr"), nb::arg("labels"),
           nb::arg("values").noconvert())
      .def("split", &Handle::split, nb::arg("table").noconvert(), nb::arg("reach"),
           nb::arg("linear").noconvert())
      .def("smooth", &Handle::smooth, nb::arg("width"))
      .def("gradient", &Handle::gradient, nb::arg("out").noconvert())
      .def("hessian", &Handle::hessian, nb::arg("width"), nb::arg("enough"),
           nb::arg("out").noconvert())
      .def("product", &Handle::product, nb::arg("width"), nb::arg("enough"),
           nb::arg("table").noconvert(), nb::arg("out").noconvert())
      .def("carried", &Handle::carried)
      .def("carrying", &Handle::carrying)
      .def("aim", &Handle::aim, nb::arg("table").noconvert())
      .def("slope", &Handle::slope, nb::arg("step"), nb::arg("width"))
      .def("move", &Handle::move, nb::arg("step"))
      .def("recentre", &Handle::recentre)
      .def("masses", &Handle::masses);
}

}  // namespace

void bind_newton(nb::module_& m) {
  bind_typed<float>(m, "Newton32");
  bind_typed<double>(m, "Newton64");
}

}  // namespace kesler
