"""What Har-Peled, Roth and Zimak (2002) prove, as functions to compute and check it with.

Their Kesler expansion (section 3.1), the constraint margin (Definition 4.3), the generalization
bounds (Theorems 4.1 and 4.4), and the mistake bound that the perceptron brings along. Nothing here
is needed to train or to predict.
"""

from kesler.theory.bounds import margin_bound, mistake_bound, vc_bound
from kesler.theory.expansion import kesler_expansion
from kesler.theory.margins import constraint_margin

__all__ = ["constraint_margin", "kesler_expansion", "margin_bound", "mistake_bound", "vc_bound"]
